//! Declared indexes and what is sent to create them.

use std::fmt;

use bson::{Document, RawDocumentBuf, rawdoc};

use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::geo::Located;
use crate::lifecycle::{Kind, narrowed};
use crate::model::{Date, Field, Model, Path, Segment};
use crate::query::Filter;

/// An index as a model declares it.
#[derive(Clone, Debug, Default)]
pub struct IndexDeclaration {
    keys: Vec<(Path, IndexOrder)>,
    name: Option<&'static str>,
    unique: bool,
    sparse: bool,
    partial: Option<Result<RawDocumentBuf>>,
    expire_after_seconds: Option<u32>,
    bounds: Option<(f64, f64)>,
    bits: Option<u8>,
    hidden: bool,
    collation: Option<Document>,
    weights: Vec<(Path, u32)>,
    language: Option<&'static str>,
    language_field: Option<&'static str>,
    /// The fields of a wildcard index over all fields: these alone, or all but these.
    chosen: Option<(bool, Vec<Path>)>,
    more: Option<Document>,
    /// The kind whose documents it holds to something or deletes.
    kind: Option<Kind>,
    all_kinds: bool,
}

/// How one field of an index is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexOrder {
    /// From small to large: `1`.
    Ascending,
    /// From large to small: `-1`.
    Descending,
    /// By a hash: `"hashed"`.
    Hashed,
    /// By its words: `"text"`.
    Text,
    /// By where it lies on the globe: `"2dsphere"`.
    Geo2dSphere,
    /// By where it lies in the plane: `"2d"`.
    Geo2d,
    /// All fields below it, each by itself: `attributes.$**`.
    Wildcard,
}

impl IndexDeclaration {
    /// An index over no fields yet.
    pub fn new() -> IndexDeclaration {
        IndexDeclaration::default()
    }

    /// The index of the documents that have this mark.
    pub(crate) fn of_pending(mark: &'static str) -> IndexDeclaration {
        let keys = vec![(Path::root().child(mark), IndexOrder::Ascending)];
        let index = IndexDeclaration {
            keys,
            ..IndexDeclaration::default()
        };
        index.sparse()
    }

