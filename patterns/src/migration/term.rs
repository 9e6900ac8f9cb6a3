//! How long a lease lasts that this process has.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use odm::Result;
use odm::bson::DateTime;

use super::lease::{Hold, Leases, MigrationLease};
use crate::later::later;

/// A lease, for as long as this process has it. Clones are of the same one: whoever of them renews it spares the others that.
#[derive(Clone, Debug)]
pub(super) struct Term {
    leases: Leases,
    hold: Hold,
    heartbeat: Duration,
    times: Arc<Times>,
}

/// When the lease ends, and when it should be renewed, in milliseconds.
#[derive(Debug)]
struct Times {
    until: AtomicI64,
    due: AtomicI64,
}

impl Term {
    /// Of a lease that was taken.
    pub(super) fn of(leases: Leases, lease: &MigrationLease, heartbeat: Duration) -> Term {
        let term = Term {
            leases,
            hold: Hold::of(lease),
            heartbeat,
            times: Arc::new(Times {
                until: AtomicI64::new(0),
                due: AtomicI64::new(0),
            }),
        };
        term.extended(lease.until);
        term
    }

    /// The lease's number. It grows with whoever takes over.
    pub(super) fn token(&self) -> i64 {
        self.hold.token
    }

    fn now(&self) -> i64 {
        self.leases.now().timestamp_millis()
    }

    fn extended(&self, until: DateTime) {
        self.times
            .until
            .store(until.timestamp_millis(), Ordering::Relaxed);
        let due = later(self.leases.now(), self.heartbeat).timestamp_millis();
        self.times.due.store(due, Ordering::Relaxed);
    }

    /// Whether the lease has ended, as far as this process knows.
    pub(super) fn is_over(&self) -> bool {
        self.now() >= self.times.until.load(Ordering::Relaxed)
    }

    /// How long the lease lasts yet, as far as this process knows.
    pub(super) fn rest(&self) -> Duration {
        let left = self
            .times
            .until
            .load(Ordering::Relaxed)
            .saturating_sub(self.now());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }

    fn heard(&self, until: Option<DateTime>) -> bool {
        until.map(|until| self.extended(until)).is_some()
    }

    /// Makes the lease last anew; whether it still was ours. One round trip.
    pub(super) async fn renew(&self) -> Result<bool> {
        Ok(self.heard(self.leases.renew(self.hold).await?))
    }

    /// The same where it is time for it: for work that never waits, beside which nothing else is polled.
    pub(super) async fn renew_if_due(&self) -> Result<bool> {
        match self.now() >= self.times.due.load(Ordering::Relaxed) {
            true => self.renew().await,
            false => Ok(true),
        }
    }

    /// The same, and says which step is begun; whether the lease still was ours. One round trip.
    pub(super) async fn announce(&self, step: &str) -> Result<bool> {
        Ok(self.heard(self.leases.announce(self.hold, step).await?))
    }

    /// Gives the lease a higher token; whether it still was ours. One round trip.
    pub(super) async fn rise(&mut self, token: i64) -> Result<bool> {
        let risen = self.leases.rise(self.hold, token).await?;
        if risen {
            self.hold.token = token;
        }
        Ok(risen)
    }

    /// Gives the lease back, with or without the step that it names; whether it was still ours. One round trip.
    pub(super) async fn end(&self, keeps_step: bool) -> Result<bool> {
        self.leases.give_back(self.hold, keeps_step).await
    }
}
