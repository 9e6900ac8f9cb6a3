//! Why a value could not be encrypted or decrypted.

use std::fmt;
use std::sync::Arc;

use odm::bson::spec::ElementType;
use odm::bson::{Bson, Uuid};
use odm::{Error, ErrorKind};

use super::{Algorithm, KeyRef};

/// Why an operation of a [`KeyVault`](super::KeyVault) failed. Neither secrets nor plaintexts are in it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EncryptionError {
    /// The vault has no such key: never had, or it was deleted, and what it encrypted with it.
    NoKey {
        /// Which was asked for.
        key: KeyRef,
    },
    /// The vault was given no master key of the provider that wrapped the key.
    NoMaster {
        /// The id of the key.
        key: Uuid,
        /// The provider.
        provider: String,
    },
    /// No master key of the provider unwraps the key: another one wrapped it, or it is damaged.
    WrongMaster {
        /// The id of the key.
        key: Uuid,
        /// The provider.
        provider: String,
    },
    /// The master key could not be asked.
    Master {
        /// The id of the key; none while one is made.
        key: Option<Uuid>,
        /// The provider.
        provider: String,
        /// Why.
        cause: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The encrypted value is damaged, or was encrypted by other bytes than those of its key.
    Damaged {
        /// The id of the key.
        key: Uuid,
    },
    /// The encrypted value has fewer bytes than any has.
    Truncated {
        /// How many it has.
        length: usize,
    },
    /// The value is not an encrypted one: no binary of subtype 6.
    NotEncrypted {
        /// What it is.
        found: &'static str,
    },
    /// The value is encrypted by an algorithm that is not known here: one of queryable encryption, or a damaged one.
    UnknownAlgorithm {
        /// The first byte.
        algorithm: u8,
    },
    /// The value is encrypted by the other algorithm than its type says.
    OtherAlgorithm {
        /// That of the type.
        expected: Algorithm,
        /// That of the value.
        found: Algorithm,
    },
    /// The algorithm does not take values of this type.
    Refused {
        /// The type.
        kind: ElementType,
        /// The algorithm.
        algorithm: Algorithm,
    },
    /// A value does not fit BSON, or is nested too deep.
    Unfit {
        /// The Rust type.
        of: &'static str,
    },
    /// The decrypted value does not fit the Rust type.
    WrongType {
        /// The Rust type.
        expected: &'static str,
        /// The type of the decrypted value.
        found: ElementType,
    },
    /// The operating system gives no random bytes.
    NoRandomness,
    /// One of these, of a field in a document.
    Inside {
        /// The dotted path of the field.
        path: String,
        /// What.
        error: Box<EncryptionError>,
    },
    /// The database's error.
    Database(Error),
}

impl EncryptionError {
    /// What the error is about, without its fields.
    pub fn message(&self) -> &str {
        match self {
            EncryptionError::NoKey { .. } => "there is no such key in the vault",
            EncryptionError::NoMaster { .. } => "the vault has no master key of this provider",
            EncryptionError::WrongMaster { .. } => "the key was wrapped by another master key, or is damaged",
            EncryptionError::Master { .. } => "the master key could not be asked",
            EncryptionError::Damaged { .. } => "the encrypted value is damaged, or of another key",
            EncryptionError::Truncated { .. } => "the encrypted value is not whole",
            EncryptionError::NotEncrypted { .. } => "the value is not encrypted",
            EncryptionError::UnknownAlgorithm { .. } => "the value is encrypted by an unknown algorithm",
            EncryptionError::OtherAlgorithm { .. } => "the value is encrypted by another algorithm",
            EncryptionError::Refused { .. } => "the algorithm does not take values of this type",
            EncryptionError::Unfit { .. } => "the value does not fit bson",
            EncryptionError::WrongType { .. } => "the decrypted value does not fit the type",
            EncryptionError::NoRandomness => "the operating system gives no random bytes",
            EncryptionError::Inside { error, .. } => error.message(),
            EncryptionError::Database(error) => error.message(),
        }
    }

    /// Whether the key is not in the vault.
    pub fn is_not_found(&self) -> bool {
        self.kind() == ErrorKind::NotFound
    }

    /// Whether what is stored is not what was encrypted, or not by this key.
    pub fn is_damaged(&self) -> bool {
        match self {
            EncryptionError::Damaged { .. }
            | EncryptionError::Truncated { .. }
            | EncryptionError::WrongMaster { .. } => true,
            EncryptionError::Inside { error, .. } => error.is_damaged(),
            _ => false,
        }
    }

