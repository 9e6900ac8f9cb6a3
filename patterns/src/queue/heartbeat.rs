//! Signs of life.

use odm::bson::{DateTime, RawBson};
use odm::{Error, Result, Update};
use serde::Serialize;

use super::Queue;
use super::finish::{Seen, held};
use super::lease::{Lease, LeaseLost};
use super::message;
use super::order;
use super::stored::{Stored, StoredFields};

/// What a sign of life was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beat {
    /// When the lease ends now.
    pub until: DateTime,
    /// Whether the job was [called off](Queue::cancel): stop, and say so by [`Failure::canceled`](super::Failure::canceled).
    pub canceled: bool,
}

impl<J> Queue<J> {
    /// Makes the lease last anew from now on. One round trip.
    ///
    /// # Errors
    /// `Conflict` with [`LeaseLost`] when the job belongs to somebody else by now: stop working on it.
    pub async fn heartbeat(&self, lease: impl AsRef<Lease>) -> Result<Beat> {
        self.beat(lease.as_ref(), |_| Update::none()).await
    }

    /// Stores how far the job is, for [`Entry::progress`](super::Entry::progress) and for the next attempt
    /// ([`Claimed::progress`](super::Claimed::progress)), and makes the lease last anew. One round trip.
    ///
    /// # Errors
    /// As [`heartbeat`](Queue::heartbeat); `Encode` for a value that does not fit BSON.
    pub async fn progress<T: Serialize>(&self, lease: impl AsRef<Lease>, progress: &T) -> Result<Beat> {
        let progress: RawBson = message::encode(progress)?;
        self.beat(lease.as_ref(), |j| j.progress.set(Some(progress)))
            .await
    }

    async fn beat(&self, lease: &Lease, more: impl FnOnce(&StoredFields) -> Update<Stored>) -> Result<Beat> {
        let until = order::later(self.now(), self.options.lease);
        let seen = self
            .jobs
            .find_one_and_update(
                |j| held(&j, lease),
                |j| j.order.set(order::at(until)) & j.lease.until.set(until) & more(&j),
            )
            .project::<Seen>()
            .await?;
        match seen {
            Some(seen) => Ok(Beat {
                until,
                canceled: seen.cancel,
            }),
            None => Err(self.lost(lease).await),
        }
    }

    /// The error of a lost lease, with what the job is now if that can be seen.
    async fn lost(&self, lease: &Lease) -> Error {
        match self.jobs.get(lease.id).project::<Seen>().await {
            Ok(seen) => LeaseLost::error(lease, seen.map(|seen| seen.state)),
            Err(error) => error,
        }
    }
}
