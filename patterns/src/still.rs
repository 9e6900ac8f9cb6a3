//! Conditions that a value is still what was read, and whether two are the same.

use odm::bson::{Bson, Document, RawDocumentBuf, doc};

use crate::exact;

/// The condition that this very value stands at a dotted path: strings by their bytes, whatever the collation of the
/// collection makes of them. A schema tells them apart; it does not tell the order of fields, which `$eq` does.
pub(crate) fn still(path: &str, value: &Bson) -> Document {
    let schema = exact::at(path, doc! { "enum": [value] });
    doc! { path: { "$eq": value }, "$jsonSchema": schema }
}

/// Whether two values are the same to the bit. By `==` no number that is none (NaN) is itself, and documents are equal in
/// any order of their fields.
pub(crate) fn is_same(one: &Bson, other: &Bson) -> bool {
    is_same_document(&doc! { "": one }, &doc! { "": other })
}

/// As [`is_same`], of documents.
pub(crate) fn is_same_document(one: &Document, other: &Document) -> bool {
    match (RawDocumentBuf::try_from(one), RawDocumentBuf::try_from(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_same_to_the_bit() {
        let nan = Bson::Double(f64::NAN);
        assert!(is_same(&nan, &nan));
        assert!(is_same(&vec![nan.clone()].into(), &vec![nan.clone()].into()));
        assert!(is_same_document(
            &doc! { "a": { "b": &nan } },
            &doc! { "a": { "b": nan } }
        ));
        assert!(!is_same(&Bson::Int32(1), &Bson::Int64(1)));
        assert!(!is_same(&Bson::Double(0.0), &Bson::Double(-0.0)));
        assert!(!is_same_document(
            &doc! { "a": 1, "b": 2 },
            &doc! { "b": 2, "a": 1 }
        ));
    }
}
