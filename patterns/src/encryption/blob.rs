//! Encrypted values as they are stored: binaries of subtype 6, as
//! [specified](https://github.com/mongodb/specifications/blob/master/source/bson-binary-encrypted/binary-encrypted.md).

use odm::bson::spec::{BinarySubtype, ElementType};
use odm::bson::{Binary, Bson, Uuid};
use zeroize::Zeroizing;

use super::aead;
use super::material::KeyMaterial;
use super::plaintext::{self, Plaintext};
use super::{Algorithm, EncryptionError};

/// The algorithm, the id of the key, the type of the value: stored before what is sealed, and associated with it.
const HEAD: usize = 18;

/// An encrypted value, taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blob<'b> {
    pub(super) algorithm: Algorithm,
    pub(super) key: Uuid,
    pub(super) kind: ElementType,
    head: &'b [u8; HEAD],
    sealed: &'b [u8],
}

impl<'b> Blob<'b> {
    /// Takes a binary apart.
    ///
    /// # Errors
    /// [`NotEncrypted`](EncryptionError::NotEncrypted), [`UnknownAlgorithm`](EncryptionError::UnknownAlgorithm),
    /// [`Truncated`](EncryptionError::Truncated), [`Damaged`](EncryptionError::Damaged) for a type that there is not.
    pub(super) fn of(binary: &'b Binary) -> Result<Blob<'b>, EncryptionError> {
        if binary.subtype != BinarySubtype::Encrypted {
            return Err(EncryptionError::NotEncrypted {
                found: "binary of another subtype",
            });
        }
        let bytes = &binary.bytes;
        let length = bytes.len();
        let truncated = EncryptionError::Truncated { length };
        let Some(byte) = bytes.first() else {
            return Err(truncated);
        };
        let Some(algorithm) = Algorithm::of_byte(*byte) else {
            return Err(EncryptionError::UnknownAlgorithm { algorithm: *byte });
        };
        let Some((head, sealed)) = bytes.split_first_chunk::<HEAD>() else {
            return Err(truncated);
        };
        if sealed.len() < aead::LEAST {
            return Err(truncated);
        }
        let [_, id @ .., kind] = head;
        let key = Uuid::from_bytes(*id);
        let Some(kind) = ElementType::from(*kind) else {
            return Err(EncryptionError::Damaged { key });
        };
        Ok(Blob {
            algorithm,
            key,
            kind,
            head,
            sealed,
        })
    }

    /// Whether a value is what [`of`](Blob::of) takes for a value that it can decrypt. Others of subtype 6 are those of
    /// other algorithms.
    pub(super) fn is_one(value: &Bson) -> bool {
        matches!(value, Bson::Binary(binary) if binary.subtype == BinarySubtype::Encrypted
            && binary.bytes.first().is_some_and(|byte| Algorithm::of_byte(*byte).is_some()))
    }

    /// The value that was encrypted.
    ///
    /// # Errors
    /// [`Damaged`](EncryptionError::Damaged).
    pub(super) fn open(&self, material: &KeyMaterial) -> Result<Plaintext, EncryptionError> {
        let bytes = aead::open(material, self.head, self.sealed);
        let value = bytes.and_then(|bytes| Plaintext::framed(self.kind, &bytes));
        value.ok_or(EncryptionError::Damaged { key: self.key })
    }
}

/// Encrypts a value.
///
/// # Errors
/// [`Refused`](EncryptionError::Refused) for a type that the algorithm does not take.
pub(super) fn seal(
    key: Uuid,
    material: &KeyMaterial,
    algorithm: Algorithm,
    value: &Plaintext,
) -> Result<Binary, EncryptionError> {
    let kind = value.kind();
    plaintext::check(value, algorithm)?;
    let mut head = [0; HEAD];
    let [first, id @ .., last] = &mut head;
    (*first, *id, *last) = (algorithm.byte(), key.bytes(), kind as u8);
    let plain: Zeroizing<Vec<u8>> = value.bytes();
    let sealed = match algorithm {
        Algorithm::Deterministic => aead::seal_deterministic(material, &head, &plain),
        Algorithm::Random => aead::seal_random(material, &head, &plain)?,
    };
    let mut bytes = Vec::with_capacity(HEAD + sealed.len());
    bytes.extend_from_slice(&head);
    bytes.extend_from_slice(&sealed);
    Ok(Binary {
        subtype: BinarySubtype::Encrypted,
        bytes,
    })
}
