//! Models that macros of a program make.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use odm::{Db, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    attributes_that_a_macro_passes_on_have_codecs,
}

macro_rules! model {
    ($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty),* $(,)? }) => {
        #[derive(Debug, Clone, Serialize, Deserialize, Model)]
        struct $name {
            #[serde(rename = "_id")]
            id: i32,
            $($(#[$attribute])* $field: $type),*
        }
    };
}

model!(Made {
    #[serde(with = "odm::as_bson")]
    at: SystemTime,
    #[serde(
        serialize_with = "odm::as_bson::serialize",
        deserialize_with = "odm::as_bson::deserialize"
    )]
    again: SystemTime,
});

async fn attributes_that_a_macro_passes_on_have_codecs(db: &Db) {
    let made = db.collection::<Made>();
    let at = UNIX_EPOCH + Duration::from_secs(5);
    made.insert(Made { id: 1, at, again: at }).await.unwrap();
    let found = made.find_one(|m| m.at.eq(at) & m.again.eq(at)).await.unwrap();
    assert_eq!(found.map(|made| made.id), Some(1));
}
