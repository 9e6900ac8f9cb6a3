//! Master keys: what wraps the keys of a vault.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use odm::bson::{Document, doc};

use super::KeyMaterial;

/// What wraps and unwraps the keys of a vault: a [`LocalKey`](super::LocalKey), or a service of yours. The bytes of the
/// master key need not be known to the program.
///
/// `provider` and `details` are stored with each key. Drivers know `aws`, `azure`, `gcp`, `kmip` and `local`, and what
/// each has in its details; write both as they do, and what `wrap` gives too, and the keys are theirs as well.
///
/// ```
/// use odm::Db;
/// use odm::bson::{Document, doc};
/// use odm_patterns::encryption::{KeyMaterial, KeyVault, MasterKey, MasterKeyError};
///
/// /// A service that encrypts and decrypts by a key that it does not give away.
/// struct Service;
///
/// impl Service {
///     async fn encrypt(&self, key: &str, plain: &[u8]) -> std::io::Result<Vec<u8>> {
///         # let _ = key;
///         # Ok(plain.iter().map(|byte| byte ^ 0x55).collect())
///     }
///
///     async fn decrypt(&self, key: &str, sealed: &[u8]) -> std::io::Result<Vec<u8>> {
///         self.encrypt(key, sealed).await
///     }
/// }
///
/// impl MasterKey for Service {
///     fn provider(&self) -> &str {
///         "service"
///     }
///
///     fn details(&self) -> Document {
///         doc! { "key": "patients" }
///     }
///
///     async fn wrap(&self, material: &KeyMaterial) -> Result<Vec<u8>, MasterKeyError> {
///         Ok(self.encrypt("patients", material.expose()).await?)
///     }
///
///     async fn unwrap(&self, wrapped: &[u8], master_key: &Document) -> Result<KeyMaterial, MasterKeyError> {
///         let key = master_key.get_str("key").map_err(|_| MasterKeyError::Refused)?;
///         let plain = self.decrypt(key, wrapped).await?;
///         KeyMaterial::from_slice(&plain).map_err(|_| MasterKeyError::Refused)
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let vault = KeyVault::new(&Db::open("memory:").await?, Service);
/// let key = vault.create_key().await?;
/// let stored = vault.key(key).await?.unwrap();
/// assert_eq!(stored.master_key, doc! { "provider": "service", "key": "patients" });
/// # Ok(())
/// # }
/// ```
pub trait MasterKey: Send + Sync {
    /// Who keeps the master key.
    fn provider(&self) -> &str;

    /// What is stored beside the provider, for [`unwrap`](MasterKey::unwrap) to know which master key it was: a name, a
    /// region. Nothing secret. Nothing unless said otherwise.
    fn details(&self) -> Document {
        Document::new()
    }

    /// Encrypts the bytes of a key.
    ///
    /// # Errors
    /// [`Failed`](MasterKeyError::Failed).
    fn wrap(&self, material: &KeyMaterial) -> impl Future<Output = Result<Vec<u8>, MasterKeyError>> + Send;

    /// Decrypts what a master key of this provider wrapped. `master_key` is what was stored with it: provider and
    /// details. It must notice what it did not wrap, as authenticated encryption does.
    ///
    /// # Errors
    /// [`Refused`](MasterKeyError::Refused) for what another one wrapped; [`Failed`](MasterKeyError::Failed).
    fn unwrap(
        &self,
        wrapped: &[u8],
        master_key: &Document,
    ) -> impl Future<Output = Result<KeyMaterial, MasterKeyError>> + Send;
}

impl<M: MasterKey> MasterKey for Arc<M> {
    fn provider(&self) -> &str {
        (**self).provider()
    }

    fn details(&self) -> Document {
        (**self).details()
    }

    fn wrap(&self, material: &KeyMaterial) -> impl Future<Output = Result<Vec<u8>, MasterKeyError>> + Send {
        (**self).wrap(material)
    }

    fn unwrap(
        &self,
        wrapped: &[u8],
        master_key: &Document,
    ) -> impl Future<Output = Result<KeyMaterial, MasterKeyError>> + Send {
        (**self).unwrap(wrapped, master_key)
    }
}

/// Why a master key did not wrap or unwrap.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MasterKeyError {
    /// It was not wrapped by this master key, or is damaged.
    Refused,
    /// The master key could not be asked.
    Failed(Arc<dyn std::error::Error + Send + Sync>),
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for MasterKeyError {
    fn from(error: E) -> MasterKeyError {
        MasterKeyError::Failed(Arc::new(error))
    }
}

/// A master key of any type.
pub(super) trait AnyMasterKey: Send + Sync {
    fn provider(&self) -> &str;
    /// Provider and details, as they are stored.
    fn stored(&self) -> Document;
    fn wrap<'a>(&'a self, material: &'a KeyMaterial) -> BoxFuture<'a, Result<Vec<u8>, MasterKeyError>>;
    fn unwrap<'a>(
        &'a self,
        wrapped: &'a [u8],
        master_key: &'a Document,
    ) -> BoxFuture<'a, Result<KeyMaterial, MasterKeyError>>;
}

impl<M: MasterKey> AnyMasterKey for M {
    fn provider(&self) -> &str {
        MasterKey::provider(self)
    }

    fn stored(&self) -> Document {
        let mut stored = doc! { "provider": MasterKey::provider(self) };
        let details = self.details().into_iter();
        stored.extend(details.filter(|(name, _)| name != "provider"));
        stored
    }

    fn wrap<'a>(&'a self, material: &'a KeyMaterial) -> BoxFuture<'a, Result<Vec<u8>, MasterKeyError>> {
        Box::pin(MasterKey::wrap(self, material))
    }

    fn unwrap<'a>(
        &'a self,
        wrapped: &'a [u8],
        master_key: &'a Document,
    ) -> BoxFuture<'a, Result<KeyMaterial, MasterKeyError>> {
        Box::pin(MasterKey::unwrap(self, wrapped, master_key))
    }
}

impl fmt::Debug for dyn AnyMasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({:?}, ..)", self.provider())
    }
}
