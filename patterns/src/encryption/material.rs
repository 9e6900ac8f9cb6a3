//! The secret bytes of keys.

use std::fmt;

use zeroize::Zeroizing;

use super::EncryptionError;
use super::error::invalid;

/// How many bytes a key has: 32 for the HMAC, 32 for AES, 32 for the initialization vectors of deterministic values.
pub(super) const LENGTH: usize = 96;

/// The 96 secret bytes of a key. Overwritten when dropped; `Debug` does not show them.
///
/// ```
/// use odm_patterns::encryption::KeyMaterial;
///
/// let material = KeyMaterial::generate()?;
/// assert_eq!(format!("{material:?}"), "KeyMaterial(..)");
/// assert!(KeyMaterial::from_slice(b"too short").is_err());
/// # Ok::<(), odm_patterns::encryption::EncryptionError>(())
/// ```
#[derive(Clone)]
pub struct KeyMaterial(Box<Zeroizing<Parts>>);

/// Three keys of 32 bytes.
type Parts = [[u8; 32]; 3];

impl KeyMaterial {
    /// A copy of these bytes.
    ///
    /// # Errors
    /// `InvalidArgument` unless there are 96.
    pub fn from_slice(bytes: &[u8]) -> Result<KeyMaterial, EncryptionError> {
        if bytes.len() != LENGTH {
            return Err(invalid("a key has 96 bytes"));
        }
        let mut own = KeyMaterial::zeros();
        own.0.as_flattened_mut().copy_from_slice(bytes);
        Ok(own)
    }

    /// New bytes from the operating system's source of randomness.
    ///
    /// # Errors
    /// [`NoRandomness`](EncryptionError::NoRandomness).
    pub fn generate() -> Result<KeyMaterial, EncryptionError> {
        let mut own = KeyMaterial::zeros();
        getrandom::fill(own.0.as_flattened_mut()).map_err(|_| EncryptionError::NoRandomness)?;
        Ok(own)
    }

    fn zeros() -> KeyMaterial {
        KeyMaterial(Box::new(Zeroizing::new([[0; 32]; 3])))
    }

    /// The secret itself: to be stored where secrets are, never to be written into a log.
    pub fn expose(&self) -> &[u8] {
        self.0.as_flattened()
    }

    /// The keys of the HMAC, of the cipher, and of initialization vectors.
    pub(super) fn parts(&self) -> &Parts {
        &self.0
    }
}

impl From<[u8; LENGTH]> for KeyMaterial {
    /// A copy of these bytes; those that are given are not overwritten.
    fn from(bytes: [u8; LENGTH]) -> KeyMaterial {
        let mut own = KeyMaterial::zeros();
        own.0.as_flattened_mut().copy_from_slice(&bytes);
        own
    }
}

impl fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyMaterial(..)")
    }
}
