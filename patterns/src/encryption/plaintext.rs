//! Values before they are encrypted: their bytes as the only field of a document.

use std::fmt;

use odm::backend::Modification;
use odm::bson::spec::{BinarySubtype, ElementType};
use odm::bson::{Bson, Document, RawBsonRef, RawDocument};
use odm::{Field, Path, Raw};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zeroize::{Zeroize as _, Zeroizing};

use super::{Algorithm, EncryptionError};

/// Length, type, the name `v` and its end: what a document of one field has before the value.
const BEFORE: usize = 7;
/// The end of the document.
const AFTER: usize = 1;

/// A value as the field `v` of a document. Overwritten when dropped.
pub(super) struct Plaintext {
    document: Zeroizing<Vec<u8>>,
    kind: ElementType,
}

#[derive(Deserialize)]
struct Lone<T> {
    v: T,
}

impl Plaintext {
    /// A Rust value, encoded as fields of models are.
    ///
    /// # Errors
    /// [`Unfit`](EncryptionError::Unfit) when it does not fit BSON.
    pub(super) fn encode<T: Serialize>(value: &T) -> Result<Plaintext, EncryptionError> {
        let unfit = || EncryptionError::Unfit {
            of: std::any::type_name::<T>(),
        };
        // What a field is set to is encoded as whatever is stored there.
        let set = Field::<(), T>::new(Path::root().child("v")).set(value);
        let Ok(Modification::Operators(operators)) = set.build().map(|built| built.modification) else {
            return Err(unfit());
        };
        let operators = Zeroizing::new(operators.into_bytes());
        let set = RawDocument::from_bytes(&operators).ok();
        match set.and_then(|operators| operators.get_document("$set").ok()) {
            Some(set) => Plaintext::of(set.as_bytes().to_vec()).ok_or_else(unfit),
            None => Err(unfit()),
        }
    }

    /// A Rust value that is a document, as one.
    ///
    /// # Errors
    /// [`Unfit`](EncryptionError::Unfit) when it does not fit BSON, or is no document.
    pub(super) fn document<T: Serialize>(value: &T) -> Result<Document, EncryptionError> {
        match Plaintext::encode(&value)?.to_bson() {
            Some(Bson::Document(document)) => Ok(document),
            _ => Err(EncryptionError::Unfit {
                of: std::any::type_name::<T>(),
            }),
        }
    }

    /// What was decrypted, if it is one value of this type.
    pub(super) fn framed(kind: ElementType, bytes: &[u8]) -> Option<Plaintext> {
        let length = BEFORE + bytes.len() + AFTER;
        let mut document = Vec::with_capacity(length);
        document.extend_from_slice(&i32::try_from(length).ok()?.to_le_bytes());
        document.extend_from_slice(&[kind as u8, b'v', 0]);
        document.extend_from_slice(bytes);
        document.push(0);
        Plaintext::of(document)
    }

    /// The bytes of a document that is checked to have nothing but one value, and that not nested too deep.
    fn of(document: Vec<u8>) -> Option<Plaintext> {
        let document = Zeroizing::new(document);
        let raw = RawDocument::from_bytes(&document).ok()?;
        let mut fields = raw.iter();
        let (name, value) = fields.next()?.ok()?;
        let (kind, is_field) = (value.element_type(), name == "v");
        if !is_field || fields.next().is_some() {
            return None;
        }
        let checked = Raw::from(raw).into_document().ok()?;
        checked.into_bytes().zeroize();
        Some(Plaintext { document, kind })
    }

    pub(super) fn kind(&self) -> ElementType {
        self.kind
    }

    /// The value's bytes alone.
    pub(super) fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let end = self.document.len() - AFTER;
        Zeroizing::new(self.document.get(BEFORE..end).unwrap_or_default().to_vec())
    }

    /// The value as a Rust value; none if it does not fit. The reason could show the value, so there is none.
    pub(super) fn decode<T: DeserializeOwned>(&self) -> Option<T> {
        let document = RawDocument::from_bytes(&self.document).ok()?;
        let lone: Lone<T> = odm::__private::read_document(document).ok()?;
        Some(lone.v)
    }

    /// The value as it is; none if a text in it is no UTF-8.
    pub(super) fn to_bson(&self) -> Option<Bson> {
        let raw = RawDocument::from_bytes(&self.document).ok()?;
        let value = raw.get("v").ok()??;
        Bson::try_from(value).ok()
    }

    fn value(&self) -> Option<RawBsonRef<'_>> {
        let raw = RawDocument::from_bytes(&self.document).ok()?;
        raw.get("v").ok()?
    }
}

impl fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plaintext({:?}, ..)", self.kind)
    }
}

/// Whether an algorithm takes a value of this type.
///
/// # Errors
/// [`Refused`](EncryptionError::Refused).
pub(super) fn check(value: &Plaintext, algorithm: Algorithm) -> Result<(), EncryptionError> {
    let kind = value.kind();
    let is_refused = match kind {
        ElementType::Null | ElementType::Undefined | ElementType::MinKey | ElementType::MaxKey => true,
        // What is encrypted is not encrypted again.
        ElementType::Binary => matches!(
            value.value(),
            Some(RawBsonRef::Binary(binary)) if binary.subtype == BinarySubtype::Encrypted
        ),
        ElementType::Double
        | ElementType::Decimal128
        | ElementType::Boolean
        | ElementType::EmbeddedDocument
        | ElementType::Array
        | ElementType::JavaScriptCodeWithScope => algorithm == Algorithm::Deterministic,
        _ => false,
    };
    match is_refused {
        true => Err(EncryptionError::Refused { kind, algorithm }),
        false => Ok(()),
    }
}
