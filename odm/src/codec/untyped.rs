//! Documents of no type, there and back without recursion: they may nest as deep as the server lets them.

use bson::raw::RawIter;
use bson::{Bson, Document, JavaScriptCodeWithScope, RawBsonRef, RawDocument, RawDocumentBuf};

use super::shape::{check_depth, check_document};
use super::{NO_UTF_8, encode_error, id_first, named, with_path};
use crate::error::{Error, ErrorKind, Result};

/// Encodes a document, with `_id` as its first field.
///
/// # Errors
/// `InvalidArgument` when it is nested too deep, `Encode` when a name holds a NUL.
pub(crate) fn encode_untyped(document: &Document) -> Result<RawDocumentBuf> {
    check_document(document)?;
    let encoded = RawDocumentBuf::try_from(document).map_err(|error| encode_error(error, ""))?;
    id_first(encoded)
}

/// Decodes a document, whatever is in it.
///
/// # Errors
/// `Corrupt` for bytes that are no BSON, with the field and the `_id`.
pub(crate) fn decode_untyped(document: &RawDocument) -> Result<Document> {
    read_untyped(document).map_err(|error| named(error, document))
}

fn read_untyped(document: &RawDocument) -> Result<Document> {
    check_depth(document.as_bytes())?;
    let mut open = vec![Level {
        name: String::new(),
        elements: document.iter_elements(),
        made: Made::Document(Document::new()),
    }];
    while let Some(level) = open.last_mut() {
        match level.elements.next() {
            Some(element) => {
                let element = match element {
                    Ok(element) => element,
                    Err(error) => return Err(broken(error, &open, "")),
                };
                let name = element.key().as_str();
                let read = element.value().and_then(|value| match Level::open(name, value) {
                    Some(inner) => Ok(Err(inner)),
                    None => Bson::try_from(value).map(Ok),
                });
                match read {
                    Ok(Ok(value)) => level.made.add(name, value),
                    Ok(Err(inner)) => open.push(inner),
                    Err(error) => return Err(broken(error, &open, name)),
                }
            }
            None => match (open.pop(), open.last_mut()) {
                (Some(done), Some(outer)) => outer.made.add(&done.name, done.made.into()),
                (Some(done), None) => return done.made.into_document(),
                (None, _) => break,
            },
        }
    }
    Ok(Document::new())
}

/// Decodes a value, whatever it is.
///
/// # Errors
/// `Corrupt` for bytes that are no BSON.
pub(crate) fn decode_untyped_value(value: RawBsonRef<'_>) -> Result<Bson> {
    let mut document = RawDocumentBuf::new();
    match value {
        RawBsonRef::Document(_) | RawBsonRef::Array(_) | RawBsonRef::JavaScriptCodeWithScope(_) => {
            document.append(bson::raw::cstr!(""), value);
        }
        plain => return Bson::try_from(plain).map_err(|error| broken(error, &[], "")),
    }
    let mut decoded = read_untyped(&document)?;
    Ok(decoded.remove("").unwrap_or(Bson::Null))
}

/// The error of a value with this name in what is being read.
fn broken(error: bson::error::Error, open: &[Level<'_>], name: &str) -> Error {
    let names = open.iter().map(|level| level.name.as_str()).chain([name]);
    let path: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
    let message = match error.kind {
        bson::error::ErrorKind::Utf8Encoding { .. } => NO_UTF_8,
        _ => "malformed bson",
    };
    with_path(Error::new(ErrorKind::Corrupt, message), &path.join(".")).with_source(error)
}

/// A document or array that is being read.
struct Level<'a> {
    name: String,
    elements: RawIter<'a>,
    made: Made,
}

enum Made {
    Document(Document),
    Array(Vec<Bson>),
    /// The code, and its scope as far as it is read.
    Code(String, Document),
}

impl<'a> Level<'a> {
    /// A value that holds others; `None` for one that does not.
    fn open(name: &str, value: RawBsonRef<'a>) -> Option<Level<'a>> {
        let (elements, made) = match value {
            RawBsonRef::Document(inner) => (inner.iter_elements(), Made::Document(Document::new())),
            RawBsonRef::Array(inner) => (inner.iter_elements(), Made::Array(Vec::new())),
            RawBsonRef::JavaScriptCodeWithScope(code) => (
                code.scope.iter_elements(),
                Made::Code(code.code.to_owned(), Document::new()),
            ),
            _ => return None,
        };
        Some(Level {
            name: name.to_owned(),
            elements,
            made,
        })
    }
}

impl Made {
    fn add(&mut self, name: &str, value: Bson) {
        match self {
            Made::Array(items) => items.push(value),
            Made::Document(fields) | Made::Code(_, fields) => {
                fields.insert(name, value);
            }
        }
    }

    fn into_document(self) -> Result<Document> {
        match self {
            Made::Document(fields) => Ok(fields),
            _ => Err(Error::new(ErrorKind::Corrupt, "malformed bson")),
        }
    }
}

impl From<Made> for Bson {
    fn from(made: Made) -> Bson {
        match made {
            Made::Document(fields) => Bson::Document(fields),
            Made::Array(items) => Bson::Array(items),
            Made::Code(code, scope) => Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope }),
        }
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, doc};

    use super::*;

    #[test]
    fn what_is_decoded_is_what_was_encoded() {
        let scope = doc! { "x": [1, { "y": Bson::Null }] };
        let document = doc! {
            "_id": 1,
            "a": { "b": [1, [], {}, [{ "c": "d" }]] },
            "code": Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code: "f".into(), scope }),
            "last": 1.5,
        };
        let encoded = encode_untyped(&document).unwrap();
        assert_eq!(decode_untyped(&encoded).unwrap(), document);
        assert_eq!(encoded, super::super::encode_document(&document).unwrap());
    }

    #[test]
    fn the_id_comes_first() {
        let encoded = encode_untyped(&doc! { "a": 1, "_id": 2 }).unwrap();
        assert_eq!(decode_untyped(&encoded).unwrap().keys().next().unwrap(), "_id");
    }

    #[test]
    fn bytes_that_are_no_bson_are_refused() {
        let mut bytes = encode_untyped(&doc! { "a": true }).unwrap().into_bytes();
        bytes[7] = 2;
        let broken = RawDocumentBuf::from_bytes(bytes).unwrap();
        assert!(decode_untyped(&broken).is_err());
    }
}
