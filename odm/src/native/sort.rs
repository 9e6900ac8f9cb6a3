//! Sorting documents by a sort specification: each document gets a byte string whose order is the order.

use std::borrow::Cow;
use std::sync::Arc;

use super::aggregate;
use super::aggregate::expression::Scope;
use super::aggregate::transform::Projection;
use super::collation::Collation;
use super::document::{Doc, Fields, Owned, Value, number};
use super::fault::{Fault, Result, code};
use super::index::extract::{Extraction, Path, ambiguous};
use super::key;
use super::matcher::ast::is_index;
use super::metadata::{Kind, Metadata, Wanted};
use super::needs::Needs;

/// How many fields a specification may have.
const MAX_FIELDS: usize = 32;

/// A parsed sort specification.
#[derive(Clone, Debug)]
pub(crate) struct SortSpec {
    /// Empty for no order and for `$natural`.
    pub(crate) fields: Vec<SortField>,
    /// `{$natural: ±1}`: insertion order; true when reversed.
    pub(crate) natural: Option<bool>,
    paths: Vec<Path>,
    /// Whether `_id` is the only field: it is taken whole like the key of its index, even where it is an array.
    by_id: bool,
    spec: Vec<u8>,
    collation: Collation,
    /// What is left of documents before they are ordered, if that is not all.
    left: Option<Arc<Projection>>,
}

/// One field of a sort specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortField {
    pub(crate) path: String,
    pub(crate) descending: bool,
    /// `{$meta: ..}`: by what is known of how the document was found, the largest first, or in no order.
    pub(crate) by: Option<Kind>,
}

impl SortSpec {
    /// Refuses other fields beside `$natural`.
    ///
    /// # Errors
    /// Code 2.
    pub(crate) fn check_natural(spec: Doc<'_>) -> Result<()> {
        match spec.count() > 1 && spec.get("$natural").is_some() {
            true => Err(Fault::new(
                code::BAD_VALUE,
                format!("Cannot include '$natural' in compound sort: {spec}"),
            )),
            false => Ok(()),
        }
    }

    /// Parses `{a: 1, "b.c": -1}`.
    ///
    /// # Errors
    /// MongoDB's: 15974 and 15975 for a direction that is not ±1, 17312 and 31138 for other expressions, 16410,
    /// 15998, 40352 and 40353 for paths, 13103 for more than 32 fields.
    pub(crate) fn parse(spec: Doc<'_>) -> Result<SortSpec> {
        let mut parsed = SortSpec {
            fields: Vec::new(),
            natural: None,
            paths: Vec::new(),
            by_id: false,
            spec: spec.to_bytes(),
            collation: Collation::default(),
            left: None,
        };
        for element in spec.elements() {
            let (path, value) = (element.name_str(), element.value());
            if path == "$natural" {
                SortSpec::check_natural(spec)?;
                parsed.natural = Some(number::as_f64(&value).is_some_and(|direction| direction < 0.0));
                return Ok(parsed);
            }
            let by = parse_meta(&value)?;
            let descending = by.is_some() || parse_direction(path, &value)?;
            if by.is_none() {
                check_path(path)?;
                parsed.paths.push(Path::parse(path));
            }
            parsed.fields.push(SortField {
                path: path.to_owned(),
                descending,
                by,
            });
        }
        if parsed.fields.len() > MAX_FIELDS {
            return Err(Fault::new(13103, "too many compound keys"));
        }
        let mut by_value = parsed.fields.iter().filter(|field| field.by.is_none());
        parsed.by_id = by_value.next().is_some_and(|field| field.path == "_id") && by_value.next().is_none();
        Ok(parsed)
    }

    /// The same order with strings compared by the collation.
    pub(crate) fn collated(self, collation: &Collation) -> SortSpec {
        SortSpec {
            collation: collation.clone(),
            ..self
        }
    }

    /// Whether all that it goes by is at these paths, or in them.
    pub(crate) fn is_within(&self, needs: &Needs) -> bool {
        let mut fields = self.fields.iter();
        fields.all(|field| field.by.is_none() && needs.reaching(&field.path).is_some())
    }

