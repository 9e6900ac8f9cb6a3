//! Unwrapped keys that are at hand: encrypting and decrypting without a round trip.

use std::collections::HashMap;
use std::fmt;

use odm::Operand;
use odm::bson::{Binary, Bson, Document, Uuid};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::blob::{self, Blob};
use super::plaintext::Plaintext;
use super::transform::{decrypt_all, decrypt_serialized};
use super::{Algorithm, Encrypted, EncryptionError, KeyMaterial, KeyRef, Mode};

/// Keys of a [`KeyVault`](super::KeyVault), unwrapped: each operation is done at once, without a round trip. It lasts for
/// as long as it is held; drop it soon, so that deleted keys are gone.
///
/// ```
/// # use odm::Db;
/// # use odm_patterns::encryption::{Deterministic, Encrypted, KeyVault, LocalKey};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let vault = KeyVault::new(&Db::open("memory:").await?, LocalKey::generate()?);
/// vault.create_key().name("cards").await?;
/// vault.create_key().name("notes").await?;
///
/// let keyring = vault.keyring(["cards", "notes"]).await?; // one round trip
/// for number in ["4242 4242", "5555 5555"] {
///     let card: Encrypted<String, Deterministic> = keyring.encrypt("cards", number)?;
///     let note: Encrypted<String> = keyring.encrypt("notes", "expired")?;
///     assert_eq!((keyring.decrypt(&card)?, keyring.decrypt(&note)?), (number.into(), "expired".into()));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Keyring {
    keys: HashMap<Uuid, Result<KeyMaterial, EncryptionError>>,
    names: HashMap<String, Result<Uuid, EncryptionError>>,
}

impl Keyring {
    /// Puts a key on it; or why it cannot be had, to be said when it is used.
    pub(super) fn put(&mut self, id: Uuid, material: Result<KeyMaterial, EncryptionError>) {
        self.keys.insert(id, material);
    }

    pub(super) fn name(&mut self, name: &str, id: Uuid) {
        self.names.insert(name.to_owned(), Ok(id));
    }

    /// Has a name whose key cannot be had, nor its id: why, to be said when it is used.
    pub(super) fn unknown(&mut self, name: &str, error: EncryptionError) {
        self.names.insert(name.to_owned(), Err(error));
    }

    /// The id of a key that is on it.
    pub fn id(&self, key: impl Into<KeyRef>) -> Option<Uuid> {
        match key.into() {
            KeyRef::Id(id) => self.keys.contains_key(&id).then_some(id),
            KeyRef::Name(name) => self.names.get(&name)?.as_ref().ok().copied(),
        }
    }

    fn find(&self, key: KeyRef) -> Result<(Uuid, &KeyMaterial), EncryptionError> {
        let id = match &key {
            KeyRef::Id(id) => Some(id),
            KeyRef::Name(name) => match self.names.get(name) {
                Some(Err(error)) => return Err(error.clone()),
                Some(Ok(id)) => Some(id),
                None => None,
            },
        };
        match id.and_then(|id| Some((id, self.keys.get(id)?))) {
            Some((id, Ok(material))) => Ok((*id, material)),
            Some((_, Err(error))) => Err(error.clone()),
            None => Err(EncryptionError::NoKey { key }),
        }
    }

    /// Encrypts a value.
    ///
    /// # Errors
    /// [`NoKey`](EncryptionError::NoKey) for one that is not on it; [`Refused`](EncryptionError::Refused) for a type that the
    /// algorithm does not take; [`Unfit`](EncryptionError::Unfit); [`NoRandomness`](EncryptionError::NoRandomness).
    pub fn encrypt<T: Serialize, A: Mode>(
        &self,
        key: impl Into<KeyRef>,
        value: impl Operand<T>,
    ) -> Result<Encrypted<T, A>, EncryptionError> {
        let plain = value.with_operand(Plaintext::encode)?;
        self.seal(key.into(), A::ALGORITHM, &plain).map(Encrypted::new)
    }

    /// Encrypts a value of any type.
    ///
    /// # Errors
    /// As [`encrypt`](Keyring::encrypt).
    pub fn encrypt_bson(
        &self,
        key: impl Into<KeyRef>,
        algorithm: Algorithm,
        value: &Bson,
    ) -> Result<Binary, EncryptionError> {
        self.seal(key.into(), algorithm, &Plaintext::encode(value)?)
    }

    pub(super) fn seal(
        &self,
        key: KeyRef,
        algorithm: Algorithm,
        plain: &Plaintext,
    ) -> Result<Binary, EncryptionError> {
        let (id, material) = self.find(key)?;
        blob::seal(id, material, algorithm, plain)
    }

    /// Decrypts a value.
    ///
    /// # Errors
    /// [`NoKey`](EncryptionError::NoKey) for one that is not on it; [`Damaged`](EncryptionError::Damaged);
    /// [`WrongType`](EncryptionError::WrongType) if it is no `T`.
    pub fn decrypt<T: DeserializeOwned, A: Mode>(
        &self,
        encrypted: &Encrypted<T, A>,
    ) -> Result<T, EncryptionError> {
        let plain = self.open(&Blob::of(encrypted.as_binary())?)?;
        plain.decode().ok_or(EncryptionError::WrongType {
            expected: std::any::type_name::<T>(),
            found: plain.kind(),
        })
    }

    /// Decrypts a stored value, by either algorithm.
    ///
    /// # Errors
    /// As [`decrypt`](Keyring::decrypt), and [`NotEncrypted`](EncryptionError::NotEncrypted),
    /// [`UnknownAlgorithm`](EncryptionError::UnknownAlgorithm), [`Truncated`](EncryptionError::Truncated).
    pub fn decrypt_bson(&self, encrypted: &Bson) -> Result<Bson, EncryptionError> {
        let Bson::Binary(binary) = encrypted else {
            return Err(EncryptionError::not_encrypted(encrypted));
        };
        let blob = Blob::of(binary)?;
        self.open(&blob)?
            .to_bson()
            .ok_or(EncryptionError::Damaged { key: blob.key })
    }

    fn open(&self, blob: &Blob<'_>) -> Result<Plaintext, EncryptionError> {
        let (_, material) = self.find(blob.key.into())?;
        blob.open(material)
    }

    /// The document with all its encrypted values decrypted: see
    /// [`KeyVault::decrypt_document`](super::KeyVault::decrypt_document).
    ///
    /// # Errors
    /// As [`decrypt_bson`](Keyring::decrypt_bson), [`Inside`](EncryptionError::Inside) of the field.
    pub fn decrypt_document(&self, mut document: Document) -> Result<Document, EncryptionError> {
        decrypt_all(self, &mut document)?;
        Ok(document)
    }

    /// A value with encrypted fields as one without: see [`KeyVault::decrypt_as`](super::KeyVault::decrypt_as).
    ///
    /// # Errors
    /// As [`decrypt_document`](Keyring::decrypt_document), and [`WrongType`](EncryptionError::WrongType).
    pub fn decrypt_as<P: DeserializeOwned>(&self, encrypted: &impl Serialize) -> Result<P, EncryptionError> {
        decrypt_serialized(self, Plaintext::document(encrypted)?)
    }
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> = self.keys.keys().map(Uuid::to_string).collect();
        f.debug_struct("Keyring").field("keys", &ids).finish()
    }
}
