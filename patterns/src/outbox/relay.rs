//! Publishing the events of documents.

use std::fmt;
use std::time::Duration;

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Field, Filter, Model, Result};

use super::delivery::{Delivery, Relayed, publish};
use super::emit::Emit;
use super::message::Outbox;
use super::pauses::Pauses;
use crate::dotted::value_at;
use crate::keyed::integer;
use crate::later::later;
use crate::numbered::is_too_large;

/// Publishes what waits in the [`Outbox`]es of a collection.
pub struct Relay<M: Model> {
    db: Db,
    collection: Collection<M>,
    outbox: Field<M, Outbox>,
    lease: Duration,
    batch: u32,
    documents: u32,
    pauses: Pauses,
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
            pauses: Pauses::default(),
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

    /// How long a document is left alone whose event could not be published: after the first failure, and at the
    /// most. Each pause is twice as long as the one before it; from 1 second to 10 minutes unless said otherwise.
    #[must_use]
    pub fn pauses(mut self, first: Duration, longest: Duration) -> Relay<M> {
        self.pauses = Pauses::new(first, longest);
        self
    }

    /// Publishes what waits, once through: of each document in order, the document whose oldest event is oldest first,
    /// of up to 100 documents; of softly deleted ones too. Call it again while something was delivered, and now and then
    /// after that; a change stream can say when.
    ///
    /// A document whose event fails has a [pause](Relay::pauses). Where so many have failed that they would fill the 100,
    /// others come beside them.
    ///
    /// # Errors
    /// Those of the database; what was published and not taken out by then is published again. After what could be was
    /// published: `Decode` when an outbox cannot be read, and the database's error when a document (16 MiB) has no room for
    /// the lease.
    pub async fn run<E, F, Fut>(&self, mut send: F) -> Result<Relayed<E>>
    where
        F: FnMut(Delivery) -> Fut,
        Fut: Future<Output = std::result::Result<(), E>>,
    {
        let mut relayed = Relayed::default();
        let path = self.outbox.path().to_string();
        let mut waiting = self.waiting(Filter::all(), 0, self.documents).await?;
        if waiting.len() as u64 >= u64::from(self.documents) {
            // Those that fail are often the oldest: without this they would keep all others away.
            let tries = format!("{path}.lease.tries");
            let failed = waiting.iter().filter(|document| {
                value_at(document, &tries).is_some_and(|tries| integer(tries).is_some_and(|tries| tries > 0))
            });
            let failed = u32::try_from(failed.count()).unwrap_or(u32::MAX);
            if failed > 0 {
                let well = Filter::raw(doc! { tries: { "$not": { "$gt": 0 } } });
                let seen = self.documents.saturating_sub(failed);
                waiting.extend(self.waiting(well, seen, failed).await?);
            }
        }
        let mut passed_over = None;
        for document in waiting {
            let id = document.get("_id").cloned().unwrap_or(Bson::Null);
            let outbox = match self.outbox_in(&document, &id) {
                Ok(outbox) => outbox,
                Err(error) => {
                    passed_over.get_or_insert(error);
                    continue;
                }
            };
            match self.claim(&id, &outbox).await {
                Ok(Some(claimed)) => self.deliver(&id, claimed, &mut send, &mut relayed).await?,
                Ok(None) => {}
                // The oldest would keep all others away. In a transaction the error has ended it.
                Err(error) if is_too_large(&error) && !self.db.in_transaction() => {
                    passed_over.get_or_insert(error.with_model(M::DESCRIPTOR.name).with_id(id));
                }
                Err(error) => return Err(error),
            }
        }
        match passed_over {
            Some(error) => Err(error),
            None => Ok(relayed),
        }
    }

    fn outbox_in(&self, document: &Document, id: &Bson) -> Result<Outbox> {
        let path = self.outbox.path().to_string();
        let stored = value_at(document, &path).cloned().unwrap_or(Bson::Null);
        odm::bson::deserialize_from_bson(stored).map_err(|error| {
            odm::Error::new(odm::ErrorKind::Decode, "the outbox cannot be read")
                .with_model(M::DESCRIPTOR.name)
                .with_id(id.clone())
                .with_path(path)
                .with_source(error)
        })
    }

