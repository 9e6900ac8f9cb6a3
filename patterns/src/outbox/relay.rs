//! Publishing the events of documents.

use std::fmt;
use std::time::Duration;

use odm::bson::{Bson, doc};
use odm::{Collection, Db, Field, Filter, Model, Result, Update};

use super::delivery::{Delivery, Relayed, publish};
use super::emit::Emit;
use super::message::Outbox;
use crate::dotted::value_at;
use crate::later::later;

/// Publishes what waits in the [`Outbox`]es of a collection.
pub struct Relay<M: Model> {
    db: Db,
    collection: Collection<M>,
    outbox: Field<M, Outbox>,
    lease: Duration,
    batch: u32,
    documents: u32,
}

impl<M: Model> Relay<M> {
    /// A relay of these documents: `Relay::new(&db, orders, |o| o.outbox)`.
    pub fn new<F>(db: &Db, collection: Collection<M>, outbox: impl FnOnce(M::Fields<M>) -> F) -> Relay<M>
    where
        F: std::ops::Deref<Target = Field<M, Outbox>>,
    {
        Relay {
            db: db.clone(),
            collection,
            outbox: outbox(M::fields()).clone(),
            lease: Duration::from_secs(60),
            batch: 100,
            documents: 100,
        }
    }

    /// How long it has a document to itself: longer than publishing a batch takes. 60 seconds unless said otherwise.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Relay<M> {
        self.lease = lease;
        self
    }

    /// How many events of a document are published at a time, and are published again after a crash: 100 unless said
    /// otherwise.
    #[must_use]
    pub fn batch(mut self, events: u32) -> Relay<M> {
        self.batch = events.max(1);
        self
    }

    /// Publishes what waits, once through: of each document in order, the document whose oldest event is oldest first,
    /// of up to 100 documents. Call it again while something was delivered, and now and then after that; a change stream
    /// can say when.
    ///
    /// # Errors
    /// Those of the database; what was published and not taken out by then is published again.
    pub async fn run<E, F, Fut>(&self, mut send: F) -> Result<Relayed<E>>
    where
        F: FnMut(Delivery) -> Fut,
        Fut: Future<Output = std::result::Result<(), E>>,
    {
        let mut relayed = Relayed::default();
        let path = self.outbox.path().to_string();
        let free = Filter::raw(doc! { format!("{path}.lease.until"): { "$lte": self.db.now() } });
        let waiting = self
            .collection
            .find(|_| self.outbox.has_events() & free)
            .sort_raw(doc! { format!("{path}.events.at"): 1 })
            .limit(self.documents.into())
            .untyped()
            .await?;
        for document in waiting {
            let id = document.get("_id").cloned().unwrap_or(Bson::Null);
            let stored = value_at(&document, &path).cloned().unwrap_or(Bson::Null);
            let outbox: Outbox = odm::bson::deserialize_from_bson(stored).map_err(|error| {
                odm::Error::new(odm::ErrorKind::Decode, "the outbox cannot be read")
                    .with_id(id.clone())
                    .with_path(path.clone())
                    .with_source(error)
            })?;
            if self.claim(&id, &outbox).await? {
                self.deliver(&id, outbox, &mut send, &mut relayed).await?;
            }
        }
        Ok(relayed)
    }

    /// Takes the lease of a document that is as it was found: then what was found of its events is still their
    /// beginning, because only the holder of a lease takes events out.
    async fn claim(&self, id: &Bson, outbox: &Outbox) -> Result<bool> {
        let path = self.outbox.path();
        let found = doc! {
            "_id": { "$eq": id },
            format!("{path}.lease.token"): outbox.lease.token,
            format!("{path}.lease.until"): { "$lte": self.db.now() },
            format!("{path}.pruned"): outbox.pruned,
        };
        let lease = doc! {
            "$set": { format!("{path}.lease.until"): later(self.db.now(), self.lease) },
            "$inc": { format!("{path}.lease.token"): 1_i64 },
        };
        let update = self
            .collection
            .update_one(|_| Filter::raw(found), |_| Update::raw(lease));
        Ok(update.await?.matched == 1)
    }

    async fn deliver<E, F, Fut>(
        &self,
        id: &Bson,
        mut outbox: Outbox,
        send: &mut F,
        relayed: &mut Relayed<E>,
    ) -> Result<()>
    where
        F: FnMut(Delivery) -> Fut,
        Fut: Future<Output = std::result::Result<(), E>>,
    {
        let source = format!("{}/{id}", self.collection.name());
        outbox
            .events
            .truncate(usize::try_from(self.batch).unwrap_or(usize::MAX));
        let deliveries = outbox
            .events
            .iter()
            .zip(outbox.pruned + 1..)
            .map(|(event, sequence)| Delivery {
                source: source.clone(),
                sequence,
                at: event.at,
                kind: event.kind.clone(),
                data: event.data.clone(),
            });
        let done = publish(deliveries.collect(), send, relayed)
            .await
            .min(outbox.events.len());
        let ids: Vec<Bson> = outbox.events[..done]
            .iter()
            .map(|event| event.id.into())
            .collect();
        let path = self.outbox.path();
        let mine = doc! {
            "_id": { "$eq": id },
            format!("{path}.lease.token"): outbox.lease.token + 1,
            format!("{path}.pruned"): outbox.pruned,
        };
        let delivered = i64::try_from(done).unwrap_or(i64::MAX);
        let mut taken = doc! { "$set": { format!("{path}.lease.until"): self.db.now() } };
        if done > 0 {
            taken.insert("$inc", doc! { format!("{path}.pruned"): delivered });
            taken.insert(
                "$pull",
                doc! { format!("{path}.events"): { "id": { "$in": ids } } },
            );
        }
        let update = self
            .collection
            .update_one(|_| Filter::raw(mine), |_| Update::raw(taken));
        match update.await?.matched {
            1 => relayed.delivered += delivered.unsigned_abs(),
            _ => relayed.lost.push(source),
        }
        Ok(())
    }
}

impl<M: Model> fmt::Debug for Relay<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay")
            .field("collection", &self.collection)
            .field("outbox", &self.outbox)
            .field("lease", &self.lease)
            .finish()
    }
}
