//! Keys as they are stored.

use odm::Model;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, DateTime, Document, Uuid};
use serde::{Deserialize, Serialize};

/// A key as the vault has it: wrapped by a master key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "__keyVault")]
#[odm(index(keys(names), name = "keyAltNames_1", unique, partial = |k| k.names.exists()))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StoredKey {
    /// Its id, which each value that it encrypts carries.
    #[serde(rename = "_id")]
    pub id: Uuid,
    /// Its names. Each is one key's.
    #[serde(rename = "keyAltNames", default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Its bytes, wrapped by the master key.
    #[serde(rename = "keyMaterial")]
    pub wrapped: Binary,
    /// When it was made, by [`Db::now`](odm::Db::now).
    pub creation_date: DateTime,
    /// When it was made, or wrapped anew.
    pub update_date: DateTime,
    /// 0: in use. No driver looks at it.
    pub status: i32,
    /// Which master key wrapped it: the provider, and what that needs to know.
    pub master_key: Document,
    /// Of whatever else writes keys; never written here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
}

impl StoredKey {
    pub(super) fn new(
        names: Vec<String>,
        wrapped: Vec<u8>,
        master_key: Document,
        now: DateTime,
    ) -> StoredKey {
        StoredKey {
            id: Uuid::new(),
            names: Some(names).filter(|names| !names.is_empty()),
            wrapped: binary(wrapped),
            creation_date: now,
            update_date: now,
            status: 0,
            master_key,
            version: None,
        }
    }

    /// The provider of the master key that wrapped it: `local`, `aws`, ...
    pub fn provider(&self) -> &str {
        self.master_key.get_str("provider").unwrap_or_default()
    }

    /// Whether it has this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.names.iter().flatten().any(|own| own == name)
    }
}

pub(super) fn binary(bytes: Vec<u8>) -> Binary {
    Binary {
        subtype: BinarySubtype::Generic,
        bytes,
    }
}
