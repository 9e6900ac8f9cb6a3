//! `uuid::Uuid`, stored as binary of subtype 4.

use ::uuid::Uuid;

use super::leaf::{Leaf, leaves};
use crate::model::Ordered;

impl Leaf for Uuid {
    type Stored = bson::Uuid;

    fn store(&self) -> Result<bson::Uuid, String> {
        Ok(bson::Uuid::from_bytes(self.into_bytes()))
    }

    fn load(stored: bson::Uuid) -> Result<Uuid, String> {
        Ok(Uuid::from_bytes(stored.bytes()))
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
