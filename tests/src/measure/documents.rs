//! The documents that the engine is measured with.

use bson::DateTime;
use odm::Model;
use serde::{Deserialize, Serialize};

/// A document of about 250 bytes with one index besides that of its `_id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "things")]
pub struct Thing {
    #[serde(rename = "_id")]
    pub id: i64,
    pub name: String,
    pub city: String,
    pub tags: Vec<String>,
    #[odm(index)]
    pub rank: i64,
    pub price: f64,
    pub active: bool,
    pub created: DateTime,
    pub note: Option<String>,
    pub count: i64,
    pub last: i64,
}

impl Thing {
    /// The thing of this id.
    pub fn new(id: i64) -> Thing {
        Thing {
            id,
            name: format!("thing number {id:08}"),
            city: "Kristiansund".to_owned(),
            tags: vec!["copper".to_owned(), "polished".to_owned()],
            rank: id.wrapping_mul(0x9E37_79B1) & 0xFFFF_FFFF,
            price: id as f64 / 100.0,
            active: id % 3 != 0,
            created: DateTime::from_millis(1_700_000_000_000 + id),
            note: Some("kept in the second drawer from above, left".to_owned()),
            count: 0,
            last: id,
        }
    }

    /// Things of consecutive ids.
    pub fn several(first: i64, count: usize) -> Vec<Thing> {
        (first..).take(count).map(Thing::new).collect()
    }
}

/// A job in a queue: claimed by the first that finds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "jobs")]
#[odm(index(keys(state, due)))]
pub struct Job {
    #[serde(rename = "_id")]
    pub id: i64,
    pub state: String,
    pub due: i64,
    pub tries: i32,
    pub payload: String,
}

impl Job {
    /// A job that is ready.
    pub fn ready(id: i64) -> Job {
        Job {
            id,
            state: "ready".to_owned(),
            due: 1_700_000_000_000 + id,
            tries: 0,
            payload: "send the letter of confirmation to the subscriber".to_owned(),
        }
    }
}
