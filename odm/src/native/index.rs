//! Index definitions, the keys a document has in an index, and what a refused key is reported as.

use std::borrow::Cow;
use std::sync::Arc;

use self::arrays::Arrays;
use self::extract::Extraction;
use self::wildcard::Wildcard;
use super::collation::Collation;
use super::document::owned::fields_of;
use super::document::{Doc, Fields, Owned, Value};
use super::fault::{CollatedKey, DuplicateKey, Fault, Result};
use super::geo::Grid;
use super::key::types::Types;
use super::matcher::Matcher;
use super::text::TextSpec;

pub(crate) use self::parse::{Form, Proposal};
pub(crate) use self::text::kept_term;

/// The options of all kinds of indexes.
#[cfg(test)]
pub(crate) fn option_names() -> impl Iterator<Item = &'static str> {
    parse::OPTIONS.iter().copied().chain(options::GeoOptions::NAMES)
}

pub(crate) mod arrays;
pub(crate) mod extract;
pub(crate) mod geo;
mod hashed;
mod options;
mod parse;
mod spec;
mod text;
pub(crate) mod wildcard;

/// Where a specification comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A command.
    Given,
    /// A command, for a time series: its `_id` is a field like others.
    GivenToSeries,
    /// A catalog. Another version may have taken more than this one does: what keys can be made by is read.
    Stored,
}

impl Origin {
    /// Whether a command says it, and hears what is wrong with it.
    fn is_given(self) -> bool {
        match self {
            Origin::Given | Origin::GivenToSeries => true,
            Origin::Stored => false,
        }
    }
}

/// The name of the index that every collection has on `_id`.
pub(crate) const ID_INDEX: &str = "_id_";

/// A validated index definition.
#[derive(Clone, Debug)]
pub(crate) struct IndexDefinition {
    pub(crate) name: String,
    pub(crate) keys: Vec<IndexField>,
    pub(crate) unique: bool,
    /// Keys that are taken are refused, as a unique index does; what was there before may have them twice.
    pub(crate) prepare_unique: bool,
    pub(crate) sparse: bool,
    /// The documents that are indexed, if not all.
    pub(crate) partial: Option<Matcher>,
    /// The order in which the documents of a clustered collection are kept.
    pub(crate) clustered: bool,
    pub(crate) expire_after_seconds: Option<i64>,
    /// Maintained, but not used for queries.
    pub(crate) hidden: bool,
    /// What a text index is about.
    pub(crate) text: Option<Arc<TextSpec>>,
    /// What a wildcard index is about: its keys are paths and values.
    pub(crate) wildcard: Option<Arc<Wildcard>>,
    /// How strings compare.
    pub(crate) collation: Collation,
    paths: Vec<extract::Path>,
    /// The names of the document's own fields that its keys depend on; none when they may depend on any.
    roots: Option<Vec<String>>,
    spec: Vec<u8>,
}

/// One field of an index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IndexField {
    pub(crate) path: String,
    pub(crate) order: Order,
}

/// How an index keeps a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Order {
    Ascending,
    Descending,
    /// By a hash of the value: equality only.
    Hashed,
    /// By the cells of the sphere that a geometry lies in.
    Sphere,
    /// By the squares of the plane that a place lies in.
    Flat(Grid),
    /// A term of the document's texts, or its score.
    Text,
}

/// The keys of one document in one index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IndexKeys {
    /// Sorted, distinct. Empty: the document is not in the index.
    pub(crate) keys: Vec<Vec<u8>>,
    /// What the only key does not say of its values.
    pub(crate) types: Types,
    /// Per field, where arrays were met on its path. Empty means no field.
    pub(crate) multikey: Vec<Arrays>,
}

impl IndexDefinition {
    /// Validates one element of `createIndexes`' `indexes`.
    ///
    /// # Errors
    /// MongoDB's: 67 for a key or option that cannot be, 197 for an unknown option, 2 for misuse of `_id`'s
    /// index, 9 and 14 for a malformed specification, and those of
    /// [`Collation::parse`].
    pub(crate) fn parse(spec: Doc<'_>) -> Result<IndexDefinition> {
        Self::parse_for(spec, &Collation::default())
    }