    /// The same order of documents of which no more is left than this. That shows where a path leads through an array: only
    /// its documents are left then, and keys of what else is in it are not.
    pub(crate) fn of_left(self, needs: &Needs) -> SortSpec {
        let mut own = Needs::default();
        let by_value = self.fields.iter().filter(|field| field.by.is_none());
        for path in by_value.filter_map(|field| needs.reaching(&field.path)) {
            own.add(path);
            // Which item has a position depends on what else is left of the array.
            if path.split('.').any(is_index) {
                let beside = needs.paths().filter(|other| first_of(other) == first_of(path));
                beside.take(MAX_BESIDE).for_each(|other| own.add(other));
            }
        }
        if own.paths().all(|path| !path.contains('.')) {
            return self;
        }
        let kept: Fields = own
            .outermost()
            .map(|path| (path.to_owned(), Owned::Bool(true)))
            .collect();
        match Projection::parse(Doc::Fields(&kept), &[]) {
            Ok(left) => SortSpec {
                left: Some(Arc::new(left)),
                ..self
            },
            // No projection has such a path.
            Err(_) => self,
        }
    }

    /// How strings compare.
    pub(crate) fn collation(&self) -> &Collation {
        &self.collation
    }

    /// Whether no order is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.natural.is_none()
    }

    /// The specification as given.
    pub(crate) fn spec(&self) -> Doc<'_> {
        Doc::Raw(&self.spec)
    }

    /// Adds the paths of its fields; `false` where it goes by how documents were found, too.
    pub(crate) fn add_needs(&self, needs: &mut Needs) -> bool {
        self.fields.iter().for_each(|field| needs.add(&field.path));
        self.fields.iter().all(|field| field.by.is_none())
    }

    /// The document's sort key.
    ///
    /// # Errors
    /// 2 when two fields meet different arrays.
    pub(crate) fn key(&self, doc: Doc<'_>) -> Result<Vec<u8>> {
        self.key_with(doc, None)
    }

    /// The sort key of a document of which it is known how it was found.
    ///
    /// # Errors
    /// Those of [`SortSpec::key`].
    pub(crate) fn key_with(&self, doc: Doc<'_>, metadata: Option<&Metadata>) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(12 * self.fields.len() + 1);
        self.write_key(doc, metadata, &mut out)?;
        Ok(out)
    }

    /// The values that the document is sorted by, as `$meta` shows them: those of its sort key.
    ///
    /// # Errors
    /// Those of [`SortSpec::key`].
    pub(crate) fn parts(&self, doc: Doc<'_>, metadata: Option<&Metadata>) -> Result<Owned> {
        if self.by_id {
            let mut parts = Vec::with_capacity(self.fields.len());
            for field in &self.fields {
                parts.push(match field.by {
                    Some(kind) => known(kind, metadata),
                    None => doc.get("_id").map_or(Owned::Null, Owned::from),
                });
            }
            return Ok(Owned::Array(parts));
        }
        let bytes = doc.to_bytes();
        let mut best: Option<(Vec<u8>, Vec<Owned>)> = None;
        let mut extraction = Extraction::new(&self.paths);
        let walk = extraction.run(Doc::Raw(&bytes), &mut |values| {
            let mut values = values.iter();
            let mut key = Vec::new();
            let mut parts = Vec::with_capacity(self.fields.len());
            for field in &self.fields {
                let part = match field.by {
                    Some(kind) => known(kind, metadata),
                    None => Owned::from(values.next().copied().flatten().unwrap_or(Value::Null)),
                };
                self.collation
                    .encode(&part.as_value(), field.descending, &mut key);
                parts.push(part);
            }
            if best.as_ref().is_none_or(|(first, _)| key < *first) {
                best = Some((key, parts));
            }
        });
        refuse_parallel(walk)?;
        Ok(Owned::Array(best.map_or_else(Vec::new, |(_, parts)| parts)))
    }

    /// The document's key where arrays are compared as values, as `$top` and its like do: what the paths have in
    /// expressions, but an empty array as undefined.
    ///
    /// # Errors
    /// Code 2 for two arrays, 16746 for a document with a field that is the position of one of the values: as the server,
    /// which takes them for the elements of an array.
    pub(crate) fn key_of_values(&self, doc: Doc<'_>) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(12 * self.fields.len() + 1);
        let mut arrays = 0;
        let mut answers = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let path: Vec<String> = field.path.split('.').map(str::to_owned).collect();
            answers.push(aggregate::path::walk(Value::Document(doc), &path));
        }
        let values = answers.iter().map(|answer| answer.value().unwrap_or(Value::Null));
        for (field, mut value) in self.fields.iter().zip(values.clone()) {
            if let Value::Array(items) = value {
                arrays += 1;
                if items.is_empty() {
                    value = Value::Undefined;
                }
            }
            self.collation.encode(&value, field.descending, &mut out);
        }
        if arrays > 1 {
            return Err(parallel());
        }
        let documents = values.clone().filter_map(|value| value.as_document());
        if documents.clone().next().is_some()
            && let Some(name) = (0..self.fields.len())
                .map(|position| position.to_string())
                .find(|name| documents.clone().any(|document| document.get(name).is_some()))
        {
            return Err(ambiguous(&name, values));
        }
        out.push(key::END);
        Ok(out)
    }

    /// The metadata that the order goes by.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut wanted = Wanted::default();
        for kind in self.fields.iter().filter_map(|field| field.by) {
            wanted.add(kind);
        }
        wanted
    }

    /// Appends the document's sort key: of all the keys that its arrays give, the first in the order.
    ///
    /// # Errors
    /// Those of [`SortSpec::key`].
    pub(crate) fn write_key(
        &self,
        doc: Doc<'_>,
        metadata: Option<&Metadata>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let bytes = match doc {
            Doc::Raw(bytes) => Cow::Borrowed(bytes),
            _ => Cow::Owned(doc.to_bytes()),
        };
        if self.write_plain_key(Doc::Raw(&bytes), metadata, out) {
            return Ok(());
        }
        let bytes = match &self.left {
            Some(left) => Cow::Owned(left.write(&Scope::new(Doc::Raw(&bytes), 0))?),
            None => bytes,
        };
        let known: Vec<Option<Owned>> = self
            .fields
            .iter()
            .map(|field| field.by.map(|kind| known(kind, metadata)))
            .collect();
        let start = out.len();
        let mut extraction = Extraction::new(&self.paths);
        let walk = extraction.run(Doc::Raw(&bytes), &mut |values| {
            let end = out.len();
            let mut values = values.iter();
            for (field, known) in self.fields.iter().zip(&known) {
                let value = match known {
                    Some(known) => known.as_value(),
                    None => values.next().copied().flatten().unwrap_or(Value::Null),
                };
                self.collation.encode(&value, field.descending, out);
            }
            out.push(key::END);
            if end > start {
                if out[end..] < out[start..end] {
                    out.drain(start..end);
                } else {
                    out.truncate(end);
                }
            }
        });
        refuse_parallel(walk)
    }

    /// Appends the only key of a document without arrays on the paths, or by its `_id`; `false` and nothing when
    /// there are some.
    fn write_plain_key(&self, doc: Doc<'_>, metadata: Option<&Metadata>, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let mut paths = self.paths.iter();
        for field in &self.fields {
            if let Some(kind) = field.by {
                let value = known(kind, metadata);
                self.collation.encode(&value.as_value(), field.descending, out);
                continue;
            }
            let value = if self.by_id {
                doc.get("_id")
            } else {
                match paths.next().map(|path| path.plain(doc)) {
                    Some(Some(value)) => value,
                    _ => {
                        out.truncate(start);
                        return false;
                    }
                }
            };
            self.collation
                .encode(&value.unwrap_or(Value::Null), field.descending, out);
        }
        out.push(key::END);
        true
    }
}

