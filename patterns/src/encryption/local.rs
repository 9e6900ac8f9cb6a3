//! A master key that the program holds.

use odm::bson::Document;

use super::error::invalid;
use super::{EncryptionError, KeyMaterial, MasterKey, MasterKeyError, aead};

/// A master key of 96 bytes that the program holds: provider `local` of every driver. Keep it where secrets are kept, and
/// not in the database: whoever has both reads everything.
///
/// ```
/// use odm_patterns::encryption::LocalKey;
///
/// # let read_from_the_secret_store = || vec![7; 96];
/// let master = LocalKey::from_slice(&read_from_the_secret_store())?;
/// assert_eq!(format!("{master:?}"), r#"LocalKey { provider: "local", material: KeyMaterial(..) }"#);
/// # Ok::<(), odm_patterns::encryption::EncryptionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LocalKey {
    provider: String,
    material: KeyMaterial,
}

impl LocalKey {
    /// The master key of these bytes.
    pub fn new(material: KeyMaterial) -> LocalKey {
        LocalKey {
            provider: "local".to_owned(),
            material,
        }
    }

    /// The master key of a copy of these bytes.
    ///
    /// # Errors
    /// `InvalidArgument` unless there are 96.
    pub fn from_slice(bytes: &[u8]) -> Result<LocalKey, EncryptionError> {
        KeyMaterial::from_slice(bytes).map(LocalKey::new)
    }

    /// A new master key: for tests, or to be [stored](LocalKey::material) where secrets are.
    ///
    /// # Errors
    /// [`NoRandomness`](EncryptionError::NoRandomness).
    pub fn generate() -> Result<LocalKey, EncryptionError> {
        KeyMaterial::generate().map(LocalKey::new)
    }

    /// One of several: the provider is `local:name`, as drivers have it.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is empty or has anything but letters, digits and `_` of ASCII.
    pub fn named(mut self, name: &str) -> Result<LocalKey, EncryptionError> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_name) {
            return Err(invalid("a provider's name has letters, digits and underscores"));
        }
        self.provider = format!("local:{name}");
        Ok(self)
    }

    /// The secret itself.
    pub fn material(&self) -> &KeyMaterial {
        &self.material
    }
}

impl MasterKey for LocalKey {
    fn provider(&self) -> &str {
        &self.provider
    }

    async fn wrap(&self, material: &KeyMaterial) -> Result<Vec<u8>, MasterKeyError> {
        Ok(aead::seal_random(&self.material, &[], material.expose())?)
    }

    async fn unwrap(&self, wrapped: &[u8], _master_key: &Document) -> Result<KeyMaterial, MasterKeyError> {
        let bytes = aead::open(&self.material, &[], wrapped).ok_or(MasterKeyError::Refused)?;
        KeyMaterial::from_slice(&bytes).map_err(|_| MasterKeyError::Refused)
    }
}