    /// Reads what a specification says by itself, which is asked of all that are given before one of them is defined.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse) that are about one option, or about options that cannot stand together.
    pub(crate) fn form(spec: Doc<'_>) -> Result<Form<'_>> {
        Form::read(spec, Origin::Given)
    }

    /// The same as [`parse`](Self::parse) where strings compare in this way, if the element does not say how.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse).
    pub(crate) fn parse_for(spec: Doc<'_>, own: &Collation) -> Result<IndexDefinition> {
        Form::read(spec, Origin::Given)?.define(own)?.built()
    }

    /// Validates the same for a time series, which may have an index on `_id` beside the order of its buckets.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse) that are not its builder's.
    pub(crate) fn for_series(spec: Doc<'_>) -> Result<Proposal> {
        Form::read(spec, Origin::GivenToSeries)?.define(&Collation::default())
    }

    /// The same without an option in what is listed and stored.
    pub(crate) fn without_option(mut self, name: &str) -> IndexDefinition {
        let mut fields = fields_of(Doc::Raw(&self.spec));
        fields.retain(|(own, _)| own != name);
        self.spec = Doc::Fields(&fields).to_bytes();
        self
    }

    /// The same without these options where they are false, in what is listed and stored.
    pub(crate) fn without_false(mut self, names: &[&str]) -> IndexDefinition {
        let mut fields = fields_of(Doc::Raw(&self.spec));
        fields.retain(|(own, value)| !(names.contains(&own.as_str()) && matches!(value, Owned::Bool(false))));
        self.spec = Doc::Fields(&fields).to_bytes();
        self
    }

    /// Reads a specification that a catalog has, perhaps from a version that refused less.
    ///
    /// # Errors
    /// Those of [`parse`](Self::parse), where no keys can be made by the specification.
    pub(crate) fn stored(spec: Doc<'_>) -> Result<IndexDefinition> {
        Form::read(spec, Origin::Stored)?
            .define(&Collation::default())?
            .built()
    }

    /// A specification without the options that no index has.
    pub(crate) fn known_options(spec: Doc<'_>) -> Vec<u8> {
        let known: Fields = spec
            .elements()
            .filter(|element| parse::is_option(element.name_str()))
            .map(|element| (element.name_str().to_owned(), Owned::from(element.value())))
            .collect();
        Doc::Fields(&known).to_bytes()
    }

    /// The index on `_id` of a collection whose strings compare so.
    pub(crate) fn id(collation: &Collation) -> IndexDefinition {
        IndexDefinition::id_of_version(collation, 2)
    }

    /// The same as one of the two versions of indexes.
    pub(crate) fn id_of_version(collation: &Collation, version: i32) -> IndexDefinition {
        let keys = vec![IndexField {
            path: "_id".to_owned(),
            order: Order::Ascending,
        }];
        let pattern = Owned::Document(vec![("_id".to_owned(), Owned::Int32(1))]);
        let mut spec = vec![
            ("v".to_owned(), Owned::Int32(version)),
            ("key".to_owned(), pattern),
            ("name".to_owned(), Owned::String(ID_INDEX.to_owned())),
        ];
        if let Some(own) = collation.spec() {
            spec.push(("collation".to_owned(), Owned::RawDocument(own.to_bytes())));
        }
        IndexDefinition {
            name: ID_INDEX.to_owned(),
            paths: paths_of(&keys),
            roots: Some(vec!["_id".to_owned()]),
            keys,
            unique: true,
            prepare_unique: false,
            sparse: false,
            partial: None,
            clustered: false,
            expire_after_seconds: None,
            hidden: false,
            text: None,
            wildcard: None,
            collation: collation.clone(),
            spec: Doc::Fields(&spec).to_bytes(),
        }
    }

    /// What a clustered collection has in place of the index on `_id`.
    pub(crate) fn clustered(key: Doc<'_>, name: &str, collation: &Collation) -> IndexDefinition {
        IndexDefinition {
            name: name.to_owned(),
            clustered: true,
            spec: spec::Canonical::clustered(key, name, collation.spec()).to_bytes(),
            ..IndexDefinition::id(collation)
        }
    }

    /// Whether a key that another document has is refused.
    pub(crate) fn guards(&self) -> bool {
        self.unique || self.prepare_unique
    }

    /// Whether every document with the only field has a key, and no other has one.
    pub(crate) fn has_present_alone(&self) -> bool {
        let is_value = |field: &IndexField| !field.order.is_geo() && field.order != Order::Text;
        self.sparse && self.wildcard.is_none() && matches!(&self.keys[..], [field] if is_value(field))
    }

    /// Whether a document may have other keys once these of its own fields have changed.
    pub(crate) fn depends_on(&self, changed: &[&[u8]]) -> bool {
        let depends = |root: &String| changed.contains(&root.as_bytes());
        self.roots.as_ref().is_none_or(|roots| roots.iter().any(depends))
    }

    /// Whether this is the index on `_id`.
    pub(crate) fn is_id(&self) -> bool {
        self.name == ID_INDEX || self.clustered
    }

    /// The document that `listIndexes` gives: `v`, `key`, `name`, then the options.
    pub(crate) fn spec(&self) -> &[u8] {
        &self.spec
    }

    /// The specification in the order in which messages have it: what is yes or no comes behind the version.
    pub(crate) fn shown(&self) -> String {
        let is_early = |name: &str| matches!(name, "unique" | "hidden" | "prepareUnique");
        let spec = || Doc::Raw(&self.spec).elements();
        let version = spec().filter(|element| element.name_str() == "v");
        let early = spec().filter(|element| is_early(element.name_str()));
        let rest = spec().filter(|element| element.name_str() != "v" && !is_early(element.name_str()));
        let fields: Vec<(String, Owned)> = version
            .chain(early)
            .chain(rest)
            .map(|element| (element.name_str().to_owned(), element.value().into()))
            .collect();
        Doc::Fields(&fields).to_string()
    }

    /// The version of the index, of which nothing depends here.
    pub(crate) fn version(&self) -> i32 {
        match Doc::Raw(&self.spec).get("v") {
            Some(Value::Int32(version)) => version,
            _ => 2,
        }
    }

    /// The key pattern as given, for example `{ a: 1, b: -1 }`.
    pub(crate) fn key_pattern(&self) -> Doc<'_> {
        match Doc::Raw(&self.spec).get("key") {
            Some(Value::Document(pattern)) => pattern,
            _ => Doc::empty(),
        }
    }