    /// Adds an ascending field.
    pub fn asc<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Ascending)
    }

    /// Adds a descending field.
    pub fn desc<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Descending)
    }

    /// Adds a hashed field.
    pub fn hashed<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Hashed)
    }

    /// Adds a text field.
    pub fn text<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Text)
    }

    /// Adds a field of geometries on the globe.
    pub fn geo_2dsphere<R, T: Located>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Geo2dSphere)
    }

    /// Adds a field of pairs of numbers in the plane: the first field of its index.
    pub fn geo_2d<R, T: Located>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Geo2d)
    }

    /// The least and the greatest coordinate of a [`geo_2d`](IndexDeclaration::geo_2d) field, -180 and 180 if not said.
    pub fn geo_2d_bounds(mut self, least: f64, greatest: f64) -> IndexDeclaration {
        self.bounds = Some((least, greatest));
        self
    }

    /// How often each side is halved in a [`geo_2d`](IndexDeclaration::geo_2d) index: 1 to 32, 26 if not said.
    pub fn geo_2d_bits(mut self, bits: u8) -> IndexDeclaration {
        self.bits = Some(bits);
        self
    }

    /// Adds all fields below this one, each as if it had an ascending index of its own: for documents whose names are
    /// data. Not together with other fields.
    pub fn wildcard<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.key(field, IndexOrder::Wildcard)
    }

    /// Adds all fields of the document; as [`wildcard`](IndexDeclaration::wildcard).
    pub fn wildcard_all(mut self) -> IndexDeclaration {
        self.keys.push((Path::root(), IndexOrder::Wildcard));
        self
    }

    /// Of [`wildcard_all`](IndexDeclaration::wildcard_all) this field, and others that are named so.
    pub fn only<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.choose(true, field.path())
    }

    /// Of [`wildcard_all`](IndexDeclaration::wildcard_all) all but this field, and others that are named so.
    pub fn without<R, T>(self, field: &Field<R, T>) -> IndexDeclaration {
        self.choose(false, field.path())
    }

    fn choose(mut self, included: bool, path: &Path) -> IndexDeclaration {
        let (_, paths) = self.chosen.get_or_insert((included, Vec::new()));
        paths.push(path.clone());
        self
    }

    /// How much the words of this [`text`](IndexDeclaration::text) field count, 1 if not said.
    pub fn weight<R, T>(mut self, field: &Field<R, T>, weight: u32) -> IndexDeclaration {
        self.weights.push((field.path().clone(), weight));
        self
    }

    /// The language of [`text`](IndexDeclaration::text) fields in documents that do not name theirs, `english` if not
    /// said.
    pub fn language(mut self, language: &'static str) -> IndexDeclaration {
        self.language = Some(language);
        self
    }

    /// The stored name of the field that names a document's language, `language` if not said.
    pub fn language_field(mut self, name: &'static str) -> IndexDeclaration {
        self.language_field = Some(name);
        self
    }

    /// Keeps the index up to date, but does not use it: to try what its removal would mean.
    pub fn hidden(mut self) -> IndexDeclaration {
        self.hidden = true;
        self
    }

    /// Compares texts by the rules of a language: `doc! { "locale": "en", "strength": 2 }`. Queries use the index when
    /// they say the same collation.
    pub fn collation(mut self, collation: Document) -> IndexDeclaration {
        self.collation = Some(collation);
        self
    }

    /// Options in MongoDB's own words: `doc! { "storageEngine": { .. } }`. They win over what else was said.
    pub fn options(mut self, options: Document) -> IndexDeclaration {
        self.more = Some(options);
        self
    }

    /// Of a model that is one kind of its collection's documents: holds those of all kinds to what it says. Without it, a
    /// unique or expiring index is over the documents of the kind alone.
    pub fn all_kinds(mut self) -> IndexDeclaration {
        self.all_kinds = true;
        self
    }

    /// The index as one kind of a collection's documents declares it: one that refuses or deletes documents is over the
    /// documents of that kind alone, unless it says otherwise. Any other is as it was, so that it serves all kinds.
    pub(crate) fn of_kind(mut self, kind: Option<Kind>) -> IndexDeclaration {
        let has = |option| self.more.as_ref().is_some_and(|more| more.contains_key(option));
        let deletes = self.expire_after_seconds.is_some() || has("expireAfterSeconds");
        if (deletes || self.unique || has("unique")) && !self.all_kinds {
            self.kind = kind;
        }
        self
    }

    fn key<R, T>(mut self, field: &Field<R, T>, order: IndexOrder) -> IndexDeclaration {
        self.keys.push((field.path().clone(), order));
        self
    }

    /// No two documents may have the same key.
    pub fn unique(mut self) -> IndexDeclaration {
        self.unique = true;
        self
    }

    /// Leaves out documents that have none of the fields.
    pub fn sparse(mut self) -> IndexDeclaration {
        self.sparse = true;
        self
    }

    /// Names the index, instead of by its fields (`title_1_year_-1`).
    pub fn named(mut self, name: &'static str) -> IndexDeclaration {
        self.name = Some(name);
        self
    }

    /// Deletes documents when this many seconds have passed since the date in `field`, the index's only field.
    pub fn expire_after<R, T: Date>(self, _field: &Field<R, T>, seconds: u32) -> IndexDeclaration {
        self.expire_after_unchecked(seconds)
    }

    /// [`expire_after`](IndexDeclaration::expire_after) for a field whose own codec stores a date.
    pub fn expire_after_unchecked(mut self, seconds: u32) -> IndexDeclaration {
        self.expire_after_seconds = Some(seconds);
        self
    }

    /// Leaves out documents that the filter does not match.
    pub fn partial<M: Model>(mut self, filter: impl FnOnce(M::Fields<M>) -> Filter<M>) -> IndexDeclaration {
        self.partial = Some(filter(M::fields()).to_document());
        self
    }

    /// The fields, by their stored names.
    pub fn keys(&self) -> &[(Path, IndexOrder)] {
        &self.keys
    }

    /// Whether it leaves out documents of its model by a filter.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial.is_some()
    }

    /// Whether no two documents may have the same key.
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// The name: the given one, or the one that MongoDB derives, `title_1_author.name_-1`; with the kind behind it, if the
    /// index is over the documents of one kind alone.
    pub fn name(&self) -> String {
        match self.name {
            Some(name) => name.to_owned(),
            None => {
                let parts: Vec<_> = self
                    .keys
                    .iter()
                    .map(|(path, order)| format!("{}_{order}", stored_key(path, *order)))
                    .collect();
                let name = parts.join("_");
                match self.kind {
                    Some(kind) => format!("{name}_{}", kind.name),
                    None => name,
                }
            }
        }
    }

    /// What `createIndexes` takes: `key`, `name` and the options that differ from their defaults.
    ///
    /// # Errors
    /// A partial filter with an operand that does not fit BSON; a key that is the document itself.
    pub fn to_spec(&self) -> Result<RawDocumentBuf> {
        let name = self.name();
        let mut key = RawDocumentBuf::new();
        for (path, order) in &self.keys {
            if let Some(message) = no_key(path) {
                return Err(Error::new(ErrorKind::Schema, message)
                    .with_index(name)
                    .with_path(path.to_string()));
            }
            let path = stored_key(path, *order);
            if path.is_empty() {
                let message = "a flattened field has no path of its own to index";
                return Err(Error::new(ErrorKind::Schema, message).with_index(name));
            }
            let cstr = cstring(path)?;
            match order {
                IndexOrder::Ascending | IndexOrder::Wildcard => key.append(cstr, 1),
                IndexOrder::Descending => key.append(cstr, -1),
                IndexOrder::Hashed => key.append(cstr, "hashed"),
                IndexOrder::Text => key.append(cstr, "text"),
                IndexOrder::Geo2dSphere => key.append(cstr, "2dsphere"),
                IndexOrder::Geo2d => key.append(cstr, "2d"),
            }
        }
        let mut spec = rawdoc! { "key": key, "name": name };
        if self.unique {
            spec.append(bson::cstr!("unique"), true);
        }
        let partial = self.partial_filter()?;
        if self.is_sparse() && partial.is_none() {
            spec.append(bson::cstr!("sparse"), true);
        }
        if let Some(partial) = partial {
            spec.append(bson::cstr!("partialFilterExpression"), partial);
        }
        if let Some(seconds) = self.expire_after_seconds {
            spec.append(bson::cstr!("expireAfterSeconds"), i64::from(seconds));
        }
        if let Some((least, greatest)) = self.bounds {
            spec.append(bson::cstr!("min"), least);
            spec.append(bson::cstr!("max"), greatest);
        }
        if let Some(bits) = self.bits {
            spec.append(bson::cstr!("bits"), i32::from(bits));
        }
        if !self.weights.is_empty() {
            let weights = self
                .weights
                .iter()
                .map(|(path, weight)| (path, i64::from(*weight)));
            spec.append(bson::cstr!("weights"), named(weights)?);
        }
        if let Some(language) = self.language {
            spec.append(bson::cstr!("default_language"), language);
        }
        if let Some(field) = self.language_field {
            spec.append(bson::cstr!("language_override"), field);
        }
        if self.hidden {
            spec.append(bson::cstr!("hidden"), true);
        }
        if let Some((included, paths)) = &self.chosen {
            let paths = paths.iter().map(|path| (path, i64::from(*included)));
            spec.append(bson::cstr!("wildcardProjection"), named(paths)?);
        }
        if let Some(collation) = &self.collation {
            spec.append(bson::cstr!("collation"), codec::encode_untyped(collation)?);
        }
        if let Some(more) = &self.more {
            let mut more = more.clone();
            if self.kind.is_some() {
                // Both are in the filter already.
                more.remove("partialFilterExpression");
                more.remove("sparse");
            }
            let more = codec::encode_untyped(&more)?;
            let kept = spec.iter().filter_map(|option| option.ok());
            let kept = kept.filter(|(name, _)| !matches!(more.get(name.as_str()), Ok(Some(_))));
            let mut all = RawDocumentBuf::new();
            for (name, value) in kept.chain(more.iter().filter_map(|option| option.ok())) {
                all.append(name, value);
            }
            return Ok(all);
        }
        Ok(spec)
    }

    fn is_sparse(&self) -> bool {
        let more = self.more.as_ref().and_then(|more| more.get_bool("sparse").ok());
        match self.kind {
            Some(_) => more.unwrap_or(self.sparse),
            None => self.sparse,
        }
    }

    /// The filter that documents must match to be in the index: the declared one, and the kind. A filter and `sparse` do
    /// not go together, so that of a kind asks for one of the fields itself.
    fn partial_filter(&self) -> Result<Option<RawDocumentBuf>> {
        let declared = self.partial.clone().transpose()?;
        let Some(kind) = self.kind else {
            return Ok(declared);
        };
        let more = self.more.as_ref();
        let more = more.and_then(|more| more.get_document("partialFilterExpression").ok());
        let mut filter = match more {
            Some(filter) => codec::encode_untyped(filter)?,
            None => declared.unwrap_or_default(),
        };
        if self.is_sparse() {
            let there = |path: &Path| -> Result<RawDocumentBuf> {
                let mut there = RawDocumentBuf::new();
                there.append(cstring(path.to_string())?, rawdoc! { "$exists": true });
                Ok(there)
            };
            let mut fields = self.keys.iter().map(|(path, _)| there(path));
            let condition = match (fields.next(), fields.len()) {
                (Some(only), 0) => only?,
                (first, _) => {
                    let fields = first.into_iter().chain(fields).collect::<Result<Vec<_>>>()?;
                    rawdoc! { "$or": fields.into_iter().collect::<bson::RawArrayBuf>() }
                }
            };
            filter = narrowed(&filter, &condition)?;
        }
        let mut tag = RawDocumentBuf::new();
        tag.append(cstring(kind.tag.to_owned())?, kind.name);
        narrowed(&tag, &filter).map(Some)
    }
}

