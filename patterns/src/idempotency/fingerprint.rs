//! What makes two requests the same.

use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

/// The SHA-256 of a value as BSON, in hexadecimal digits. The order of fields, and of a map's keys, is none of it; the
/// types of numbers are.
///
/// # Errors
/// `Encode` for a value that does not fit BSON.
pub fn fingerprint(request: &impl Serialize) -> Result<String> {
    let unfit = |error| Error::new(ErrorKind::Encode, "the request does not fit BSON").with_source(error);
    let value = odm::bson::serialize_to_bson(request).map_err(unfit)?;
    let bytes = odm::bson::serialize_to_vec(&doc! { "v": ordered(value) }).map_err(unfit)?;
    Ok(hexadecimal(&Sha256::digest(&bytes)))
}

fn ordered(value: Bson) -> Bson {
    match value {
        Bson::Document(document) => {
            let mut fields: Vec<(String, Bson)> = document.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            let fields = fields.into_iter().map(|(name, value)| (name, ordered(value)));
            Bson::Document(fields.collect::<Document>())
        }
        Bson::Array(items) => Bson::Array(items.into_iter().map(ordered).collect()),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_the_same_in_any_order() {
        let same = doc! { "a": 1, "b": [{ "x": 1, "y": 2 }] };
        let also = doc! { "b": [{ "y": 2, "x": 1 }], "a": 1 };
        assert_eq!(fingerprint(&same).unwrap(), fingerprint(&also).unwrap());
        for other in [
            doc! { "a": 1_i64, "b": [{ "x": 1, "y": 2 }] },
            doc! { "a": 1, "b": [{ "x": 1 }, { "y": 2 }] },
        ] {
            assert_ne!(fingerprint(&same).unwrap(), fingerprint(&other).unwrap());
        }
        assert_eq!(fingerprint(&same).unwrap().len(), 64);
    }
}
