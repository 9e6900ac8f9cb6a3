//! Documents that hold documents of their own shape: answers to answers, parts of parts.

use std::collections::BTreeSet;

use super::shape::{DocumentShape, Shape};

/// Merges nested documents into those around them, where they have the same fields: `{text, answers: [{text, answers}]}`
/// is one shape. The outermost stay, as they have an `_id`.
pub(crate) fn fold(documents: &mut DocumentShape) {
    for (_, shape) in &mut documents.fields {
        fold_value(shape);
    }
}

fn fold_value(shape: &mut Shape) {
    if let Some(arrays) = &mut shape.arrays {
        fold_value(&mut arrays.items);
    }
    let Some(documents) = &mut shape.documents else {
        return;
    };
    let names: Vec<String> = documents.fields.iter().map(|(name, _)| name.clone()).collect();
    let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    for name in &names {
        let is_same = documents.field(name).and_then(nested).is_some_and(|inner| {
            // Once may be chance: that it goes on is what tells.
            inner
                .field(name)
                .is_some_and(|next| next.documents.is_some() || next.arrays.is_some())
                && is_within(inner, name, &known)
        });
        if is_same {
            unite(documents, name);
        }
    }
    fold(documents);
}

/// The documents that a field holds, by itself or as elements of an array.
pub(super) fn nested(shape: &Shape) -> Option<&DocumentShape> {
    match (&shape.documents, &shape.arrays) {
        (Some(documents), None) => Some(documents),
        (None, Some(arrays)) => arrays.items.documents.as_deref(),
        _ => None,
    }
}

fn nested_mut(shape: &mut Shape) -> Option<&mut DocumentShape> {
    match (&mut shape.documents, &mut shape.arrays) {
        (Some(documents), None) => Some(documents),
        (None, Some(arrays)) => arrays.items.documents.as_deref_mut(),
        _ => None,
    }
}

/// Whether all that goes on by this field has no other names.
fn is_within(inner: &DocumentShape, field: &str, known: &BTreeSet<&str>) -> bool {
    let is_known =
        inner.values.is_none() && inner.fields.iter().all(|(name, _)| known.contains(name.as_str()));
    let next = inner.field(field).and_then(nested);
    is_known && next.is_none_or(|next| is_within(next, field, known))
}

/// Counts what is nested by this field as more of the same.
fn unite(documents: &mut DocumentShape, field: &str) {
    if let Some(inner) = field_mut(documents, field).and_then(take) {
        documents.merge(inner);
    }
}

/// Leaves a mark for the documents of a field, unless there is one.
fn take(shape: &mut Shape) -> Option<DocumentShape> {
    let inner = nested_mut(shape).filter(|inner| !inner.is_outer)?;
    let mark = DocumentShape::as_outer(inner.count);
    Some(std::mem::replace(inner, mark))
}

/// Leaves a mark in both where one of two has it, by whatever name, and gives what was there: more of the same, to be
/// counted too.
pub(super) fn align(one: &mut DocumentShape, other: &mut DocumentShape) -> Vec<DocumentShape> {
    let is_marked = |shape: &Shape| nested(shape).is_some_and(|inner| inner.is_outer);
    let mut taken = Vec::new();
    for (name, shape) in &mut other.fields {
        match (one.field(name).is_some_and(is_marked), is_marked(shape)) {
            (true, false) => taken.extend(take(shape)),
            (false, true) => taken.extend(field_mut(one, name).and_then(take)),
            _ => {}
        }
    }
    taken
}

fn field_mut<'a>(documents: &'a mut DocumentShape, field: &str) -> Option<&'a mut Shape> {
    let mut fields = documents.fields.iter_mut();
    fields.find(|(name, _)| name == field).map(|(_, shape)| shape)
}

#[cfg(test)]
mod tests {
    use bson::spec::ElementType;
    use bson::{RawDocumentBuf, rawdoc};

    use super::*;

    fn folded(document: &RawDocumentBuf) -> DocumentShape {
        let mut shape = DocumentShape::default();
        shape.add(document);
        fold(&mut shape);
        shape
    }

    #[test]
    fn answers_to_answers_are_answers() {
        let answer = rawdoc! {"text": "c", "score": 1, "answers": []};
        let answer = rawdoc! {"text": "b", "answers": [answer, {"text": "d"}]};
        let shape = folded(&rawdoc! {"_id": 1, "answers": [{"text": "a", "answers": [answer]}]});
        // The third level has a field of its own.
        let answers = shape.field("answers").and_then(nested).unwrap();
        assert!(!answers.field("answers").and_then(nested).unwrap().is_outer);

        let third = rawdoc! {"text": "c", "answers": [{"text": "d"}]};
        let second = rawdoc! {"text": "b", "answers": [third]};
        let shape = folded(&rawdoc! {"_id": 1, "answers": [{"text": "a", "answers": [second]}]});
        let answers = shape.field("answers").and_then(nested).unwrap();
        assert_eq!((answers.count, answers.field("text").unwrap().seen), (4, 4));
        let inner = answers.field("answers").and_then(nested).unwrap();
        assert!(inner.is_outer && inner.fields.is_empty());
    }

    #[test]
    fn what_goes_on_by_two_names_is_counted_wherever_it_is() {
        let leaf = rawdoc! {"key": "text", "left": null, "right": null};
        let turned = rawdoc! {"key": 3, "left": leaf, "right": {"key": 4}};
        let straight = rawdoc! {"key": 5, "left": {"key": 6, "left": {"key": 7}}, "right": null};
        let right = rawdoc! {"key": 2, "left": turned, "right": {"key": 8, "left": {"key": 9.5, "other": 1}}};
        let shape = folded(&rawdoc! {"_id": 1, "root": {"key": 1, "left": straight, "right": right}});
        let root = shape.field("root").and_then(nested).unwrap();
        assert_eq!((root.count, root.field("key").unwrap().seen), (10, 10));
        let of = |kind| root.field("key").unwrap().of(kind);
        assert_eq!(
            (
                of(ElementType::Int32),
                of(ElementType::String),
                of(ElementType::Double)
            ),
            (8, 1, 1)
        );
        assert_eq!(root.field("other").unwrap().seen, 1);
        for name in ["left", "right"] {
            let inner = root.field(name).and_then(nested).unwrap();
            assert!(inner.is_outer && inner.fields.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_goes_on_in_one_of_two_goes_on_in_both() {
        let answer = rawdoc! {"text": "b", "answers": [{"text": "c"}]};
        let on = rawdoc! {"text": "a", "answers": [answer]};
        let once = rawdoc! {"text": "d", "answers": [{"text": "e", "likes": 3}]};
        for (first, second) in [(&on, &once), (&once, &on)] {
            let threads = rawdoc! {"2019": first.clone(), "2020": second.clone()};
            let shape = folded(&rawdoc! {"_id": 1, "threads": threads});
            let all = shape.field("threads").and_then(nested).unwrap().united();
            let thread = nested(&all).unwrap();
            assert_eq!((thread.count, thread.field("text").unwrap().seen), (5, 5));
            assert_eq!(thread.field("likes").unwrap().seen, 1);
            let inner = thread.field("answers").and_then(nested).unwrap();
            assert!(inner.is_outer && inner.fields.is_empty());
        }
    }

    #[test]
    fn fields_that_are_named_alike_are_no_circle() {
        let shape =
            folded(&rawdoc! {"book": {"name": "a", "city": "b", "publisher": {"name": "c", "city": "d"}}});
        let book = shape.field("book").and_then(nested).unwrap();
        assert!(!book.field("publisher").and_then(nested).unwrap().is_outer);
    }
}