/// A field's name as BSON takes it.
fn cstring(name: String) -> Result<bson::raw::CString> {
    bson::raw::CString::try_from(name.clone()).map_err(|error| {
        let message = "the name of an indexed field holds a NUL";
        Error::new(ErrorKind::Schema, message)
            .with_path(name)
            .with_source(error)
    })
}

/// Why no index can be over this path.
fn no_key(path: &Path) -> Option<&'static str> {
    let segments = path.segments();
    let is_stored = |segment: &&Segment| {
        matches!(
            segment,
            Segment::Name(_) | Segment::Key(_) | Segment::Index(_) | Segment::Any
        )
    };
    if !segments.iter().all(is_stored) {
        return Some(
            "an index is over stored names: not over matched elements or what is inside a field with its own codec",
        );
    }
    // An index goes into the elements of the array that its path names, and not of one that is an element.
    let in_element = |pair: &[&Segment]| matches!(pair, [Segment::Any, Segment::Any | Segment::Index(_)]);
    segments
        .windows(2)
        .any(in_element)
        .then_some("an index does not reach into arrays that are elements of arrays")
}

/// A key's name in a specification.
fn stored_key(path: &Path, order: IndexOrder) -> String {
    match (order, path.is_root()) {
        (IndexOrder::Wildcard, true) => "$**".to_owned(),
        (IndexOrder::Wildcard, false) => format!("{path}.$**"),
        _ => path.to_string(),
    }
}

