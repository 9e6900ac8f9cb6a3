//! Events as they are published.

use odm::bson::{Bson, DateTime};
use odm::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;

/// An event on its way to whoever consumes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Delivery {
    /// Where it comes from: the collection, the document's `_id` and the id of the first event of its outbox
    /// (`orders/1/6562..`), or the source's name.
    pub source: String,
    /// The `_id` of the document that it comes from; `None` for an event of a log.
    pub document: Option<Bson>,
    /// Which of the source's events it is, counted from 1.
    pub sequence: i64,
    /// Which try of publishing it this is, as far as that is known, counted from 1: to
    /// [give it up](super#giving-an-event-up).
    pub attempt: u32,
    /// When it happened.
    pub at: DateTime,
    /// What happened.
    pub kind: String,
    /// The rest.
    pub data: Bson,
}

impl Delivery {
    /// The data by their type.
    ///
    /// # Errors
    /// `Decode` when they are none of this type.
    pub fn data<T: DeserializeOwned>(&self) -> Result<T> {
        odm::bson::deserialize_from_bson(self.data.clone()).map_err(|error| {
            Error::new(ErrorKind::Decode, "the event's data do not fit their type")
                .with_path("data")
                .with_source(error)
        })
    }
}

/// What a relay did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Relayed<E> {
    /// How many events were published, and are known to be.
    pub delivered: u64,
    /// The sources whose lease was lost while their events were published; whoever has it publishes them again.
    pub lost: Vec<String>,
    /// The sources of which an event could not be published, and why. It is tried again after a pause, before those
    /// behind it.
    pub failed: Vec<(String, E)>,
}

impl<E> Default for Relayed<E> {
    fn default() -> Relayed<E> {
        Relayed {
            delivered: 0,
            lost: Vec::new(),
            failed: Vec::new(),
        }
    }
}

/// Publishes in order up to the first failure; gives how many went well.
pub(super) async fn publish<E, F, Fut>(
    deliveries: Vec<Delivery>,
    publish: &mut F,
    relayed: &mut Relayed<E>,
) -> usize
where
    F: FnMut(Delivery) -> Fut,
    Fut: Future<Output = std::result::Result<(), E>>,
{
    for (done, delivery) in deliveries.into_iter().enumerate() {
        let source = delivery.source.clone();
        if let Err(error) = publish(delivery).await {
            relayed.failed.push((source, error));
            return done;
        }
    }
    usize::MAX
}