    /// Documents with events that no relay has, and that have no pause.
    async fn waiting(&self, which: Filter<M>, skip: u32, limit: u32) -> Result<Vec<Document>> {
        let path = self.outbox.path();
        let free = Filter::raw(doc! { format!("{path}.lease.until"): { "$not": { "$gt": self.db.now() } } });
        let found = self
            .collection
            .find(|_| self.outbox.has_events() & free & which)
            .with_deleted()
            .unscoped()
            .sort_raw(doc! { format!("{path}.events.at"): 1 })
            .skip(skip.into())
            .limit(limit.into());
        found.untyped().await
    }

    /// Takes the lease of a document of which nobody has taken events since it was found. Gives the outbox as it is then:
    /// what was found may have been rolled back since by a failover, and what the claim found is as safe as the claim.
    ///
    /// This is no change of the document: it does not count its version, and not the date of its last change.
    async fn claim(&self, id: &Bson, outbox: &Outbox) -> Result<Option<Outbox>> {
        let path = self.outbox.path();
        let now = self.db.now();
        let mut found = doc! {
            "_id": { "$eq": id },
            format!("{path}.lease.token"): known(outbox.lease.token),
            format!("{path}.lease.until"): { "$not": { "$gt": now } },
            format!("{path}.pruned"): known(outbox.pruned),
        };
        let mut set = doc! { format!("{path}.lease.until"): later(now, self.lease) };
        let is_new = outbox.lease.token == 0 && outbox.pruned == 0;
        if is_new && let Some(event) = outbox.events.first() {
            set.insert(format!("{path}.first"), event.id);
            found.insert(format!("{path}.events.0.id"), event.id);
        }
        let count = doc! { format!("{path}.lease.token"): 1_i64, format!("{path}.lease.tries"): 1 };
        let lease = doc! { "$set": set, "$inc": count };
        let claimed = self
            .collection
            .raw()
            .find_one_and_update(found, lease)
            .return_new();
        let claimed = claimed.project_raw(doc! { path.to_string(): 1 }).await?;
        claimed.map(|document| self.outbox_in(&document, id)).transpose()
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
        let source = match outbox.first {
            Some(first) => format!("{}/{id}/{first}", self.collection.name()),
            None => format!("{}/{id}", self.collection.name()),
        };
        outbox
            .events
            .truncate(usize::try_from(self.batch).unwrap_or(usize::MAX));
        let deliveries =
            outbox
                .events
                .iter()
                .zip(outbox.pruned + 1..)
                .enumerate()
                .map(|(place, (event, sequence))| Delivery {
                    source: source.clone(),
                    document: Some(id.clone()),
                    sequence,
                    attempt: attempt(place, outbox.lease.tries),
                    at: event.at,
                    kind: event.kind.clone(),
                    data: event.data.clone(),
                });
        let all = outbox.events.len();
        let done = publish(deliveries.collect(), send, relayed).await.min(all);
        let ids: Vec<Bson> = outbox.events[..done]
            .iter()
            .map(|event| event.id.into())
            .collect();
        let path = self.outbox.path();
        let mine = doc! {
            "_id": { "$eq": id },
            format!("{path}.lease.token"): outbox.lease.token,
            format!("{path}.pruned"): known(outbox.pruned),
        };
        let delivered = i64::try_from(done).unwrap_or(i64::MAX);
        // What comes behind an event that went well was tried for the first time.
        let tries = match done {
            _ if done == all => 0,
            0 => outbox.lease.tries,
            _ => 1,
        };
        let mut until = self.db.now();
        if tries > 0 {
            until = later(until, self.pauses.after(tries));
        }
        let mut taken = doc! {
            "$set": { format!("{path}.lease.until"): until, format!("{path}.lease.tries"): tries },
        };
        if done > 0 {
            taken.insert("$inc", doc! { format!("{path}.pruned"): delivered });
            taken.insert(
                "$pull",
                doc! { format!("{path}.events"): { "id": { "$in": ids } } },
            );
        }
        match self.collection.raw().update_one(mine, taken).await?.matched {
            1 => relayed.delivered += delivered.unsigned_abs(),
            _ => relayed.lost.push(source),
        }
        Ok(())
    }
}

/// The condition of a number that is not stored while it is 0.
fn known(number: i64) -> Bson {
    match number {
        0 => doc! { "$in": [0, Bson::Null] }.into(),
        number => number.into(),
    }
}

/// Which try of an event this is, by its place among those that are published together.
pub(super) fn attempt(place: usize, tries: i32) -> u32 {
    match place {
        0 => u32::try_from(tries).unwrap_or(1).max(1),
        _ => 1,
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
