//! How values are encrypted.

use std::fmt;
use std::str::FromStr;

use odm::Error;

use super::EncryptionError;
use super::error::invalid;

/// How a value is encrypted: AES-256 in CBC mode, with an HMAC of SHA-512 over everything.
///
/// ```
/// use odm_patterns::encryption::Algorithm;
///
/// let algorithm: Algorithm = "AEAD_AES_256_CBC_HMAC_SHA_512-Random".parse()?;
/// assert_eq!(algorithm, Algorithm::Random);
/// # Ok::<(), odm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Equal values of one key have equal ciphertexts: they are found by equality, can be unique and can be counted, and
    /// whoever sees the ciphertexts sees which are equal.
    Deterministic,
    /// Each ciphertext is another one: nothing but length and type is seen of it, and nothing is found by it.
    Random,
}

impl Algorithm {
    /// Its name, as drivers have it.
    pub fn name(&self) -> &'static str {
        match self {
            Algorithm::Deterministic => "AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic",
            Algorithm::Random => "AEAD_AES_256_CBC_HMAC_SHA_512-Random",
        }
    }

    /// The first byte of its blobs.
    pub(super) fn byte(self) -> u8 {
        match self {
            Algorithm::Deterministic => 1,
            Algorithm::Random => 2,
        }
    }

    pub(super) fn of_byte(byte: u8) -> Option<Algorithm> {
        match byte {
            1 => Some(Algorithm::Deterministic),
            2 => Some(Algorithm::Random),
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    /// Reads the [name](Algorithm::name); any other is an error of kind `InvalidArgument`.
    fn from_str(name: &str) -> Result<Algorithm, Error> {
        [Algorithm::Deterministic, Algorithm::Random]
            .into_iter()
            .find(|algorithm| algorithm.name() == name)
            .ok_or_else(|| match invalid("there is no such algorithm of encryption") {
                EncryptionError::Database(error) => error.with_note("algorithm", name),
                other => other.into(),
            })
    }
}

/// An [`Algorithm`] as a type: [`Random`] or [`Deterministic`].
pub trait Mode: sealed::Mode {
    /// Which.
    const ALGORITHM: Algorithm;
}

mod sealed {
    pub trait Mode {}
}

/// [`Algorithm::Random`] as the type of a field's encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Random;

/// [`Algorithm::Deterministic`] as the type of a field's encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Deterministic;

impl sealed::Mode for Random {}
impl sealed::Mode for Deterministic {}

impl Mode for Random {
    const ALGORITHM: Algorithm = Algorithm::Random;
}

impl Mode for Deterministic {
    const ALGORITHM: Algorithm = Algorithm::Deterministic;
}
