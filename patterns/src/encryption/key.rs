//! Which key is meant.

use std::fmt;

use odm::bson::Uuid;

use super::StoredKey;

/// A key of a vault: by its id, or by one of its names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyRef {
    /// By its id.
    Id(Uuid),
    /// By one of its names.
    Name(String),
}

impl fmt::Display for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyRef::Id(id) => id.fmt(f),
            KeyRef::Name(name) => f.pad(name),
        }
    }
}

impl From<Uuid> for KeyRef {
    fn from(id: Uuid) -> KeyRef {
        KeyRef::Id(id)
    }
}

impl From<&Uuid> for KeyRef {
    fn from(id: &Uuid) -> KeyRef {
        KeyRef::Id(*id)
    }
}

impl From<&str> for KeyRef {
    fn from(name: &str) -> KeyRef {
        KeyRef::Name(name.to_owned())
    }
}

impl From<String> for KeyRef {
    fn from(name: String) -> KeyRef {
        KeyRef::Name(name)
    }
}

impl From<&String> for KeyRef {
    fn from(name: &String) -> KeyRef {
        KeyRef::Name(name.clone())
    }
}

impl From<&StoredKey> for KeyRef {
    fn from(key: &StoredKey) -> KeyRef {
        KeyRef::Id(key.id)
    }
}

impl From<&KeyRef> for KeyRef {
    fn from(key: &KeyRef) -> KeyRef {
        key.clone()
    }
}