/// So many paths beside one of an order are looked at.
const MAX_BESIDE: usize = 100;

/// The field of the document that a path begins with.
fn first_of(path: &str) -> &str {
    path.split_once('.').map_or(path, |(first, _)| first)
}

/// What an array's item is sorted by: what the path reaches from a document, through names and positions; null when it is
/// missing.
pub(crate) fn reached<'a>(item: &Value<'a>, path: &str) -> Value<'a> {
    item.as_document()
        .and_then(|doc| inside(doc, path))
        .unwrap_or(Value::Null)
}

/// What the path reaches in a document. A field whose name is all of it goes before those inside of others.
fn inside<'a>(doc: Doc<'a>, path: &str) -> Option<Value<'a>> {
    if let Some(value) = doc.get(path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    match doc.get(first)? {
        Value::Document(inner) | Value::Array(inner) => inside(inner, rest),
        _ => None,
    }
}

/// What the order goes by of what is known; a random value is made.
fn known(kind: Kind, metadata: Option<&Metadata>) -> Owned {
    match kind {
        Kind::RandVal => Owned::Double(aggregate::expression::random()),
        kind => metadata
            .and_then(|metadata| metadata.get(kind))
            .unwrap_or(Owned::Null),
    }
}

fn refuse_parallel(walk: Result<()>) -> Result<()> {
    match walk {
        Err(fault) if fault.code() == 171 => Err(parallel()),
        other => other,
    }
}

