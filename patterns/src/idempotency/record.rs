//! What is stored of a key.

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime};
use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

/// A key in its scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Embedded)]
pub struct KeyId {
    /// What the key is one of: a tenant, an endpoint.
    pub scope: String,
    /// The key, as the client chose it.
    pub key: String,
}

/// A stored key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "idempotency_keys")]
pub struct KeyRecord {
    /// The scope and the key.
    #[serde(rename = "_id")]
    pub id: KeyId,
    /// The SHA-256 of the request.
    pub fingerprint: String,
    /// How often it was permitted. It does not go back while the key is kept.
    pub token: i64,
    /// The permit that can be completed. No two are the same, even if the key was forgotten in between.
    pub permit: ObjectId,
    /// When the permit's lease is over.
    pub until: DateTime,
    /// `{ok: ..}` or `{err: ..}`, when it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Bson>,
    /// When it was begun.
    pub created: DateTime,
    /// When it is forgotten.
    #[odm(index(expire_after = "0s"))]
    pub expires: DateTime,
}
