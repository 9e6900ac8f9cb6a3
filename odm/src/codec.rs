//! Between Rust values and BSON bytes, by serde.
//!
//! Everything is encoded as `bson`'s raw serializer encodes it, by that or by what knows most types and makes the same
//! of them: a value encoded here compares equal to the value that was stored.

mod decode;
mod encode;
mod nesting;
mod raw;
mod scalar;
mod shape;
mod trace;
mod unfit;
mod untyped;

pub use self::raw::Raw;
pub(crate) use self::shape::check_depth;
pub(crate) use self::unfit::kind_name;
use self::unfit::{Unfit, Words};
pub(crate) use self::untyped::{decode_untyped, decode_untyped_value, encode_untyped};

use std::cell::Cell;

use bson::spec::ElementType;
use bson::{Bson, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// The only field of the document that carries a lone value through the serializer.
#[derive(Serialize, Deserialize)]
struct Lone<T> {
    v: T,
}

/// Encodes one value.
///
/// # Errors
/// `Encode` when the value does not fit BSON; the error's path is relative to the value. `InvalidArgument` when it is
/// nested too deep.
pub(crate) fn encode_value<T: Serialize + ?Sized>(value: &T) -> Result<RawBson> {
    match scalar::encode(value) {
        Some(scalar) => Ok(scalar),
        None => encode_by_document(value),
    }
}

fn encode_by_document<T: Serialize + ?Sized>(value: &T) -> Result<RawBson> {
    let lone = Lone { v: value };
    let mut bytes = Vec::with_capacity(32);
    encode_into(&lone, &mut bytes, inner)?;
    let document = framed(bytes)?;
    match document.iter().next() {
        Some(Ok((_, value))) => Ok(value.into()),
        Some(Err(error)) => Err(encode_error(error, "")),
        None => Err(Error::new(ErrorKind::Encode, "the value serializes to nothing")),
    }
}

/// Encodes a document, with `_id` as its first field.
///
/// # Errors
/// `Encode` when the value does not fit BSON, or is not stored as a document. `InvalidArgument` when it is nested too
/// deep.
pub(crate) fn encode_document<T: Serialize + ?Sized>(value: &T) -> Result<RawDocumentBuf> {
    // A small document then takes the memory that it needs, all at once.
    let mut buffer = BUFFER.take();
    buffer.clear();
    let written = encode_into(&value, &mut buffer, |path| path).map(|()| match buffer.len() {
        ..=MOST_KEPT => buffer.to_vec(),
        _ => std::mem::take(&mut buffer),
    });
    if buffer.capacity() <= MOST_KEPT {
        BUFFER.set(buffer);
    }
    id_first(framed(written?)?)
}

/// Encodes a document into an empty buffer. Errors have that part of the path that is inside of what matters.
fn encode_into<T: Serialize>(value: &T, buffer: &mut Vec<u8>, inside: fn(&str) -> &str) -> Result<()> {
    if encode::encode(value, buffer).is_ok() {
        return Ok(());
    }
    // What follows recurses as deep as the value goes.
    nesting::check(value)?;
    buffer.clear();
    bson::serialize_to_buffer(value, buffer).map_err(|error| {
        let (path, words) = trace::own_encode(value);
        match words.has_other_names {
            true => words.error(ErrorKind::Encode, NO_FIT, inside(&path)),
            false => encode_error(error, inside(&trace::encode_path(value))),
        }
    })?;
    match RawDocument::from_bytes(&*buffer).ok().and_then(encode::repeated) {
        None => Ok(()),
        Some(path) => {
            let error = Error::new(ErrorKind::Encode, unfit::REPEATED);
            Err(with_path(error, inside(&path)))
        }
    }
}

thread_local! {
    /// What documents are encoded into, to be used again.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A larger buffer is not kept.
const MOST_KEPT: usize = 16 * 1024;

/// Decodes a document.
///
/// # Errors
/// `Decode` naming the path of the field that does not fit, `Corrupt` for bytes that are no BSON.
/// The path is found by decoding once more, so success pays nothing for it.
pub(crate) fn decode_document<T: DeserializeOwned>(document: &RawDocument) -> Result<T> {
    let bytes = document.as_bytes();
    match decode::decode(bytes) {
        Ok(value) => return Ok(value),
        Err(Unfit::Left | Unfit::Rare) => {}
        Err(Unfit::Refused) => {
            let (path, words) = trace::own_decode::<T>(bytes);
            return Err(named(refused(words, &path), document));
        }
    }
    decode_by_bson(bytes, |path| path).map_err(|error| named(error, document))
}

/// Decodes what our own decoder does not. Errors have that part of the path that is inside of what matters.
fn decode_by_bson<T: DeserializeOwned>(bytes: &[u8], inside: fn(&str) -> &str) -> Result<T> {
    check_depth(bytes)?;
    bson::deserialize_from_slice(bytes).map_err(|error| {
        let (path, words) = trace::own_decode::<T>(bytes);
        match words.has_other_names {
            true => words.error(ErrorKind::Decode, NO_TYPE, inside(&path)),
            false => {
                let path = trace::decode_path::<T>(bytes);
                let kind = RawDocument::from_bytes(bytes)
                    .ok()
                    .and_then(|whole| kind_at(whole, &path));
                decode_error(error, kind, inside(&path))
            }
        }
    })
}

/// The type of the value at a dotted path.
fn kind_at(document: &RawDocument, path: &str) -> Option<ElementType> {
    let whole = RawBsonRef::Document(document);
    let found = path.split('.').try_fold(whole, |value, segment| match value {
        RawBsonRef::Document(document) => document.get(segment).ok().flatten(),
        RawBsonRef::Array(array) => array.get(segment.parse().ok()?).ok().flatten(),
        _ => None,
    });
    found.map(|value| value.element_type())
}

/// What an encoding error says that nobody words.
const NO_FIT: &str = "the value does not fit BSON";
const NO_TYPE: &str = "the stored document does not fit the type";
const NO_UTF_8: &str = "the text is not UTF-8";

/// A map's key as the name of its field.
///
/// # Errors
/// `Encode` for a value that is not written as text.
pub(crate) fn encode_name<T: Serialize + ?Sized>(key: &T) -> Result<String> {
    let (name, words) = unfit::listen(|| encode::encode_name(key));
    name.map_err(|_| words.error(ErrorKind::Encode, NO_FIT, ""))
}

/// The error with the document's `_id`.
fn named(error: Error, document: &RawDocument) -> Error {
    match document.get("_id").ok().flatten().map(Bson::try_from) {
        Some(Ok(id)) => error.with_id(id),
        _ => error,
    }
}

/// The error of a value that is of another kind, though it might be made fit.
fn refused(words: Words, path: &str) -> Error {
    words
        .error(ErrorKind::Decode, NO_TYPE, path)
        .with_source(Unfit::Refused)
}

/// Decodes one value.
///
/// # Errors
/// `Decode` naming the path inside the value.
pub(crate) fn decode_value<T: DeserializeOwned>(value: RawBsonRef<'_>) -> Result<T> {
    let mut document = RawDocumentBuf::new();
    document.append(bson::raw::cstr!("v"), value);
    match decode::decode(document.as_bytes()) {
        Ok(Lone { v }) => return Ok(v),
        Err(Unfit::Left | Unfit::Rare) => {}
        Err(Unfit::Refused) => {
            let (path, words) = trace::own_decode::<Lone<T>>(document.as_bytes());
            return Err(refused(words, inner(&path)));
        }
    }
    decode_by_bson(document.as_bytes(), inner).map(|Lone { v }| v)
}

fn framed(bytes: Vec<u8>) -> Result<RawDocumentBuf> {
    RawDocumentBuf::from_bytes(bytes).map_err(|error| encode_error(error, ""))
}

/// Moves the element `_id` to the front, inside the same bytes.
fn id_first(document: RawDocumentBuf) -> Result<RawDocumentBuf> {
    const FIRST: usize = 4;
    if document.as_bytes().get(FIRST + 1..FIRST + 5) == Some(b"_id\0") {
        return Ok(document);
    }
    let mut at = FIRST;
    let mut found = None;
    for element in document.iter_elements() {
        let element = element.map_err(|error| encode_error(error, ""))?;
        // One byte of type, the name, its NUL, the value.
        let end = at + 1 + element.key().len() + 1 + element.size();
        if element.key() == "_id" {
            found = Some(at..end);
            break;
        }
        at = end;
    }
    let Some(id) = found else { return Ok(document) };
    let mut bytes = document.into_bytes();
    let length = id.len();
    match bytes.get_mut(FIRST..id.end) {
        Some(moved) => moved.rotate_right(length),
        None => {
            return Err(Error::new(
                ErrorKind::Encode,
                "the value serializes to no document",
            ));
        }
    }
    framed(bytes)
}

/// The path inside a lone value.
fn inner(path: &str) -> &str {
    path.strip_prefix("v")
        .map_or(path, |path| path.strip_prefix('.').unwrap_or(path))
}

fn encode_error(error: bson::error::Error, path: &str) -> Error {
    let message = match &error.kind {
        bson::error::ErrorKind::TooLargeUnsignedInteger { .. } => unfit::TOO_LARGE.into(),
        _ => text(&error, NO_FIT),
    };
    with_path(Error::new(ErrorKind::Encode, message), path).with_source(error)
}

fn decode_error(error: bson::error::Error, kind: Option<ElementType>, path: &str) -> Error {
    let mut message = text(&error, NO_TYPE);
    // Serde sees most types of BSON as maps, and names none.
    let seen = message
        .strip_prefix("invalid type: ")
        .and_then(|words| words.split_once(", expected "));
    if let (Some((seen @ ("map" | "sequence" | "unit value" | "byte array"), expected)), Some(kind)) =
        (seen, kind)
        && (seen, kind) != ("map", ElementType::EmbeddedDocument)
    {
        let name = unfit::kind_name(kind as u8);
        message = format!("invalid type: {name}, expected {expected}").into();
    }
    with_path(Error::new(ErrorKind::Decode, message), path).with_source(error)
}

fn text(error: &bson::error::Error, otherwise: &'static str) -> std::borrow::Cow<'static, str> {
    match (&error.message, &error.kind) {
        (Some(message), _) => message.clone().into(),
        (None, bson::error::ErrorKind::Utf8Encoding { .. }) => NO_UTF_8.into(),
        (None, _) => otherwise.into(),
    }
}

fn with_path(error: Error, path: &str) -> Error {
    match path {
        "" => error,
        path => error.with_path(path),
    }
}

#[cfg(test)]
mod names;

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        name: String,
        #[serde(rename = "_id")]
        id: i64,
        inner: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        count: u64,
        uuid: Option<bson::Uuid>,
    }

    fn outer(count: u64) -> Outer {
        Outer {
            name: "x".to_owned(),
            id: 7,
            inner: vec![
                Inner { count: 1, uuid: None },
                Inner {
                    count,
                    uuid: Some(bson::Uuid::from_bytes([7; 16])),
                },
            ],
        }
    }

    #[test]
    fn documents_go_there_and_back_with_their_id_first() {
        let document = encode_document(&outer(5)).unwrap();
        let names: Vec<_> = document
            .iter()
            .flatten()
            .map(|(name, _)| name.as_str().to_owned())
            .collect();
        assert_eq!(names, ["_id", "name", "inner"]);
        assert_eq!(decode_document::<Outer>(&document).unwrap(), outer(5));
        assert_eq!(
            encode_document(&rawdoc! { "_id": 1, "a": 2 }).unwrap(),
            rawdoc! { "_id": 1, "a": 2 }
        );
        assert_eq!(encode_document(&rawdoc! { "a": 2 }).unwrap(), rawdoc! { "a": 2 });
        let last = rawdoc! { "a": "text", "b": [1, 2], "_id": { "x": 1 } };
        let first = rawdoc! { "_id": { "x": 1 }, "a": "text", "b": [1, 2] };
        assert_eq!(encode_document(&last).unwrap(), first);
    }

    #[test]
    fn values_are_encoded_as_in_documents() {
        assert_eq!(encode_value(&5_u8).unwrap(), RawBson::Int32(5));
        assert_eq!(encode_value(&5_u32).unwrap(), RawBson::Int64(5));
        assert_eq!(encode_value("x").unwrap(), RawBson::String("x".to_owned()));
        assert_eq!(encode_value(&None::<i32>).unwrap(), RawBson::Null);
        let uuid = encode_value(&bson::Uuid::from_bytes([7; 16])).unwrap();
        assert_eq!(uuid.element_type(), ElementType::Binary);
        let value = encode_value(&vec![1, 2]).unwrap();
        assert_eq!(decode_value::<Vec<i32>>(value.as_raw_bson_ref()).unwrap(), [1, 2]);
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let error = encode_document(&outer(u64::MAX)).unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Encode, Some("inner.1.count"))
        );
        let error = encode_value(&vec![outer(u64::MAX)]).unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Encode, Some("0.inner.1.count"))
        );
        let error = encode_value(&u64::MAX).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Encode, None));
        assert_eq!(encode_value(&1_u128).unwrap_err().kind(), ErrorKind::Encode);
        assert_eq!(encode_document(&5).unwrap_err().kind(), ErrorKind::Encode);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let document = rawdoc! { "_id": 7_i64, "name": "x", "inner": [{ "count": 1 }, { "count": "many" }] };
        let error = decode_document::<Outer>(&document).unwrap_err();
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::Decode, Some("inner.1.count"))
        );
        assert_eq!(error.id(), Some(&Bson::Int64(7)));
        let error = decode_document::<Outer>(&rawdoc! { "_id": 7_i64, "name": "x" }).unwrap_err();
        assert!(error.message().contains("inner"), "{error}");
        let error = decode_value::<Vec<i32>>(RawBsonRef::Boolean(true)).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Decode, None));
        let value = RawBson::Array(["a"].into_iter().collect());
        let error = decode_value::<Vec<i32>>(value.as_raw_bson_ref()).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Decode, Some("0")));
    }
}
