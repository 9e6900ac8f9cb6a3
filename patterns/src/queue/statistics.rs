//! How much there is to do.

use std::collections::BTreeMap;
use std::time::Duration;

use odm::Result;
use odm::bson::{Bson, Document, doc};

use super::Queue;
use super::order;
use super::stored::State;

/// How many jobs are in each state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// To be claimed.
    pub ready: u64,
    /// Due later.
    pub scheduled: u64,
    /// Failed, to be tried again later.
    pub failed: u64,
    /// Behind others of their groups.
    pub waiting: u64,
    /// Claimed.
    pub running: u64,
    /// Done, and kept.
    pub done: u64,
    /// Given up, and kept.
    pub dead: u64,
    /// Called off, and kept.
    pub canceled: u64,
    /// How long ago the ready job was due that waits longest.
    pub oldest_ready: Option<Duration>,
}

/// How many jobs of each kind are in each state.
pub type KindStatistics = BTreeMap<String, Statistics>;

impl Statistics {
    /// Those that are not finished.
    pub fn unfinished(&self) -> u64 {
        self.ready + self.scheduled + self.failed + self.waiting + self.running
    }

    /// Adds a row of counts.
    fn read(&mut self, row: &Document, now: i64) {
        let Ok(state) = row.get_document("_id").and_then(|id| id.get_str("state")) else {
            return;
        };
        let count = row.get("count").and_then(Bson::as_i64);
        let count = u64::try_from(count.unwrap_or(0)).unwrap_or(0);
        match state {
            "ready" => self.ready += count,
            "scheduled" => self.scheduled += count,
            "failed" => self.failed += count,
            "waiting" => self.waiting += count,
            "running" => self.running += count,
            "done" => self.done += count,
            "dead" => self.dead += count,
            "canceled" => self.canceled += count,
            _ => {}
        }
        if state == State::Ready.name()
            && let Some(due) = row.get("due").and_then(Bson::as_i64)
        {
            let age = u64::try_from(now.saturating_sub(due)).unwrap_or(0);
            self.oldest_ready = Some(Duration::from_millis(age));
        }
    }
}

impl<J> Queue<J> {
    /// How many jobs are in each state, and how long the oldest ready one has waited. One round trip, which reads through
    /// an index over all jobs that are kept.
    ///
    /// # Errors
    /// As any operation.
    pub async fn statistics(&self) -> Result<Statistics> {
        let rows = self.count_by(doc! { "state": "$state" }).hint("order").await?;
        let now = order::at(self.now());
        let mut statistics = Statistics::default();
        for row in &rows {
            statistics.read(row, now);
        }
        Ok(statistics)
    }

    /// The same for each kind of jobs. One round trip, which reads all jobs that are kept.
    ///
    /// # Errors
    /// As any operation.
    pub async fn statistics_by_kind(&self) -> Result<KindStatistics> {
        let rows = self.count_by(doc! { "state": "$state", "kind": "$kind" }).await?;
        let now = order::at(self.now());
        let mut kinds = KindStatistics::new();
        for row in &rows {
            if let Ok(kind) = row.get_document("_id").and_then(|id| id.get_str("kind")) {
                kinds.entry(kind.to_owned()).or_default().read(row, now);
            }
        }
        Ok(kinds)
    }

    fn count_by(&self, id: Document) -> odm::action::Aggregate {
        self.jobs.aggregate_raw([doc! { "$group": {
            "_id": id,
            "count": { "$sum": 1_i64 },
            // Among ready jobs the order holds when they were due.
            "due": { "$min": { "$mod": ["$order", order::TIMES] } },
        } }])
    }
}