fn parallel() -> Fault {
    Fault::new(code::BAD_VALUE, "cannot sort with keys that are parallel arrays")
}

/// The metadata of `{$meta: name}`.
pub(crate) fn parse_meta(value: &Value<'_>) -> Result<Option<Kind>> {
    let Value::Document(expression) = value else {
        return Ok(None);
    };
    let first = expression.elements().next();
    let Some(meta) = first.filter(|first| first.name() == b"$meta") else {
        return Err(Fault::new(
            17312,
            "$meta is the only expression supported by $sort right now",
        ));
    };
    let meta = meta.value();
    if expression.count() > 1 {
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Cannot have additional keys in a $meta sort specification",
        ));
    }
    match meta {
        Value::String(name @ "searchScore") => Err(unsupported_meta(31218, name)),
        Value::String(name @ "searchHighlights") => Err(unsupported_meta(31219, name)),
        _ => match meta.as_str().and_then(Kind::parse) {
            Some(kind @ (Kind::TextScore | Kind::RandVal | Kind::GeoNearDistance)) => Ok(Some(kind)),
            _ => Err(Fault::new(31138, format!("Illegal $meta sort: $meta: {meta}"))),
        },
    }
}

fn unsupported_meta(code: i32, name: &str) -> Fault {
    Fault::new(code, format!("$meta sort by '{name}' metadata is not supported"))
}