    /// What the caller can do, in the words of `odm`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            EncryptionError::NoKey { .. } => ErrorKind::NotFound,
            EncryptionError::NoMaster { .. } => ErrorKind::Unauthorized,
            // Of the cause, if that is one that says it.
            EncryptionError::Master { cause, .. } => {
                let own = cause.downcast_ref::<Error>();
                own.map_or(ErrorKind::Network, Error::kind)
            }
            EncryptionError::WrongMaster { .. }
            | EncryptionError::Damaged { .. }
            | EncryptionError::Truncated { .. } => ErrorKind::Corrupt,
            EncryptionError::NotEncrypted { .. }
            | EncryptionError::OtherAlgorithm { .. }
            | EncryptionError::WrongType { .. } => ErrorKind::Decode,
            EncryptionError::UnknownAlgorithm { .. } => ErrorKind::Unsupported,
            EncryptionError::Refused { .. } => ErrorKind::InvalidArgument,
            EncryptionError::Unfit { .. } => ErrorKind::Encode,
            EncryptionError::NoRandomness => ErrorKind::Io,
            EncryptionError::Inside { error, .. } => error.kind(),
            EncryptionError::Database(error) => error.kind(),
        }
    }

    /// That a value is not an encrypted one.
    pub(super) fn not_encrypted(value: &Bson) -> EncryptionError {
        let found = match value {
            Bson::Binary(_) => "binary of another subtype",
            Bson::String(_) => "string",
            Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Decimal128(_) => "number",
            Bson::Boolean(_) => "bool",
            Bson::Document(_) => "document",
            Bson::Array(_) => "array",
            Bson::DateTime(_) => "date",
            Bson::ObjectId(_) => "object id",
            Bson::Null | Bson::Undefined => "null",
            _ => "value of another type",
        };
        EncryptionError::NotEncrypted { found }
    }

    /// The same, inside of a field or an element.
    pub(super) fn inside(self, name: &str) -> EncryptionError {
        match self {
            EncryptionError::Inside { path, error } => EncryptionError::Inside {
                path: format!("{name}.{path}"),
                error,
            },
            error => EncryptionError::Inside {
                path: name.to_owned(),
                error: Box::new(error),
            },
        }
    }

    /// The same in the words of `odm`, without the cause.
    fn told(&self) -> Error {
        let told = Error::new(self.kind(), self.message().to_owned());
        match self {
            EncryptionError::NoKey { key } => told.with_note("key", key),
            EncryptionError::NoMaster { key, provider } | EncryptionError::WrongMaster { key, provider } => {
                told.with_note("key", key).with_note("provider", provider)
            }
            EncryptionError::Master { key, provider, .. } => {
                let told = match key {
                    Some(key) => told.with_note("key", key),
                    None => told,
                };
                told.with_note("provider", provider)
            }
            EncryptionError::Damaged { key } => told.with_note("key", key),
            EncryptionError::Truncated { length } => told.with_note("length", length),
            EncryptionError::NotEncrypted { found } => told.with_note("found", found),
            EncryptionError::UnknownAlgorithm { algorithm } => told.with_note("algorithm", algorithm),
            EncryptionError::OtherAlgorithm { expected, found } => {
                told.with_note("expected", expected).with_note("found", found)
            }
            EncryptionError::Refused { kind, algorithm } => told
                .with_note("type", format_args!("{kind:?}"))
                .with_note("algorithm", algorithm),
            EncryptionError::Unfit { of } => told.with_note("type", of),
            EncryptionError::WrongType { expected, found } => told
                .with_note("expected", expected)
                .with_note("found", format_args!("{found:?}")),
            EncryptionError::NoRandomness => told,
            EncryptionError::Inside { path, error } => error.told().with_path(path.clone()),
            EncryptionError::Database(error) => error.clone(),
        }
    }
}

/// An argument that cannot be.
pub(super) fn invalid(message: &'static str) -> EncryptionError {
    Error::new(ErrorKind::InvalidArgument, message).into()
}

impl fmt::Display for EncryptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.told().fmt(f)
    }
}

impl std::error::Error for EncryptionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            EncryptionError::Master { cause, .. } => Some(&**cause),
            EncryptionError::Inside { error, .. } => error.source(),
            EncryptionError::Database(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

impl From<Error> for EncryptionError {
    fn from(error: Error) -> EncryptionError {
        EncryptionError::Database(error)
    }
}

/// For bodies of [`Db::transaction`](odm::Db::transaction): the [kind](EncryptionError::kind), with the reason as the
/// source.
impl From<EncryptionError> for Error {
    fn from(error: EncryptionError) -> Error {
        match error {
            EncryptionError::Database(error) => error,
            own => own.told().with_source(own),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_is_kept_in_the_words_of_odm() {
        let key = Uuid::from_bytes([7; 16]);
        let damaged = EncryptionError::Damaged { key };
        let refused = EncryptionError::Refused {
            kind: ElementType::Double,
            algorithm: Algorithm::Deterministic,
        };
        let text = "the encrypted value is damaged, or of another key (field: a.0.b, key: 07070707-0707-0707-0707-070707070707)";
        for (own, text) in [
            (damaged.inside("b").inside("0").inside("a"), text),
            (
                refused,
                "the algorithm does not take values of this type (type: Double, algorithm: \
                 AEAD_AES_256_CBC_HMAC_SHA_512-Deterministic)",
            ),
            (
                EncryptionError::NoKey { key: "ann".into() },
                "there is no such key in the vault (key: ann)",
            ),
        ] {
            assert_eq!(own.to_string(), text);
            let (kind, told) = (own.kind(), Error::from(own));
            assert_eq!((told.to_string().as_str(), told.kind()), (text, kind));
        }
    }
}
