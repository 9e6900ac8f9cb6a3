//! All encrypted values of a document.

use std::collections::HashSet;

use odm::bson::spec::ElementType;
use odm::bson::{Bson, Document, RawDocument, Uuid};
use serde::de::DeserializeOwned;
use zeroize::Zeroizing;

use super::blob::Blob;
use super::error::invalid;
use super::{EncryptionError, Keyring};

/// How deep documents can be nested that databases take.
const MOST_DEEP: usize = 201;

/// Decrypts what is encrypted by an algorithm that is known, in place. What was decrypted is not looked into again.
pub(super) fn decrypt_all(keyring: &Keyring, document: &mut Document) -> Result<(), EncryptionError> {
    let mut decrypt = |value: &mut Bson| {
        *value = keyring.decrypt_bson(value)?;
        Ok(())
    };
    in_document(document, 1, &mut decrypt)
}

/// The ids of the keys of all that is encrypted in it.
pub(super) fn keys_of(document: &mut Document) -> Result<HashSet<Uuid>, EncryptionError> {
    let mut keys = HashSet::new();
    let mut note = |value: &mut Bson| {
        if let Bson::Binary(binary) = value {
            keys.insert(Blob::of(binary)?.key);
        }
        Ok(())
    };
    in_document(document, 1, &mut note)?;
    Ok(keys)
}

/// The decrypted document as a Rust value. Why it does not fit could show values, so it is not said.
pub(super) fn decrypt_serialized<P: DeserializeOwned>(
    keyring: &Keyring,
    mut document: Document,
) -> Result<P, EncryptionError> {
    decrypt_all(keyring, &mut document)?;
    let read = || {
        let bytes = Zeroizing::new(document.to_vec().ok()?);
        odm::__private::read_document(RawDocument::from_bytes(&bytes).ok()?).ok()
    };
    read().ok_or(EncryptionError::WrongType {
        expected: std::any::type_name::<P>(),
        found: ElementType::EmbeddedDocument,
    })
}

type Visit<'v> = &'v mut dyn FnMut(&mut Bson) -> Result<(), EncryptionError>;

fn in_document(document: &mut Document, depth: usize, visit: Visit<'_>) -> Result<(), EncryptionError> {
    for (name, value) in document.iter_mut() {
        in_value(value, depth, visit).map_err(|error| error.inside(name))?;
    }
    Ok(())
}

fn in_value(value: &mut Bson, depth: usize, visit: Visit<'_>) -> Result<(), EncryptionError> {
    if depth > MOST_DEEP {
        return Err(invalid("the document is nested too deep"));
    }
    match value {
        Bson::Document(document) => in_document(document, depth + 1, visit),
        Bson::Array(elements) => {
            for (at, element) in elements.iter_mut().enumerate() {
                in_value(element, depth + 1, visit).map_err(|error| error.inside(&at.to_string()))?;
            }
            Ok(())
        }
        value if Blob::is_one(value) => visit(value),
        _ => Ok(()),
    }
}