fn parse_direction(path: &str, value: &Value<'_>) -> Result<bool> {
    if !value.is_number() {
        return Err(Fault::new(
            15974,
            format!("Illegal key in $sort specification: {path}: {value}"),
        ));
    }
    // Directions are truncated to integers, 1.5 ascends; but decimals are rounded to even.
    let whole = match value {
        Value::Decimal128(_) => f64::round_ties_even,
        _ => f64::trunc,
    };
    match number::as_f64(value).map(whole) {
        Some(1.0) => Ok(false),
        Some(-1.0) => Ok(true),
        _ => Err(Fault::new(
            15975,
            "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
        )),
    }
}

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(Fault::new(
            40352,
            "FieldPath cannot be constructed with empty string",
        ));
    }
    if path.ends_with('.') {
        return Err(Fault::new(40353, "FieldPath must not end with a '.'."));
    }
    aggregate::path::check_length(path.split('.').count())?;
    for name in path.split('.') {
        if name.is_empty() {
            return Err(Fault::new(
                15998,
                "FieldPath field names may not be empty strings.",
            ));
        }
        let reference = matches!(name, "$id" | "$ref" | "$db");
        if name.starts_with('$') && !reference {
            return Err(Fault::new(
                16410,
                "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::document::sample::Sample;
    use super::super::document::{Owned, compare};
    use super::*;

    fn int(value: i32) -> Owned {
        Owned::Int32(value)
    }

    fn doc(fields: &[(&str, Owned)]) -> Vec<(String, Owned)> {
        fields.iter().map(|(n, v)| ((*n).to_owned(), v.clone())).collect()
    }

    fn list(items: &[Owned]) -> Owned {
        Owned::Array(items.to_vec())
    }

    fn parse(fields: &[(&str, Owned)]) -> Result<SortSpec> {
        SortSpec::parse(Doc::Raw(&Doc::Fields(&doc(fields)).to_bytes()))
    }

    #[test]
    fn specifications_are_refused_with_mongods_codes() {
        let meta = |value: Owned| Owned::Document(doc(&[("$meta", value)]));
        for (fields, code) in [
            (vec![("a", int(0))], Err(15975)),
            (vec![("a", int(2))], Err(15975)),
            (vec![("a", Owned::Double(0.5))], Err(15975)),
            (vec![("a", Owned::Double(f64::NAN))], Err(15975)),
            (vec![("a", Owned::Double(1.5))], Ok(())),
            (vec![("a", Owned::Int64(-1))], Ok(())),
            (vec![("a", Owned::String("x".into()))], Err(15974)),
            (vec![("a", Owned::Null)], Err(15974)),
            (vec![("a", Owned::Bool(true))], Err(15974)),
            (vec![("a", list(&[int(1)]))], Err(15974)),
            (vec![("", int(1))], Err(40352)),
            (vec![("a.", int(1))], Err(40353)),
            (vec![(".a", int(1))], Err(15998)),
            (vec![("a..b", int(1))], Err(15998)),
            (vec![("$a", int(1))], Err(16410)),
            (vec![("a.$b", int(1))], Err(16410)),
            (vec![("a.$id", int(1))], Ok(())),
            (vec![("a", Owned::Document(vec![]))], Err(17312)),
            (vec![("a", meta(Owned::String("x".into())))], Err(31138)),
            (vec![("a", meta(Owned::String("textScore".into())))], Ok(())),
            (vec![("$natural", int(1)), ("a", int(1))], Err(2)),
            (vec![("a", int(1)), ("$natural", int(1))], Err(2)),
            (vec![("$natural", int(-1))], Ok(())),
            (vec![], Ok(())),
        ] {
            let got = parse(&fields).map(|_| ()).map_err(|fault| fault.code());
            assert_eq!(got, code, "{fields:?}");
        }
        assert_eq!(parse(&[("$natural", int(-1))]).unwrap().natural, Some(true));
    }

    /// Sorts the documents and gives their positions.
    fn check(spec: &[(&str, i32)], documents: &[Vec<(String, Owned)>], expected: &[usize]) {
        let fields: Vec<(&str, Owned)> = spec.iter().map(|(path, order)| (*path, int(*order))).collect();
        let sort = parse(&fields).unwrap();
        let mut order: Vec<usize> = (0..documents.len()).collect();
        order.sort_by_key(|i| sort.key(Doc::Fields(&documents[*i])).unwrap());
        assert_eq!(order, expected, "{spec:?}");
    }

    #[test]
    fn arrays_sort_by_their_least_or_greatest_element() {
        let a = |value| doc(&[("a", value)]);
        let documents = [
            a(int(5)),
            a(list(&[int(9), int(1)])),
            a(list(&[])),
            doc(&[]),
            a(Owned::Null),
            a(Owned::String("x".into())),
        ];
        check(&[("a", 1)], &documents, &[2, 3, 4, 1, 0, 5]);
        check(&[("a", -1)], &documents, &[5, 1, 0, 3, 4, 2]);
    }

    #[test]
    fn fields_of_one_array_sort_together() {
        let b = |b, c| Owned::Document(doc(&[("b", int(b)), ("c", int(c))]));
        let documents = [
            doc(&[("a", list(&[b(1, 9), b(2, 1)]))]),
            doc(&[("a", list(&[b(1, 5)]))]),
        ];
        check(&[("a.b", 1), ("a.c", 1)], &documents, &[1, 0]);
        check(&[("a.c", 1), ("a.b", 1)], &documents, &[0, 1]);
        let parallel = doc(&[("a", list(&[int(1)])), ("b", list(&[int(1)]))]);
        let sort = parse(&[("a", int(1)), ("b", int(1))]).unwrap();
        assert_eq!(sort.key(Doc::Fields(&parallel)).unwrap_err().code(), 2);
    }

    #[test]
    fn keys_sort_like_the_comparator() {
        let sort = parse(&[("a", int(1)), ("b", int(-1))]).unwrap();
        let mut sample = Sample::new(5);
        let scalar = |sample: &mut Sample| loop {
            match sample.value(2) {
                Owned::Array(_) => {}
                value => return value,
            }
        };
        let documents: Vec<_> = (0..300)
            .map(|_| doc(&[("a", scalar(&mut sample)), ("b", scalar(&mut sample))]))
            .collect();
        for left in &documents {
            for right in &documents {
                let expected = compare(&left[0].1.as_value(), &right[0].1.as_value())
                    .then(compare(&right[1].1.as_value(), &left[1].1.as_value()));
                let (a, b) = (
                    sort.key(Doc::Fields(left)).unwrap(),
                    sort.key(Doc::Fields(right)).unwrap(),
                );
                assert_eq!(a.cmp(&b), expected, "{left:?} {right:?}");
            }
        }
    }
}
