//! Values of untyped documents by their dotted paths.

use odm::bson::{Bson, Document};

/// The value at a path through nested documents.
pub(crate) fn value_at<'a>(document: &'a Document, path: &str) -> Option<&'a Bson> {
    match path.split_once('.') {
        None => document.get(path),
        Some((first, rest)) => value_at(document.get(first)?.as_document()?, rest),
    }
}

/// Puts a value, or nothing, at a path; whether there are the documents around it.
pub(crate) fn put_at(document: &mut Document, path: &str, value: Option<&Bson>) -> bool {
    match (path.split_once('.'), value) {
        (None, Some(value)) => {
            document.insert(path, value);
            true
        }
        (None, None) => {
            document.remove(path);
            true
        }
        (Some((first, rest)), value) => match document.get_mut(first) {
            Some(Bson::Document(inner)) => put_at(inner, rest, value),
            _ => value.is_none(),
        },
    }
}

/// The documents of the array at a path; none where there is no array.
pub(crate) fn elements_at<'a>(document: &'a Document, path: &str) -> impl Iterator<Item = &'a Document> {
    let array = value_at(document, path).and_then(Bson::as_array);
    array
        .map_or(&[][..], Vec::as_slice)
        .iter()
        .filter_map(Bson::as_document)
}
