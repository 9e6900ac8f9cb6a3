//! Making keys.

use std::future::IntoFuture;
use std::pin::Pin;

use odm::bson::Uuid;

use super::{EncryptionError, KeyMaterial, KeyVault, StoredKey};

/// A key that is to be made: `.await` gives its id. One round trip; two more for the first of a handle, to make the index.
///
/// # Errors
/// `DuplicateKey` of the [database](EncryptionError::Database) when another key has one of the names;
/// [`Master`](EncryptionError::Master).
///
/// ```
/// # use odm::Db;
/// # use odm_patterns::encryption::{KeyMaterial, KeyVault, LocalKey};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let vault = KeyVault::new(&Db::open("memory:").await?, LocalKey::generate()?);
/// let key = vault.create_key().name("patients").name("people").await?;
/// assert_eq!(vault.key_by_name("people").await?.unwrap().id, key);
/// let error = vault.create_key().name("people").await.unwrap_err();
/// assert_eq!(error.kind(), odm::ErrorKind::DuplicateKey);
///
/// // With bytes that are known elsewhere too.
/// vault.create_key().material(KeyMaterial::from([7; 96])).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use = "no key is made before `.await`"]
pub struct CreateKey {
    vault: KeyVault,
    names: Vec<String>,
    material: Option<KeyMaterial>,
}

impl CreateKey {
    pub(super) fn new(vault: &KeyVault) -> CreateKey {
        CreateKey {
            vault: vault.clone(),
            names: Vec::new(),
            material: None,
        }
    }

    /// Gives it a name, or one more.
    pub fn name(mut self, name: impl Into<String>) -> CreateKey {
        let name = name.into();
        if !self.names.contains(&name) {
            self.names.push(name);
        }
        self
    }

    /// Gives it these bytes; random ones unless said otherwise.
    pub fn material(mut self, material: KeyMaterial) -> CreateKey {
        self.material = Some(material);
        self
    }

    async fn run(self) -> Result<Uuid, EncryptionError> {
        let material = match self.material {
            Some(material) => material,
            None => KeyMaterial::generate()?,
        };
        let master = self.vault.master();
        let wrapped = master.wrap(&material).await;
        let wrapped = wrapped.map_err(|error| self.vault.failed(None, error))?;
        self.vault.prepare().await?;
        let key = StoredKey::new(self.names, wrapped, master.stored(), self.vault.now());
        Ok(self.vault.keys().insert(&key).await?)
    }
}

impl IntoFuture for CreateKey {
    type Output = Result<Uuid, EncryptionError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
