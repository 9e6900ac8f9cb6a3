//! Encrypting and decrypting by the keys of a vault.

use std::collections::HashSet;

use odm::Operand;
use odm::bson::{Binary, Bson, Document, Uuid};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::blob::Blob;
use super::plaintext::Plaintext;
use super::transform::{decrypt_serialized, keys_of};
use super::{Algorithm, Encrypted, EncryptionError, KeyRef, KeyVault, Mode};

/// One round trip where a key is not in the cache, and what its master key asks; none otherwise.
impl KeyVault {
    /// Encrypts a value; the type of the result says how. It is encoded as a field of a model is, by its `Serialize`.
    ///
    /// # Errors
    /// [`NoKey`](EncryptionError::NoKey); [`Refused`](EncryptionError::Refused) for a null (take an `Option` of the encrypted
    /// value), and for a float, decimal, bool, array or document that is to be deterministic.
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm_patterns::encryption::{Deterministic, Encrypted, KeyVault, LocalKey};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let vault = KeyVault::new(&Db::open("memory:").await?, LocalKey::generate()?);
    /// vault.create_key().name("people").await?;
    /// let one: Encrypted<String, Deterministic> = vault.encrypt("people", "Ann").await?;
    /// let two: Encrypted<String, Deterministic> = vault.encrypt("people", "Ann").await?;
    /// assert_eq!(one, two);
    /// let weight: Encrypted<f64> = vault.encrypt("people", 62.5).await?;
    /// assert_eq!(vault.decrypt(&weight).await?, 62.5);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn encrypt<T: Serialize, A: Mode>(
        &self,
        key: impl Into<KeyRef>,
        value: impl Operand<T>,
    ) -> Result<Encrypted<T, A>, EncryptionError> {
        let plain = value.with_operand(Plaintext::encode)?;
        self.seal(key.into(), A::ALGORITHM, plain)
            .await
            .map(Encrypted::new)
    }

    /// Encrypts many values by one key.
    ///
    /// # Errors
    /// As [`encrypt`](KeyVault::encrypt), the first.
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm_patterns::encryption::{Encrypted, KeyVault, LocalKey};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let vault = KeyVault::new(&Db::open("memory:").await?, LocalKey::generate()?);
    /// let key = vault.create_key().await?;
    /// let secrets: Vec<Encrypted<i32>> = vault.encrypt_many(key, [1, 2, 3]).await?;
    /// assert_eq!(vault.decrypt_many(&secrets).await?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn encrypt_many<T: Serialize, A: Mode>(
        &self,
        key: impl Into<KeyRef>,
        values: impl IntoIterator<Item: Operand<T>>,
    ) -> Result<Vec<Encrypted<T, A>>, EncryptionError> {
        let key = key.into();
        let plain = values
            .into_iter()
            .map(|value| value.with_operand(Plaintext::encode));
        let plain = plain.collect::<Result<Vec<_>, _>>()?;
        let keyring = self.keyring([&key]).await?;
        plain
            .iter()
            .map(|plain| keyring.seal(key.clone(), A::ALGORITHM, plain).map(Encrypted::new))
            .collect()
    }

    /// Encrypts a value of any type: `encrypt` of the drivers.
    ///
    /// # Errors
    /// As [`encrypt`](KeyVault::encrypt).
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm::bson::{Bson, doc};
    /// # use odm_patterns::encryption::{Algorithm, KeyVault, LocalKey};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = Db::open("memory:").await?;
    /// # let vault = KeyVault::new(&db, LocalKey::generate()?);
    /// let key = vault.create_key().await?;
    /// let ssn = vault.encrypt_bson(key, Algorithm::Deterministic, &"457-55-5462".into()).await?;
    /// db.raw_collection("people").insert(doc! { "_id": 1, "ssn": &ssn }).await?;
    /// assert_eq!(db.raw_collection("people").count(doc! { "ssn": &ssn }).await?, 1);
    /// assert_eq!(vault.decrypt_bson(&ssn.into()).await?, Bson::from("457-55-5462"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn encrypt_bson(
        &self,
        key: impl Into<KeyRef>,
        algorithm: Algorithm,
        value: &Bson,
    ) -> Result<Binary, EncryptionError> {
        self.seal(key.into(), algorithm, Plaintext::encode(value)?).await
    }

    async fn seal(
        &self,
        key: KeyRef,
        algorithm: Algorithm,
        plain: Plaintext,
    ) -> Result<Binary, EncryptionError> {
        self.keyring([&key]).await?.seal(key, algorithm, &plain)
    }

    /// Decrypts a value.
    ///
    /// # Errors
    /// [`NoKey`](EncryptionError::NoKey) if its key was deleted; [`Damaged`](EncryptionError::Damaged);
    /// [`WrongType`](EncryptionError::WrongType) if what was encrypted is no `T`.
    pub async fn decrypt<T: DeserializeOwned, A: Mode>(
        &self,
        encrypted: &Encrypted<T, A>,
    ) -> Result<T, EncryptionError> {
        self.keyring([encrypted.key()]).await?.decrypt(encrypted)
    }

    /// Decrypts many values; each key is asked for once.
    ///
    /// # Errors
    /// As [`decrypt`](KeyVault::decrypt), the first. To go on behind those whose key was deleted, decrypt one by one by a
    /// [`keyring`](KeyVault::keyring).
    pub async fn decrypt_many<'e, T: DeserializeOwned + 'e, A: Mode + 'e>(
        &self,
        encrypted: impl IntoIterator<Item = &'e Encrypted<T, A>>,
    ) -> Result<Vec<T>, EncryptionError> {
        let encrypted: Vec<_> = encrypted.into_iter().collect();
        let keyring = self
            .keyring(encrypted.iter().map(|encrypted| encrypted.key()))
            .await?;
        encrypted
            .into_iter()
            .map(|encrypted| keyring.decrypt(encrypted))
            .collect()
    }

    /// Decrypts a stored value by whichever algorithm it was encrypted: `decrypt` of the drivers.
    ///
    /// # Errors
    /// As [`decrypt`](KeyVault::decrypt), and [`NotEncrypted`](EncryptionError::NotEncrypted),
    /// [`UnknownAlgorithm`](EncryptionError::UnknownAlgorithm), [`Truncated`](EncryptionError::Truncated).
    pub async fn decrypt_bson(&self, encrypted: &Bson) -> Result<Bson, EncryptionError> {
        let Bson::Binary(binary) = encrypted else {
            return Err(EncryptionError::not_encrypted(encrypted));
        };
        let key = Blob::of(binary)?.key;
        self.keyring([key]).await?.decrypt_bson(encrypted)
    }

    /// The document with all its encrypted values decrypted, in nested documents and arrays too, as drivers do to what
    /// they read with automatic decryption. What was decrypted is not looked into again; what is encrypted by other
    /// algorithms, those of queryable encryption, stays as it is.
    ///
    /// # Errors
    /// As [`decrypt_bson`](KeyVault::decrypt_bson), [`Inside`](EncryptionError::Inside) of the field.
    ///
    /// ```
    /// # use odm::Db;
    /// # use odm::bson::doc;
    /// # use odm_patterns::encryption::{Algorithm, KeyVault, LocalKey};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let db = Db::open("memory:").await?;
    /// # let vault = KeyVault::new(&db, LocalKey::generate()?);
    /// let key = vault.create_key().await?;
    /// let secret = vault.encrypt_bson(key, Algorithm::Random, &7.into()).await?;
    /// let stored = doc! { "_id": 1, "list": [{ "secret": secret }] };
    /// assert_eq!(vault.decrypt_document(stored).await?, doc! { "_id": 1, "list": [{ "secret": 7 }] });
    /// # Ok(())
    /// # }
    /// ```
    pub async fn decrypt_document(&self, mut document: Document) -> Result<Document, EncryptionError> {
        let keys = keys_of(&mut document)?;
        self.keyring(keys).await?.decrypt_document(document)
    }

    /// Many documents at once; each key is asked for once.
    ///
    /// # Errors
    /// As [`decrypt_document`](KeyVault::decrypt_document), the first.
    pub async fn decrypt_documents(
        &self,
        documents: impl IntoIterator<Item = Document>,
    ) -> Result<Vec<Document>, EncryptionError> {
        let (documents, keys) = with_keys(documents.into_iter().map(Ok))?;
        let keyring = self.keyring(keys).await?;
        let documents = documents.into_iter();
        documents
            .map(|document| keyring.decrypt_document(document))
            .collect()
    }

    /// A value with encrypted fields, such as a model, as a value without: `P` has fields of the same stored names.
    ///
    /// # Errors
    /// As [`decrypt_document`](KeyVault::decrypt_document), and [`WrongType`](EncryptionError::WrongType) if it does not
    /// fit.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use odm_patterns::encryption::{Deterministic, Encrypted, KeyVault, LocalKey};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Patient {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     ssn: Encrypted<String, Deterministic>,
    ///     notes: Option<Encrypted<String>>,
    /// }
    ///
    /// #[derive(Debug, PartialEq, Deserialize)]
    /// struct Shown {
    ///     ssn: String,
    ///     notes: Option<String>,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let vault = KeyVault::new(&Db::open("memory:").await?, LocalKey::generate()?);
    /// # let key = vault.create_key().await?;
    /// let patient = Patient { id: 1, ssn: vault.encrypt(key, "457-55-5462").await?, notes: None };
    /// let shown: Shown = vault.decrypt_as(&patient).await?;
    /// assert_eq!(shown, Shown { ssn: "457-55-5462".into(), notes: None });
    /// # Ok(())
    /// # }
    /// ```
    pub async fn decrypt_as<P: DeserializeOwned>(
        &self,
        encrypted: &impl Serialize,
    ) -> Result<P, EncryptionError> {
        let mut document = Plaintext::document(encrypted)?;
        let keys = keys_of(&mut document)?;
        decrypt_serialized(&self.keyring(keys).await?, document)
    }

    /// Many values at once; each key is asked for once.
    ///
    /// # Errors
    /// As [`decrypt_as`](KeyVault::decrypt_as), the first.
    pub async fn decrypt_all_as<P: DeserializeOwned>(
        &self,
        encrypted: impl IntoIterator<Item: Serialize>,
    ) -> Result<Vec<P>, EncryptionError> {
        let documents = encrypted.into_iter().map(|value| Plaintext::document(&value));
        let (documents, keys) = with_keys(documents)?;
        let keyring = self.keyring(keys).await?;
        let documents = documents.into_iter();
        documents
            .map(|document| decrypt_serialized(&keyring, document))
            .collect()
    }
}

/// Documents, and the keys of all that is encrypted in them.
fn with_keys(
    documents: impl Iterator<Item = Result<Document, EncryptionError>>,
) -> Result<(Vec<Document>, HashSet<Uuid>), EncryptionError> {
    let mut documents = documents.collect::<Result<Vec<_>, _>>()?;
    let mut keys = HashSet::new();
    for document in &mut documents {
        keys.extend(keys_of(document)?);
    }
    Ok((documents, keys))
}