    /// The keys that the document has in this index.
    ///
    /// # Errors
    /// 171 when two fields meet different arrays, 16766 for an array in a hashed index, 16755, 13026, 13027, 13068 and 16804 for
    /// what is no geometry under a geo field, 16746 for a number
    /// in a path that is both a position and a name.
    pub(crate) fn keys(&self, doc: Doc<'_>) -> Result<IndexKeys> {
        if let Some(partial) = &self.partial
            && !partial.matches(doc)?
        {
            return Ok(IndexKeys::default());
        }
        let bytes = raw(doc);
        let is_plain = self.text.is_none() && self.wildcard.is_none() && !self.is_geo();
        if is_plain && let Some((key, types)) = self.plain_key(&bytes) {
            return Ok(IndexKeys {
                keys: vec![key],
                types,
                multikey: Vec::new(),
            });
        }
        let mut found = IndexKeys {
            multikey: vec![Arrays::NONE; self.keys.len()],
            ..IndexKeys::default()
        };
        if self.is_geo() {
            if let Some(values) = geo::values(&self.keys, Doc::Raw(&bytes))? {
                values.each(&mut |values| found.keys.push(self.encode_owned(values)));
                let several = values.several.iter().map(|several| Arrays::if_any(*several));
                found.multikey = several.collect();
                found.keys.sort_unstable();
                found.keys.dedup();
            }
            return Ok(found);
        }
        if let Some(text) = &self.text {
            self.text_keys(text, Doc::Raw(&bytes), &mut found, &mut |_, _, _| {})?;
            return Ok(found);
        }
        if let Some(wildcard) = &self.wildcard {
            return wildcard.keys(Doc::Raw(&bytes), &self.collation);
        }
        if let Some(position) = self.hashed_array(Doc::Raw(&bytes)) {
            return Err(Fault::new(
                16766,
                format!(
                    "Error: hashed indexes do not currently support array values. Found array at path: {}",
                    self.paths[position].text_to_array(&bytes)
                ),
            ));
        }
        let mut extraction = Extraction::new(&self.paths);
        let keys = &mut found.keys;
        extraction.run(Doc::Raw(&bytes), &mut |values| {
            if !(self.sparse && values.iter().all(Option::is_none)) {
                keys.push(self.encode(values));
            }
        })?;
        found.multikey.copy_from_slice(extraction.multikey());
        keys.sort_unstable();
        keys.dedup();
        Ok(found)
    }

