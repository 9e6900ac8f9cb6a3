//! Publishing the events of an [`EventLog`].

use odm::Result;
use odm::bson::doc;

use super::delivery::{Delivery, Relayed, publish};
use super::event_log::{EventLog, SourceRecord, StoredEvent, range};
use crate::later::later;

/// How many sources are looked for at a time.
const SOURCES: u64 = 100;

impl EventLog {
    /// Publishes what waits, once through: of each source in order, a batch of each of up to 100 sources. Call it again
    /// while something was delivered, and now and then after that. A source with a missing event waits in front of it:
    /// see [`verify`](EventLog::verify).
    ///
    /// # Errors
    /// Those of the database; what was published and not noted by then is published again.
    pub async fn relay<E, F, Fut>(&self, mut send: F) -> Result<Relayed<E>>
    where
        F: FnMut(Delivery) -> Fut,
        Fut: Future<Output = std::result::Result<(), E>>,
    {
        let mut relayed = Relayed::default();
        let now = self.db.now();
        let waiting = self
            .sources
            .find(|s| s.pending.gt(0) & s.lease.until.lte(now))
            .limit(SOURCES);
        for source in waiting.await? {
            if self.claim(&source).await? {
                self.deliver(source, &mut send, &mut relayed).await?;
            }
        }
        Ok(relayed)
    }

    async fn claim(&self, source: &SourceRecord) -> Result<bool> {
        let now = self.db.now();
        let claim = self.sources.update_one(
            |s| {
                s.id.eq(&source.id)
                    & s.lease.token.eq(source.lease.token)
                    & s.lease.until.lte(now)
                    & s.delivered.eq(source.delivered)
            },
            |s| s.lease.token.inc(1) & s.lease.until.set(later(now, self.lease)),
        );
        Ok(claim.await?.matched == 1)
    }

    async fn deliver<E, F, Fut>(
        &self,
        source: SourceRecord,
        send: &mut F,
        relayed: &mut Relayed<E>,
    ) -> Result<()>
    where
        F: FnMut(Delivery) -> Fut,
        Fut: Future<Output = std::result::Result<(), E>>,
    {
        let events = self
            .events
            .find(|_| range(&source.id, source.delivered))
            .sort_raw(doc! { "_id": 1 })
            .limit(self.batch.into());
        // Only what follows without a gap.
        let deliveries: Vec<Delivery> = events
            .await?
            .into_iter()
            .zip(source.delivered + 1..)
            .take_while(|(event, sequence)| event.id.sequence == *sequence)
            .map(|(event, _)| StoredEvent::into_delivery(event))
            .collect();
        let found = deliveries.len();
        let done = publish(deliveries, send, relayed).await.min(found);
        let delivered = i64::try_from(done).unwrap_or(i64::MAX);
        let now = self.db.now();
        let noted = self.sources.update_one(
            |s| s.id.eq(&source.id) & s.lease.token.eq(source.lease.token + 1),
            |s| s.delivered.inc(delivered) & s.pending.inc(-delivered) & s.lease.until.set(now),
        );
        match noted.await?.matched {
            1 => relayed.delivered += delivered.unsigned_abs(),
            _ => relayed.lost.push(source.id),
        }
        Ok(())
    }
}