/// A document of numbers by fields' stored names.
fn named<'a>(numbers: impl Iterator<Item = (&'a Path, i64)>) -> Result<RawDocumentBuf> {
    let mut document = RawDocumentBuf::new();
    for (path, number) in numbers {
        document.append(cstring(path.to_string())?, number);
    }
    Ok(document)
}

impl fmt::Display for IndexOrder {
    /// As in the name that MongoDB gives an index.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IndexOrder::Ascending | IndexOrder::Wildcard => "1",
            IndexOrder::Descending => "-1",
            IndexOrder::Hashed => "hashed",
            IndexOrder::Text => "text",
            IndexOrder::Geo2dSphere => "2dsphere",
            IndexOrder::Geo2d => "2d",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str) -> Field<(), bson::DateTime> {
        Field::new(Path::root().child(name))
    }

    #[test]
    fn names_are_those_of_mongodb() {
        let index = IndexDeclaration::new()
            .asc(&field("title"))
            .desc(&field("year"))
            .hashed(&field("isbn"));
        assert_eq!(index.name(), "title_1_year_-1_isbn_hashed");
        assert_eq!(index.named("own").name(), "own");
    }

    #[test]
    fn only_what_was_declared_is_sent() {
        let plain = IndexDeclaration::new().text(&field("summary"));
        let expected = rawdoc! { "key": { "summary": "text" }, "name": "summary_text" };
        assert_eq!(plain.to_spec().unwrap(), expected);
        let seen = field("seen");
        let full = IndexDeclaration::new()
            .asc(&seen)
            .unique()
            .sparse()
            .expire_after(&seen, 60);
        let expected = rawdoc! {
            "key": { "seen": 1 }, "name": "seen_1", "unique": true, "sparse": true, "expireAfterSeconds": 60_i64,
        };
        assert_eq!(full.to_spec().unwrap(), expected);
    }

    #[test]
    fn every_option_has_its_name() {
        let index = IndexDeclaration::new()
            .text(&field("title"))
            .weight(&field("title"), 10)
            .language("german")
            .language_field("lang")
            .hidden();
        let expected = rawdoc! {
            "key": { "title": "text" }, "name": "title_text", "weights": { "title": 10_i64 },
            "default_language": "german", "language_override": "lang", "hidden": true,
        };
        assert_eq!(index.to_spec().unwrap(), expected);
        let index = IndexDeclaration::new().wildcard_all().without(&field("secret"));
        let expected = rawdoc! {
            "key": { "$**": 1 }, "name": "$**_1", "wildcardProjection": { "secret": 0_i64 },
        };
        assert_eq!(index.to_spec().unwrap(), expected);
        let index = IndexDeclaration::new()
            .wildcard(&field("attributes"))
            .collation(bson::doc! { "locale": "en" })
            .options(bson::doc! { "name": "own" });
        let expected = rawdoc! {
            "key": { "attributes.$**": 1 }, "collation": { "locale": "en" }, "name": "own",
        };
        assert_eq!(index.to_spec().unwrap(), expected);
    }

    #[test]
    fn a_kind_refuses_and_deletes_among_its_own() {
        let kind = Some(Kind::new("kind", "cat"));
        let filter = |index: IndexDeclaration| {
            let spec = index.of_kind(kind).to_spec().unwrap();
            assert!(spec.get("sparse").unwrap().is_none());
            let filter = spec.get_document("partialFilterExpression").ok();
            filter.map(ToOwned::to_owned)
        };
        let of = |name| IndexDeclaration::new().asc(&field(name));
        let own = Some(rawdoc! { "kind": "cat" });
        assert_eq!(filter(of("seen")), None);
        assert_eq!(filter(of("seen").unique()), own);
        assert_eq!(filter(of("seen").expire_after(&field("seen"), 1)), own);
        let raw = bson::doc! { "expireAfterSeconds": 1, "partialFilterExpression": { "n": 1 } };
        assert_eq!(
            filter(of("seen").options(raw)),
            Some(rawdoc! { "kind": "cat", "n": 1 })
        );
        let sparse = rawdoc! { "kind": "cat", "seen": { "$exists": true } };
        assert_eq!(filter(of("seen").unique().sparse()), Some(sparse));
        let both = of("a").asc(&field("b")).unique().sparse();
        let there = |name: &str| bson::doc! { name: { "$exists": true } };
        let either = bson::doc! { "kind": "cat", "$or": [there("a"), there("b")] };
        assert_eq!(filter(both), Some(codec::encode_untyped(&either).unwrap()));
        assert_eq!(filter(of("seen").unique().all_kinds()), None);
        assert_eq!(of("seen").unique().of_kind(kind).name(), "seen_1_cat");
        assert_eq!(of("seen").unique().named("own").of_kind(kind).name(), "own");
        assert_eq!(of("seen").of_kind(kind).name(), "seen_1");
    }

    #[test]
    fn the_plane_has_bounds_and_a_grain() {
        let place = Field::<(), [f64; 2]>::new(Path::root().child("place"));
        let index = IndexDeclaration::new().geo_2d(&place);
        let expected = rawdoc! { "key": { "place": "2d" }, "name": "place_2d" };
        assert_eq!(index.clone().to_spec().unwrap(), expected);
        let index = index.geo_2d_bounds(0.0, 100.0).geo_2d_bits(16);
        let expected = rawdoc! {
            "key": { "place": "2d" }, "name": "place_2d", "min": 0.0, "max": 100.0, "bits": 16,
        };
        assert_eq!(index.to_spec().unwrap(), expected);
    }
}