    /// Per field, whether its path meets an array in the document.
    pub(crate) fn meet_arrays<'a>(&'a self, doc: Doc<'a>) -> impl Iterator<Item = bool> + 'a {
        self.paths.iter().map(move |path| path.plain(doc).is_none())
    }

    /// Refuses what a time series has at this path that is no point.
    ///
    /// # Errors
    /// 183934 for no geometry, 183493 for another one, 167551 for one that is not on the sphere.
    pub(crate) fn check_points(&self, path: &str, doc: Doc<'_>) -> Result<()> {
        geo::check_points(path, doc)
    }

    /// What a unique index says about the document's key `key`, which another document of `collection`
    /// (`db.name`) has already.
    pub(crate) fn duplicate(&self, collection: &str, doc: Doc<'_>, key: &[u8]) -> Fault {
        let value = self.key_value(doc, key);
        let index = match self.clustered {
            true => String::new(),
            false => format!(" index: {}", self.name),
        };
        let pattern = self.key_pattern().to_bytes();
        let key = DuplicateKey {
            index: self.name.clone(),
            pattern,
            value,
            collated: None,
        };
        let Some(collation) = self.collation.spec().filter(|_| !self.clustered) else {
            let message = format!(
                "E11000 duplicate key error collection: {collection}{index} dup key: {}",
                Doc::Raw(&key.value)
            );
            return Fault::duplicate(key, message);
        };
        // Equal strings need not look alike, so that their keys are shown.
        let shown: Vec<String> = Doc::Raw(&key.value)
            .elements()
            .map(|element| match element.value() {
                text @ (Value::String(_) | Value::Symbol(_)) => match self.collation.revealed(&text) {
                    Owned::String(key) => format!("{}: \"0x{key}\"", element.name_str()),
                    _ => String::new(),
                },
                other => format!(
                    "{}: {}",
                    element.name_str(),
                    self.collation.revealed(&other).as_value()
                ),
            })
            .collect();
        let message = format!(
            "E11000 duplicate key error collection: {collection} index: {} collation: {collation} dup key: {{ {} }}",
            self.name,
            shown.join(", ")
        );
        let hex = Doc::Raw(&key.value)
            .elements()
            .map(|element| matches!(element.value(), Value::String(_) | Value::Symbol(_)))
            .collect();
        let collated = Some(CollatedKey {
            collation: collation.to_bytes(),
            hex,
        });
        let value = self.collation.revealed(&Value::Document(Doc::Raw(&key.value)));
        let value = match value.as_value() {
            Value::Document(doc) => doc.to_bytes(),
            _ => key.value,
        };
        Fault::duplicate(
            DuplicateKey {
                value,
                collated,
                ..key
            },
            message,
        )
    }

    /// The document `{ path: value, .. }` of one of the document's keys, with the values' own types.
    pub(crate) fn key_value(&self, doc: Doc<'_>, key: &[u8]) -> Vec<u8> {
        let bytes = raw(doc);
        if let Some(text) = &self.text {
            return self.text_key_value(text, Doc::Raw(&bytes), key);
        }
        let mut found = None;
        if self.is_geo() {
            if let Ok(Some(values)) = geo::values(&self.keys, Doc::Raw(&bytes)) {
                values.each(&mut |values| {
                    if found.is_none() && self.encode_owned(values) == key {
                        let fields = self.keys.iter().zip(values);
                        let fields: Vec<(String, Owned)> = fields
                            .map(|(field, value)| (field.path.clone(), (*value).clone()))
                            .collect();
                        found = Some(Doc::Fields(&fields).to_bytes());
                    }
                });
            }
            return found.unwrap_or_else(|| Doc::empty().to_bytes());
        }
        // A document that was indexed has keys; without any the value is empty.
        let _ = Extraction::new(&self.paths).run(Doc::Raw(&bytes), &mut |values| {
            if found.is_none() && self.encode(values) == key {
                let fields: Vec<(String, Owned)> = self
                    .keys
                    .iter()
                    .zip(values)
                    .map(|(field, value)| (field.path.clone(), value.unwrap_or(Value::Null).into()))
                    .collect();
                found = Some(Doc::Fields(&fields).to_bytes());
            }
        });
        found.unwrap_or_else(|| Doc::empty().to_bytes())
    }

