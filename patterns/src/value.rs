//! Values of the user's types, inside of documents that a pattern stores.

use odm::bson::{self, Bson, Document, RawBson, RawDocumentBuf};
use odm::{Error, ErrorKind, Model, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[derive(Serialize)]
struct Wrapped<'a, T> {
    v: &'a T,
}

/// The stored form of a value.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<RawBson> {
    let failed = |error: bson::error::Error| {
        Error::new(ErrorKind::Encode, "the value does not fit bson").with_source(error)
    };
    let document = bson::serialize_to_raw_document_buf(&Wrapped { v: value }).map_err(failed)?;
    let value = document.get("v").map_err(failed)?;
    Ok(value.map_or(RawBson::Null, RawBson::from))
}

/// The value from its stored form.
pub(crate) fn decode<T: DeserializeOwned>(stored: &RawBson) -> Result<T> {
    // As fields of models are: a document that looks like extended JSON is never another value.
    odm::__private::read(stored.as_raw_bson_ref()).map_err(|error| {
        Error::new(ErrorKind::Decode, "the stored value does not fit the type").with_source(error)
    })
}

/// The stored form of a value, as an owned tree.
pub(crate) fn to_bson<T: Serialize>(value: &T) -> Result<Bson> {
    tree(encode(value)?)
}

/// How many bytes an encoded value has.
pub(crate) fn size(value: &RawBson) -> usize {
    match value {
        RawBson::Document(document) => document.as_bytes().len(),
        RawBson::Array(array) => array.as_bytes().len(),
        RawBson::String(text) => text.len() + 5,
        RawBson::Binary(binary) => binary.bytes.len() + 5,
        value => {
            let mut document = RawDocumentBuf::new();
            document.append(bson::cstr!("v"), value.clone());
            document.as_bytes().len()
        }
    }
}

/// An encoded value as an owned tree.
pub(crate) fn tree(value: RawBson) -> Result<Bson> {
    Bson::try_from(value)
        .map_err(|error| Error::new(ErrorKind::Encode, "the value does not fit bson").with_source(error))
}

/// An encoded document as an owned tree.
pub(crate) fn document(value: RawDocumentBuf) -> Result<Document> {
    Document::try_from(value)
        .map_err(|error| Error::new(ErrorKind::Encode, "the value does not fit bson").with_source(error))
}

/// The value from its stored form.
pub(crate) fn from_bson<T: DeserializeOwned>(stored: Bson) -> Result<T> {
    let stored = RawBson::try_from(stored).map_err(|error| {
        Error::new(ErrorKind::Decode, "the stored value does not fit the type").with_source(error)
    })?;
    decode(&stored)
}

/// The error of a list whose elements are not stored as their type says.
pub(crate) fn own_codec<M: Model>(path: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "the elements of an array with its own serde codec (`as_bson`, `with`) cannot be kept; put the codec on a field of \
         an embedded element",
    )
    .with_model(M::DESCRIPTOR.name)
    .with_path(path)
}

#[cfg(test)]
mod tests {
    use odm::bson::rawdoc;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Work {
        Stop,
        Mail { to: String },
        Sum(i32, i32),
    }

    #[test]
    fn values_go_there_and_back() {
        for work in [Work::Stop, Work::Mail { to: "ann".to_owned() }, Work::Sum(1, 2)] {
            assert_eq!(decode::<Work>(&encode(&work).unwrap()).unwrap(), work);
        }
        assert_eq!(encode(&()).unwrap(), RawBson::Null);
        assert_eq!(decode::<i64>(&encode(&7_i64).unwrap()).unwrap(), 7);
        assert_eq!(decode::<Option<i64>>(&RawBson::Null).unwrap(), None);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert_eq!(encode(&u64::MAX).unwrap_err().kind(), ErrorKind::Encode);
        let error = decode::<Work>(&RawBson::String("Sleep".to_owned())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode);
    }

    #[test]
    fn what_looks_like_extended_json_is_no_other_value() {
        let shown = rawdoc! { "a": { "$numberLong": "5" } };
        let array = RawBson::Array([RawBson::from(shown.clone())].into_iter().collect());
        let stored = RawBson::from(shown.clone());
        assert_eq!(decode::<Document>(&stored).unwrap_err().kind(), ErrorKind::Decode);
        assert_eq!(decode::<Bson>(&stored).unwrap_err().kind(), ErrorKind::Decode);
        assert_eq!(decode::<Vec<Bson>>(&array).unwrap_err().kind(), ErrorKind::Decode);
        assert_eq!(decode::<RawDocumentBuf>(&stored).unwrap(), shown);
    }
}
