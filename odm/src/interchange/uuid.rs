//! `uuid::Uuid`, stored as binary of subtype 4.

use ::uuid::Uuid;
use bson::Binary;

use super::leaf::{Leaf, leaves};
use crate::model::Ordered;

impl Leaf for Uuid {
    /// Not `bson::Uuid`, which also reads texts that filters by UUIDs would not find.
    type Stored = Binary;

    fn store(&self) -> Result<Binary, String> {
        Ok(bson::Uuid::from_bytes(self.into_bytes()).into())
    }

    fn load(stored: Binary) -> Result<Uuid, String> {
        match stored.to_uuid() {
            Ok(uuid) => Ok(Uuid::from_bytes(uuid.bytes())),
            Err(error) => Err(error.to_string()),
        }
    }

    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }

    fn parse(text: &str) -> Option<Result<Uuid, String>> {
        Some(text.parse().map_err(|error: ::uuid::Error| error.to_string()))
    }
}

leaves!(Uuid);

impl Ordered for Uuid {}
