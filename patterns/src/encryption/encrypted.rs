//! Encrypted values as fields of models.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use odm::bson::spec::{BinarySubtype, ElementType};
use odm::bson::{Binary, Bson, Uuid};
use odm::{Field, FieldType, IdType};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::blob::Blob;
use super::{Algorithm, Deterministic, EncryptionError, Mode, Random};

/// A value of type `T` that is encrypted, as it is stored: a binary of subtype 6.
///
/// Made by [`KeyVault::encrypt`](super::KeyVault::encrypt), read by [`KeyVault::decrypt`](super::KeyVault::decrypt). It
/// says which key and which type of BSON it is of, and nothing of the value.
///
/// Two [`Deterministic`] ones are equal if key, type and value are: such a field can be compared by `eq` and `is_in`, be
/// `unique`, and be an `_id`. Two [`Random`] ones are never equal unless one is a copy of the other: `eq` says whether a
/// field still has this very ciphertext. Neither has an order.
///
/// A stored value that is not encrypted, or by the other algorithm, is an error of kind `Decode` when the document is
/// read; it names the field.
///
/// ```
/// use odm::{Db, Model};
/// use odm_patterns::encryption::{Deterministic, Encrypted, KeyVault, LocalKey};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Patient {
///     #[serde(rename = "_id")]
///     id: i32,
///     #[odm(unique)]
///     ssn: Encrypted<String, Deterministic>,
///     notes: Option<Encrypted<Vec<String>>>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let db = Db::open("memory:").await?;
/// # let vault = KeyVault::new(&db, LocalKey::generate()?);
/// let key = vault.create_key().await?;
/// let patients = db.collection::<Patient>();
/// let ssn = vault.encrypt(key, "457-55-5462").await?;
/// let notes = Some(vault.encrypt(key, ["allergic to penicillin".to_owned()]).await?);
/// patients.insert(Patient { id: 1, ssn, notes }).await?;
///
/// let ssn: Encrypted<String, Deterministic> = vault.encrypt(key, "457-55-5462").await?;
/// let found = patients.find_one(|p| p.ssn.eq(&ssn)).await?.unwrap();
/// assert_eq!(vault.decrypt(&found.ssn).await?, "457-55-5462");
/// assert_eq!((ssn.key(), ssn.to_string().contains("5462")), (key, false));
/// # Ok(())
/// # }
/// ```
pub struct Encrypted<T, A: Mode = Random> {
    binary: Binary,
    marker: PhantomData<fn() -> (T, A)>,
}

impl<T, A: Mode> Encrypted<T, A> {
    /// What is stored, as a typed value. Whether a key can decrypt it is not looked at.
    ///
    /// # Errors
    /// [`NotEncrypted`](EncryptionError::NotEncrypted), [`Truncated`](EncryptionError::Truncated),
    /// [`UnknownAlgorithm`](EncryptionError::UnknownAlgorithm), [`OtherAlgorithm`](EncryptionError::OtherAlgorithm).
    pub fn from_binary(binary: Binary) -> Result<Encrypted<T, A>, EncryptionError> {
        let found = Blob::of(&binary)?.algorithm;
        match found == A::ALGORITHM {
            true => Ok(Encrypted::new(binary)),
            false => Err(EncryptionError::OtherAlgorithm {
                expected: A::ALGORITHM,
                found,
            }),
        }
    }

    /// Of a binary that is one of this algorithm.
    pub(super) fn new(binary: Binary) -> Encrypted<T, A> {
        Encrypted {
            binary,
            marker: PhantomData,
        }
    }

    /// What is stored.
    pub fn as_binary(&self) -> &Binary {
        &self.binary
    }

    /// What is stored.
    pub fn into_binary(self) -> Binary {
        self.binary
    }

    /// The id of the key.
    pub fn key(&self) -> Uuid {
        Blob::of(&self.binary).map_or(Uuid::from_bytes([0; 16]), |blob| blob.key)
    }

    /// The BSON type of the value.
    pub fn kind(&self) -> ElementType {
        Blob::of(&self.binary).map_or(ElementType::Undefined, |blob| blob.kind)
    }

    /// How it is encrypted.
    pub fn algorithm(&self) -> Algorithm {
        A::ALGORITHM
    }
}

impl<T, A: Mode> fmt::Display for Encrypted<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} encrypted by the key {}", self.kind(), self.key())
    }
}

impl<T, A: Mode> fmt::Debug for Encrypted<T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encrypted")
            .field("algorithm", &A::ALGORITHM)
            .field("key", &self.key().to_string())
            .field("kind", &self.kind())
            .field("bytes", &self.binary.bytes.len())
            .finish()
    }
}

impl<T, A: Mode> Clone for Encrypted<T, A> {
    fn clone(&self) -> Encrypted<T, A> {
        Encrypted::new(self.binary.clone())
    }
}

impl<T, A: Mode> PartialEq for Encrypted<T, A> {
    fn eq(&self, other: &Encrypted<T, A>) -> bool {
        self.binary == other.binary
    }
}

impl<T, A: Mode> Eq for Encrypted<T, A> {}

impl<T, A: Mode> Hash for Encrypted<T, A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.binary.bytes.hash(state);
    }
}

impl<T, A: Mode> From<Encrypted<T, A>> for Bson {
    fn from(encrypted: Encrypted<T, A>) -> Bson {
        Bson::Binary(encrypted.binary)
    }
}

impl<T, A: Mode> Serialize for Encrypted<T, A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.binary.serialize(serializer)
    }
}

impl<'de, T, A: Mode> Deserialize<'de> for Encrypted<T, A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Encrypted<T, A>, D::Error> {
        let found = match Bson::deserialize(deserializer)? {
            Bson::Binary(binary) if binary.subtype == BinarySubtype::Encrypted => {
                return Encrypted::from_binary(binary).map_err(D::Error::custom);
            }
            other => EncryptionError::not_encrypted(&other),
        };
        // Not the value itself: it may be what should have been encrypted.
        Err(D::Error::custom(found))
    }
}

impl<T, A: Mode> FieldType for Encrypted<T, A> {
    type Handle<R> = Field<R, Encrypted<T, A>>;
    type Optional<R> = Field<R, Option<Encrypted<T, A>>>;
}

impl<T> IdType for Encrypted<T, Deterministic> {}
