//! What holds for the queue as a whole: whether it is paused.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use odm::Result;
use odm::bson::{DateTime, doc};

use super::Queue;
use super::order;
use super::tend::Ahead;

const ID: &str = "state";

/// What a handle and its clones know of the queue.
#[derive(Debug, Default)]
pub(super) struct Control(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    paused: Option<(DateTime, bool)>,
    group_place: Option<String>,
    /// Leases that end further ahead than any lasts, and since when they were seen to end then.
    ahead: Vec<(Ahead, DateTime)>,
}

impl Control {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The group that the last look for forgotten slots ended with.
    pub(super) fn group_place(&self) -> Option<String> {
        self.lock().group_place.clone()
    }

    pub(super) fn set_group_place(&self, place: Option<String>) {
        self.lock().group_place = place;
    }

    /// Notes which leases end too far ahead; gives those that nobody has renewed for as long as a lease lasts.
    pub(super) fn note_ahead(&self, found: Vec<Ahead>, now: DateTime, length: Duration) -> Vec<Ahead> {
        let mut known = self.lock();
        let known = &mut known.ahead;
        let seen = found.into_iter().map(|lease| {
            let since = known.iter().find(|(other, _)| *other == lease);
            // The clock may go back once more.
            let since = since.map_or(now, |(_, since)| (*since).min(now));
            (lease, since)
        });
        let seen: Vec<(Ahead, DateTime)> = seen.collect();
        let is_over = |(_, since): &(Ahead, DateTime)| order::later(*since, length) <= now;
        let (over, left): (Vec<_>, Vec<_>) = seen.into_iter().partition(is_over);
        *known = left;
        over.into_iter().map(|(lease, _)| lease).collect()
    }
}

impl<J> Queue<J> {
    /// Lets nobody claim any more, until [`resume`](Queue::resume). Jobs that run go on; jobs can be enqueued. This handle
    /// and its clones know at once, others within [`control_age`](super::Options::control_age). One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn pause(&self) -> Result<()> {
        self.set_paused(true).await
    }

    /// Lets workers claim again. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn resume(&self) -> Result<()> {
        self.set_paused(false).await?;
        self.settle(Vec::new()).await;
        Ok(())
    }

    async fn set_paused(&self, paused: bool) -> Result<()> {
        let now = self.now();
        self.control
            .upsert(
                doc! { "_id": ID },
                doc! { "$set": { "paused": paused, "since": now } },
            )
            .await?;
        self.shared.control.lock().paused = Some((now, paused));
        Ok(())
    }

    /// Whether the queue is paused, as far as is known. One round trip if that is too old, else none.
    ///
    /// # Errors
    /// As any operation.
    pub async fn is_paused(&self) -> Result<bool> {
        let now = self.now();
        let known = self.shared.control.lock().paused;
        if let Some((asked, paused)) = known {
            let age = order::at(now).abs_diff(order::at(asked));
            if u128::from(age) < self.options.control_age.as_millis() {
                return Ok(paused);
            }
        }
        let stored = self.control.get(ID).await?;
        let paused = stored.is_some_and(|stored| stored.get_bool("paused").unwrap_or(false));
        self.shared.control.lock().paused = Some((now, paused));
        Ok(paused)
    }
}