    /// The one key of a document without arrays on the paths; none where more must be looked at. The index is
    /// neither one of geometries nor one of texts.
    fn plain_key(&self, bytes: &[u8]) -> Option<(Vec<u8>, Types)> {
        let mut key = Vec::with_capacity(12 * self.keys.len() + 1);
        let mut types = Types::UNKNOWN;
        let (mut is_there, mut is_told) = (false, self.keeps_values());
        for (field, path) in self.keys.iter().zip(&self.paths) {
            let value = path.plain(Doc::Raw(bytes))?;
            is_there |= value.is_some();
            is_told = is_told && types.push(value.as_ref());
            field
                .order
                .encode(&value.unwrap_or(Value::Null), &self.collation, &mut key);
        }
        key.push(super::key::END);
        let types = if is_told { types } else { Types::UNKNOWN };
        (is_there || !self.sparse).then_some((key, types))
    }

    /// Whether its keys are made of the values themselves, so that these can be read back.
    pub(crate) fn keeps_values(&self) -> bool {
        let keeps = |field: &IndexField| matches!(field.order, Order::Ascending | Order::Descending);
        self.collation.is_simple()
            && self.wildcard.is_none()
            && self.text.is_none()
            && self.keys.iter().all(keeps)
    }

    fn encode(&self, values: &[Option<Value<'_>>]) -> Vec<u8> {
        let mut key = Vec::with_capacity(12 * values.len() + 1);
        for (field, value) in self.keys.iter().zip(values) {
            field
                .order
                .encode(&value.unwrap_or(Value::Null), &self.collation, &mut key);
        }
        key.push(super::key::END);
        key
    }

    fn encode_owned(&self, values: &[&Owned]) -> Vec<u8> {
        let values: Vec<Option<Value<'_>>> = values.iter().map(|value| Some(value.as_value())).collect();
        self.encode(&values)
    }

    /// Whether a field is kept by where its geometries lie.
    pub(crate) fn is_geo(&self) -> bool {
        self.keys.iter().any(|field| field.order.is_geo())
    }

    /// Where a hashed index meets an array: none of its fields may.
    fn hashed_array(&self, doc: Doc<'_>) -> Option<usize> {
        let hashed = self.keys.iter().any(|field| field.order == Order::Hashed);
        hashed
            .then(|| self.paths.iter().position(|path| path.plain(doc).is_none()))
            .flatten()
    }
}

impl IndexField {
    /// Whether greater values come first.
    pub(crate) fn is_descending(&self) -> bool {
        self.order == Order::Descending
    }
}

impl Order {
    /// Whether the field is kept by where its geometries lie.
    pub(crate) fn is_geo(self) -> bool {
        matches!(self, Order::Sphere | Order::Flat(_))
    }

    /// Appends the field's component of the key.
    pub(crate) fn encode(self, value: &Value<'_>, collation: &Collation, out: &mut Vec<u8>) {
        match self {
            Order::Ascending => collation.encode(value, false, out),
            Order::Descending => collation.encode(value, true, out),
            Order::Sphere | Order::Flat(_) => super::key::encode(value, false, out),
            Order::Hashed => hashed::encode(value, collation, out),
            Order::Text => super::key::encode(value, false, out),
        }
    }
}

fn paths_of(keys: &[IndexField]) -> Vec<extract::Path> {
    keys.iter()
        .filter(|field| field.order != Order::Text && !wildcard::is_wildcard(&field.path))
        .map(|field| extract::Path::parse(&field.path))
        .collect()
}

/// What [`IndexDefinition::depends_on`] goes by.
fn roots_of(paths: &[extract::Path], texts: Vec<String>, partial: Option<&Matcher>) -> Option<Vec<String>> {
    let mut roots = texts;
    roots.extend(paths.iter().map(|path| path.first().to_owned()));
    if let Some(partial) = partial {
        partial.root().add_roots(&mut roots).then_some(())?;
    }
    roots.sort_unstable();
    roots.dedup();
    Some(roots)
}

fn raw(doc: Doc<'_>) -> Cow<'_, [u8]> {
    match doc {
        Doc::Raw(bytes) => Cow::Borrowed(bytes),
        _ => Cow::Owned(doc.to_bytes()),
    }
}

#[cfg(test)]
mod tests;
