//! The index that a query asks for.

use bson::{Bson, Document, RawDocument};

use crate::error::{Error, ErrorKind, Result};

/// The keys of an index for a query: fields that are equal to one value, then those of the sort, then the others that
/// are compared. `None` where it compares no field and has no sort.
///
/// # Errors
/// `Corrupt` for a malformed document.
pub(crate) fn suggested_index(filter: &RawDocument, sort: Option<&RawDocument>) -> Result<Option<Document>> {
    let read = |document: &RawDocument| {
        Document::try_from(document)
            .map_err(|error| Error::new(ErrorKind::Corrupt, "the document is malformed").with_source(error))
    };
    let (mut equal, mut ranged) = (Vec::new(), Vec::new());
    collect(&read(filter)?, &mut equal, &mut ranged);
    let mut keys = Document::new();
    for path in equal {
        keys.insert(path, 1);
    }
    if let Some(sort) = sort {
        for (path, direction) in read(sort)? {
            if !keys.contains_key(&path) && !path.starts_with('$') {
                keys.insert(path, direction);
            }
        }
    }
    for path in ranged {
        if !keys.contains_key(&path) {
            keys.insert(path, 1);
        }
    }
    Ok((!keys.is_empty()).then_some(keys))
}

fn collect(filter: &Document, equal: &mut Vec<String>, ranged: &mut Vec<String>) {
    for (name, condition) in filter {
        match (name.as_str(), condition) {
            ("$and", Bson::Array(parts)) => {
                for part in parts.iter().filter_map(Bson::as_document) {
                    collect(part, equal, ranged);
                }
            }
            (name, _) if name.starts_with('$') => {}
            (path, condition) => match is_equality(condition) {
                true => equal.push(path.to_owned()),
                false => ranged.push(path.to_owned()),
            },
        }
    }
}

fn is_equality(condition: &Bson) -> bool {
    match condition {
        Bson::RegularExpression(_) => false,
        Bson::Document(operators) => match operators.keys().next() {
            Some(first) if first.starts_with('$') => operators
                .keys()
                .any(|name| matches!(name.as_str(), "$eq" | "$in")),
            _ => true,
        },
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use bson::{doc, rawdoc};

    use super::suggested_index;

    #[test]
    fn equalities_come_first_then_the_sort_then_ranges() {
        let filter = rawdoc! { "a": { "$gt": 1 }, "$and": [{ "b": 2 }, { "c": { "$in": [1, 2] } }] };
        let sort = rawdoc! { "d": -1, "b": 1 };
        let expected = doc! { "b": 1, "c": 1, "d": -1, "a": 1 };
        assert_eq!(suggested_index(&filter, Some(&sort)).unwrap(), Some(expected));
        assert_eq!(suggested_index(&rawdoc! { "$expr": true }, None).unwrap(), None);
    }
}
