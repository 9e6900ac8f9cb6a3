//! Options as they are declared, and as a server lists them.

use bson::{Bson, Document};

/// Whether two values are the same, whatever the types of their numbers and the order of their fields.
pub(crate) fn same_value(left: &Bson, right: &Bson) -> bool {
    match (left, right) {
        (Bson::Document(left), Bson::Document(right)) => {
            let same =
                |(key, value): (&String, &Bson)| right.get(key).is_some_and(|other| same_value(value, other));
            left.len() == right.len() && left.iter().all(same)
        }
        (Bson::Array(left), Bson::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same_value(left, right))
        }
        _ => match (number(Some(left)), number(Some(right))) {
            (Some(left), Some(right)) => left == right,
            _ => left == right,
        },
    }
}

/// Whether two collations compare alike: a server fills in what is not said, and the comparison of bytes is a collation by
/// name only, which it does not list.
pub(crate) fn same_collation(one: Option<&Bson>, other: Option<&Bson>) -> bool {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => same_value(&one, &other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// What a collation says, with what a server fills in; `None` is the comparison of bytes. What is no collation is itself.
fn whole(given: Option<&Bson>) -> Option<Bson> {
    let Bson::Document(own) = given? else {
        return given.cloned();
    };
    let locale = own.get_str("locale").unwrap_or_default();
    if locale == "simple" {
        return None;
    }
    let mut all: Document = bson::doc! {
        "strength": 3, "caseLevel": false, "caseFirst": "off", "numericOrdering": false, "alternate": "non-ignorable",
        "maxVariable": "punct", "normalization": false, "backwards": locale == "fr_CA",
    };
    all.extend(own.clone());
    all.remove("version");
    Some(all.into())
}

/// A number by its value.
pub(crate) fn number(value: Option<&Bson>) -> Option<f64> {
    match value {
        Some(Bson::Int32(number)) => Some(f64::from(*number)),
        Some(Bson::Int64(number)) => Some(*number as f64),
        Some(Bson::Double(number)) => Some(*number),
        _ => None,
    }
}

/// Whether a server takes the value for true.
pub(crate) fn is_true(value: &Bson) -> bool {
    matches!(value, Bson::Boolean(true)) || number(Some(value)).is_some_and(|number| number != 0.0)
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc};

    use super::*;

    fn is_same(one: Document, other: Document) -> bool {
        same_collation(Some(&Bson::Document(one)), Some(&Bson::Document(other)))
    }

    #[test]
    fn what_a_server_fills_in_is_the_same() {
        let listed = doc! {
            "locale": "en", "caseLevel": false, "caseFirst": "off", "strength": 3, "numericOrdering": false,
            "alternate": "non-ignorable", "maxVariable": "punct", "normalization": false, "backwards": false,
            "version": "57.1",
        };
        assert!(is_same(doc! {"locale": "en"}, listed.clone()));
        assert!(is_same(doc! {"strength": 3.0, "locale": "en"}, listed.clone()));
        assert!(!is_same(doc! {"locale": "en", "strength": 2}, listed.clone()));
        assert!(!is_same(doc! {"locale": "de"}, listed));
        assert!(!is_same(
            doc! {"locale": "en", "strength": 2},
            doc! {"locale": "en"}
        ));
        assert!(!is_same(
            doc! {"locale": "en"},
            doc! {"locale": "en", "strength": 2_i64}
        ));
        assert!(is_same(
            doc! {"locale": "fr_CA"},
            doc! {"locale": "fr_CA", "backwards": true}
        ));
        assert!(same_collation(
            Some(&Bson::Document(doc! {"locale": "simple"})),
            None
        ));
        assert!(!same_collation(
            Some(&Bson::Document(doc! {"locale": "en"})),
            None
        ));
    }
}
