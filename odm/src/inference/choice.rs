//! Which type holds a shape.

use std::collections::BTreeSet;

use bson::spec::ElementType;

use super::planned::Type;
use super::shape::{ArrayShape, DocumentShape, Shape};
use super::{Settings, name};

/// Whether a field of a model can be stored under this name.
pub(crate) fn is_fit(name: &str) -> bool {
    !name.is_empty() && !name.contains(['.', '\0']) && !name.starts_with('$')
}

/// Whether the names are those of fields, and no data.
pub(crate) fn is_struct(documents: &DocumentShape, settings: Settings) -> bool {
    let names = documents.fields.len();
    if documents.values.is_some() || names == 0 || names > settings.max_keys_of_structs {
        return false;
    }
    if documents.fields.iter().any(|(name, _)| !is_fit(name)) {
        return false;
    }
    if documents.fields.iter().all(|(name, _)| name::is_data(name)) {
        return false;
    }
    let is_sparse =
        names >= 8 && documents.count >= 4 && documents.named * 4 < names as u64 * documents.count;
    !(is_sparse && documents.united().kinds().len() == 1)
}

/// The type of an `_id` that others can refer to.
pub(crate) fn scalar_key(shape: &Shape, settings: Settings) -> Option<Type> {
    if shape.is_nullable() || (settings.exact_numbers && shape.kinds().len() > 1) {
        return None;
    }
    let kinds = shape.kinds();
    if kinds.is_empty() || shape.is_only(ElementType::ObjectId) {
        return Some(Type::OwnId);
    }
    let integers = [ElementType::Int32 as u8, ElementType::Int64 as u8];
    if kinds.iter().all(|kind| integers.contains(kind)) {
        let is_short = kinds.len() == 1 && kinds.contains(&integers[0]);
        return Some(Type::Plain(if is_short { "i32" } else { "i64" }));
    }
    if shape.is_only(ElementType::String) {
        return Some(Type::Plain("String"));
    }
    let uuids = shape.uuids > 0 && shape.uuids == shape.of(ElementType::Binary);
    (shape.is_only(ElementType::Binary) && uuids).then_some(Type::Plain("odm::bson::Uuid"))
}

/// Whether structs keep the order of the fields: all have the same in the same order, at all depths, and none becomes a
/// map or a type that has an order of its own.
pub(super) fn is_rigid(documents: &DocumentShape, settings: Settings) -> bool {
    let nested = |shape: &Shape| {
        let inner = shape.documents.as_deref();
        inner.is_none_or(|inner| is_rigid(inner, settings) && geometry(inner, settings).is_none())
            && !shape.arrays.as_deref().is_some_and(has_documents)
    };
    !documents.differ
        && !documents.repeats
        && is_struct(documents, settings)
        && documents.fields.iter().all(|(_, shape)| nested(shape))
}

/// Whether elements are documents, or arrays that have some.
fn has_documents(arrays: &ArrayShape) -> bool {
    arrays.items.documents.is_some() || arrays.items.arrays.as_deref().is_some_and(has_documents)
}

/// The Rust number that all of them are, by their values.
pub(super) fn number(shape: &Shape, kinds: &BTreeSet<u8>, settings: Settings) -> Option<&'static str> {
    if settings.exact_numbers && kinds.len() > 1 {
        return None;
    }
    let of = |allowed: &[ElementType]| {
        kinds
            .iter()
            .all(|kind| allowed.iter().any(|one| *one as u8 == *kind))
    };
    match () {
        () if kinds.is_empty() => None,
        () if of(&[ElementType::Int32]) => Some("i32"),
        () if of(&[ElementType::Int32, ElementType::Int64]) => Some("i64"),
        () if of(&[ElementType::Double]) => Some("f64"),
        () if of(&[ElementType::Int32, ElementType::Int64, ElementType::Double])
            && !shape.has_wide_integers =>
        {
            Some("f64")
        }
        () => None,
    }
}

/// Whether all of them are a double.
pub(super) fn are_doubles(shape: &Shape, settings: Settings) -> bool {
    let number = number(shape, &shape.kinds(), settings).filter(|_| !shape.has_wide_integers);
    number.is_some_and(|number| number == "f64" || !settings.exact_numbers) && !shape.is_nullable()
}

