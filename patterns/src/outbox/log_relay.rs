//! Publishing the events of an [`EventLog`].

use odm::bson::{Bson, DateTime, doc};
use odm::{Field, Filter, Result};

use super::delivery::{Delivery, Relayed, publish};
use super::event_log::{EventLog, SourceRecord, range};
use super::relay::attempt;
use crate::later::later;

/// How many sources are looked for at a time.
const SOURCES: u64 = 100;

impl EventLog {
    /// Publishes what waits, once through: of each source in order, a batch of each of up to 100 sources, those first
    /// that were looked at longest ago. Call it again while something was delivered, and now and then after that.
    ///
    /// A source whose event fails has a [pause](EventLog::pauses), and one with a missing event too, which waits in front
    /// of it: see [`verify`](EventLog::verify).
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
            .find(|s| s.pending.gt(0) & free(now))
            .sort(|s| s.lease.until.asc())
            .limit(SOURCES);
        for source in waiting.await? {
            if let Some(claimed) = self.claim(&source).await? {
                self.deliver(claimed, &mut send, &mut relayed).await?;
            }
        }
        Ok(relayed)
    }

    /// Takes the lease of a source that is as it was found; gives it as it is then. Its counter is as safe as the claim: what
    /// is appended behind it a failover may still take back.
    async fn claim(&self, source: &SourceRecord) -> Result<Option<SourceRecord>> {
        let now = self.db.now();
        let claim = self.sources.find_one_and_update(
            |s| {
                s.id.eq(&source.id)
                    & known(&s.lease.token, source.lease.token)
                    & free(now)
                    & known(&s.delivered, source.delivered)
            },
            |s| s.lease.token.inc(1) & s.lease.tries.inc(1) & s.lease.until.set(later(now, self.lease)),
        );
        claim.return_new().await
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
        let tries = source.lease.tries;
        let events = self
            .events
            .find(|_| range(&source.id, source.delivered, source.last))
            .sort_raw(doc! { "_id": 1 })
            .limit(self.batch.into());
        // Only what follows without a gap.
        let deliveries: Vec<Delivery> = events
            .await?
            .into_iter()
            .zip(source.delivered + 1..)
            .take_while(|(event, sequence)| event.id.sequence == *sequence)
            .enumerate()
            .map(|(place, (event, _))| Delivery {
                attempt: attempt(place, tries),
                ..event.into_delivery()
            })
            .collect();
        let found = deliveries.len();
        let done = publish(deliveries, send, relayed).await.min(found);
        let delivered = i64::try_from(done).unwrap_or(i64::MAX);
        let tries = match done {
            _ if done == found && found > 0 => 0,
            0 => tries,
            _ => 1,
        };
        let mut until = self.db.now();
        if tries > 0 {
            until = later(until, self.pauses.after(tries));
        }
        let noted = self.sources.update_one(
            |s| s.id.eq(&source.id) & s.lease.token.eq(source.lease.token),
            |s| {
                s.delivered.inc(delivered)
                    & s.pending.inc(-delivered)
                    & s.lease.until.set(until)
                    & s.lease.tries.set(tries)
            },
        );
        match noted.await?.matched {
            1 => relayed.delivered += delivered.unsigned_abs(),
            _ => relayed.lost.push(source.id),
        }
        Ok(())
    }
}

/// The condition that no relay has a source, and that it has no pause.
fn free(now: DateTime) -> Filter<SourceRecord> {
    Filter::raw(doc! { "lease.until": { "$not": { "$gt": now } } })
}

/// The condition of a number that may be missing while it is 0.
fn known(field: &Field<SourceRecord, i64>, number: i64) -> Filter<SourceRecord> {
    match number {
        0 => Filter::raw(doc! { field.path().to_string(): { "$in": [0, Bson::Null] } }),
        number => field.eq(number),
    }
}
