//! Events as they are stored.

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime};
use odm::{Db, Embedded, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// Something that happened, to be published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Message {
    /// What it is known by while it waits.
    pub id: ObjectId,
    /// When it happened.
    pub at: DateTime,
    /// What happened.
    pub kind: String,
    /// The rest, as serde writes it.
    pub data: Bson,
}

impl Message {
    /// An event that happens now.
    ///
    /// # Errors
    /// `Encode` for data that do not fit BSON.
    pub fn new(db: &Db, kind: impl Into<String>, data: &impl Serialize) -> Result<Message> {
        let data = odm::bson::serialize_to_bson(data).map_err(|error| {
            Error::new(ErrorKind::Encode, "the event's data do not fit BSON").with_source(error)
        })?;
        Ok(Message {
            id: ObjectId::new(),
            at: db.now(),
            kind: kind.into(),
            data,
        })
    }
}

/// The events of a document that wait to be published: a field of its model.
///
/// The sequence of the event at place `i` is `pruned + i + 1`: it is given by the update that adds the event, without
/// reading. A document that was stored before its model had an outbox gets one by its first event; for reading it the
/// field of the model needs `#[serde(default)]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Outbox {
    /// How many events were published and taken out.
    #[serde(default)]
    pub pruned: i64,
    /// Which relay is at it.
    #[serde(default)]
    pub lease: Lease,
    /// Those that wait, oldest first.
    #[serde(default)]
    pub events: Vec<Message>,
    /// The id of the first event of all, once a relay has seen it. It tells the events from those of an earlier document
    /// of the same `_id`: a part of their source. Outboxes that were published from before there was this have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<ObjectId>,
}

/// A relay's right to publish the events of a document or source. The token counts the claims and never goes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Lease {
    /// How many claims there were.
    #[serde(default)]
    pub token: i64,
    /// When another relay may claim it: the end of the lease, or of the pause after a failure.
    #[serde(default = "never")]
    pub until: DateTime,
    /// How many claims there were since an event was published last: more than 0 while one fails.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tries: i32,
}

fn never() -> DateTime {
    DateTime::from_millis(0)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(tries: &i32) -> bool {
    *tries == 0
}

impl Default for Lease {
    fn default() -> Lease {
        Lease {
            token: 0,
            until: never(),
            tries: 0,
        }
    }
}