/// The type of GeoJSON objects, where all are of one.
pub(super) fn geometry(documents: &DocumentShape, settings: Settings) -> Option<&'static str> {
    let names: Vec<&str> = documents.fields.iter().map(|(name, _)| name.as_str()).collect();
    let (kind, coordinates) = (documents.field("type")?, documents.field("coordinates")?);
    if names.len() != 2
        || documents.repeats
        || kind.seen != documents.count
        || coordinates.seen != documents.count
    {
        return None;
    }
    let mut texts = kind
        .texts
        .few()
        .filter(|_| kind.is_only(ElementType::String))?
        .iter();
    let (Some(text), None, false) = (texts.next(), texts.next(), kind.is_nullable()) else {
        return None;
    };
    let (ty, depth) = match text.as_str() {
        "Point" => ("odm::geo::Point", 0),
        "LineString" => ("odm::geo::LineString", 1),
        "MultiPoint" => ("odm::geo::MultiPoint", 1),
        "Polygon" => ("odm::geo::Polygon", 2),
        "MultiLineString" => ("odm::geo::MultiLineString", 2),
        "MultiPolygon" => ("odm::geo::MultiPolygon", 3),
        _ => return None,
    };
    let mut at = coordinates;
    for level in 0..=depth {
        if !at.is_only(ElementType::Array) || at.is_nullable() {
            return None;
        }
        let arrays = at.arrays.as_deref()?;
        if level == depth {
            let is_position = (2..=3).contains(&arrays.least) && arrays.most <= 3;
            return (is_position && are_doubles(&arrays.items, settings)).then_some(ty);
        }
        at = &arrays.items;
    }
    None
}

/// What is to be said of a field.
pub(super) fn notes(shape: &Shape, within: u64, ty: &Type) -> Vec<String> {
    let mut notes = Vec::new();
    let kinds: Vec<String> = shape
        .kinds()
        .iter()
        .map(|kind| {
            let count = shape.types.get(kind).copied().unwrap_or_default();
            match super::share(count, shape.seen) {
                share if count > 0 => format!("{} {share}", crate::codec::kind_name(*kind)),
                _ => crate::codec::kind_name(*kind).to_owned(),
            }
        })
        .collect();
    if kinds.len() > 1 {
        notes.push(kinds.join(", "));
    }
    if kinds.is_empty() && shape.seen > 0 {
        notes.push("null in all documents".to_owned());
    }
    if shape.seen == 0 && within > 0 {
        notes.push("in no document that was looked at".to_owned());
    }
    let item = shape
        .arrays
        .as_ref()
        .and_then(|arrays| arrays.items.target.as_ref());
    if let Some(target) = shape.target.as_ref().or(item)
        && !ty.refers()
    {
        notes.push(format!(
            "found as `_id` in the collection {target}, whose model has another type of `_id`, or none"
        ));
    }
    if let Some(arrays) = &shape.arrays
        && arrays.count > 0
        && arrays.items.seen == 0
    {
        notes.push("an array without elements in all documents".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, rawdoc};

    use super::*;

    #[test]
    fn only_structs_keep_the_order_of_fields() {
        let is_rigid = |first: RawDocumentBuf, second: RawDocumentBuf| {
            let mut documents = DocumentShape::default();
            documents.add(&first);
            documents.add(&second);
            is_rigid(&documents, Settings::default())
        };
        let inner = |n: i32| rawdoc! {"a": n, "b": {"z": [[n]], "c": {"y": "x", "d": n}}};
        assert!(is_rigid(inner(1), inner(2)));
        assert!(!is_rigid(rawdoc! {"a": 1, "b": 1}, rawdoc! {"b": 1, "a": 1}));
        for one in [
            rawdoc! {"a": {"2020": 1, "2019": 2}},
            rawdoc! {"a": {"b": {"y.z": 1, "c": 2}}},
            rawdoc! {"a": {"type": "Point", "coordinates": [1.5, 2.5]}},
            rawdoc! {"a": {"$ref": "b", "$id": 1}},
            rawdoc! {"a": [[{"b": 1, "c": 2}]]},
            rawdoc! {},
        ] {
            assert!(!is_rigid(one.clone(), one.clone()), "{one:?}");
        }
    }
}
