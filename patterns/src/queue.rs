//! Worker queues: jobs that are neither lost nor done by two workers that both believe to be the one.
//!
//! # The problem
//!
//! Work is handed from programs that have no time for it to workers that may die in the middle of it. `findAndModify` hands
//! a job to one worker; what makes a queue of it is what happens when that worker is slow, stops for an hour, or is never
//! heard of again.
//!
//! # Stored shape
//!
//! One collection for each queue; its documents have the book's `state`, `created` and `message`, and more:
//!
//! ```text
//! { _id, state: "running", created: <date>, kind: "mail", message: {..}, order: <long>, place: <long>, priority: 0,
//!   due: <date>, attempts: 1, max_attempts: 5, lease: { owner: "w1", token: 1, until: <date>, claim: <id> } }
//! ```
//!
//! and, where they are used, `unique`, `group`, `number`, `slot`, `cancel`, `progress`, `result`, `errors`, `finished`. One
//! index over `state` and `order` serves claims, what is due, what has expired and what can be pruned; three more, which
//! hold only the documents that use them, guard unique keys and groups. A second collection, `NAME.control`, holds a
//! document for each of: whether the queue is paused, its rate, its schedules, the numbers of its groups.
//!
//! # Guarantees
//!
//! | | |
//! |---|---|
//! | delivery | at least once: an unfinished job is worked on until it is acknowledged, dead or called off, whoever dies |
//! | fencing | every write of a worker carries the token of its lease; with another's token it has no effect and is [`LeaseLost`] |
//! | attempts | a claim counts, so that a job that kills its workers is dead after its last attempt |
//! | recovery | a dead worker's job is ready again when its lease has ended and somebody [tends](Queue::tend) to the queue |
//! | order | by priority, then by when due; jobs of a group strictly in the order of enqueueing |
//! | clocks | only say when: a clock that jumps makes leases end early or late, but never makes an old token valid. One that was ahead, and is set back, has delayed what it wrote: leases to two of them, jobs that failed or were put off to when they are due by it |
//! | size | a job has 16 MiB less 64 KiB; one whose document has no room left for a lease, an error or its result is dead, and holds up nobody |
//! | transactions | `queue.on(&tx)` enqueues and acknowledges inside of a transaction |
//! | crash | each operation is one atomic write per job; what was half done is finished by the next `tend` |
//! | sharding | by `_id` (hashed), without unique keys and groups: their unique indexes need the shard key |
//!
//! # Cost, in round trips
//!
//! | operation | |
//! |---|---|
//! | [`enqueue`](Queue::enqueue), [`enqueue_many`](Queue::enqueue_many) | 1; with a unique key 1 a job, and 1 to 3 more if the key is taken, and 1 for those between two such jobs; with a group 3 |
//! | [`claim`](Queue::claim) | 1; with lanes up to 2; when nothing is ready 1 more, and 2 or 3 more if that made something ready |
//! | [`claim_many`](Queue::claim_many) | 2, whatever the number; 3 where jobs are unique, of groups, or of different pasts |
//! | [`ack`](Queue::ack), [`heartbeat`](Queue::heartbeat), [`progress`](Queue::progress), [`snooze`](Queue::snooze), [`release`](Queue::release), [`fail`](Queue::fail) | 1; of a group 1 more; 2 when the lease is lost |
//! | [`ack_many`](Queue::ack_many) | 1; 2 when leases are lost |
//! | [`tend`](Queue::tend) | 4 when there is nothing to do |
//!
//! With a [rate limit](Options::rate_limit) a claim takes one more, and each handle asks once a second whether the queue is
//! [paused](Queue::pause).
//!
//! # Example
//!
//! ```
//! use odm::Db;
//! use odm_patterns::queue::{Failure, Job, New, Queue};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Mail {
//!     to: String,
//! }
//!
//! impl Job for Mail {}
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?;
//! let queue: Queue<Mail> = Queue::new(&db, "mails");
//! queue.prepare().await?;
//!
//! queue.enqueue(Mail { to: "ann@example.org".into() }).await?;
//! queue.enqueue(New::job(Mail { to: "joe@example.org".into() }).priority(10)).await?;
//!
//! let claimed = queue.claim().await?.expect("a job is ready");
//! assert_eq!(claimed.job.to, "joe@example.org");
//! queue.ack(&claimed).await?;
//!
//! let claimed = queue.claim().await?.expect("a job is ready");
//! queue.fail(&claimed, Failure::retry("the server is not there")).await?;
//! assert_eq!(queue.statistics().await?.failed, 1);
//! # Ok(())
//! # }
//! ```

mod bell;
mod cancel;
mod claim;
mod control;
#[cfg(feature = "cron")]
mod cron;
mod enqueue;
mod entry;
mod failure;
mod finish;
mod group;
mod heartbeat;
mod job;
mod lease;
mod new;
mod options;
mod order;
mod plain;
mod rate;
mod redrive;
mod retry;
mod room;
mod signal;
mod statistics;
mod stored;
mod tend;
mod worker;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use odm::bson::oid::ObjectId;
use odm::bson::{DateTime, Document};
use odm::{Collection, Db, Result};

use self::bell::Bell;
pub use self::cancel::Cancel;
use self::control::Control;
#[cfg(feature = "cron")]
pub use self::cron::{Cron, Misfire, Schedule};
pub use self::enqueue::{Enqueued, Outcome};
pub use self::entry::Entry;
pub use self::failure::Failure;
pub use self::heartbeat::Beat;
pub use self::job::Job;
pub use self::lease::{Claimed, Lease, LeaseLost};
pub use self::new::{Duplicates, New, Policy};
pub use self::options::Options;
pub use self::plain::{PlainEntry, PlainNames, PlainQueue};
pub use self::retry::Retry;
pub use self::signal::{Signal, Stop};
pub use self::statistics::{KindStatistics, Statistics};
use self::stored::Stored;
pub use self::stored::{AttemptError, State};
pub use self::tend::Tended;
pub use self::worker::{Summary, Task, Timer, Wait, Worker};
use crate::value as message;

/// A queue of jobs in a collection. Cheap to clone; clones share what they know of the queue's pause.
pub struct Queue<J> {
    db: Db,
    /// The database outside of transactions.
    home: Db,
    jobs: Collection<Stored>,
    control: Collection<Document>,
    owner: Arc<str>,
    options: Arc<Options>,
    shared: Arc<Shared>,
    marker: PhantomData<fn() -> J>,
}

#[derive(Debug, Default)]
struct Shared {
    control: Control,
    bell: Bell,
}

impl<J: Job> Queue<J> {
    /// The queue in the collection of this name, with default options. No round trip.
    pub fn new(db: &Db, name: &str) -> Queue<J> {
        Queue::with_options(db, name, Options::default())
    }

    /// The queue in the collection of this name. No round trip.
    pub fn with_options(db: &Db, name: &str, options: Options) -> Queue<J> {
        Queue {
            db: db.clone(),
            home: db.clone(),
            jobs: db.collection_named(name),
            control: db.raw_collection(&format!("{name}.control")),
            owner: ObjectId::new().to_hex().into(),
            options: Arc::new(options),
            shared: Arc::default(),
            marker: PhantomData,
        }
    }
}

impl<J> Queue<J> {
    /// The same queue inside of a transaction: `queue.on(&tx).enqueue(..)`. What is to happen outside of it (the next job
    /// of a group, waking workers) happens after the commit. The queue stays in its own database, whichever the transaction
    /// was begun on: see [`Db::through`].
    ///
    /// ```
    /// # use odm_patterns::queue::Queue;
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = odm::Db::open("memory:").await?;
    /// # let queue: Queue<String> = Queue::new(&db, "mails");
    /// # queue.prepare().await?;
    /// db.transaction(async |tx| {
    ///     tx.raw_collection("orders").insert(odm::bson::doc! { "_id": 1 }).await?;
    ///     queue.on(&tx).enqueue("confirm order 1".to_owned()).await
    /// })
    /// .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on(&self, db: &Db) -> Queue<J> {
        let db = self.db.through(db);
        Queue {
            jobs: db.collection_named(self.jobs.name()),
            control: db.raw_collection(self.control.name()),
            db,
            ..self.clone()
        }
    }

    /// The same queue in the name of another owner, whose claims say so. Without it the name is chosen at random for each
    /// handle that is made.
    pub fn owner(&self, owner: impl Into<Arc<str>>) -> Queue<J> {
        Queue {
            owner: owner.into(),
            ..self.clone()
        }
    }

    /// The collection's name.
    pub fn name(&self) -> &str {
        self.jobs.name()
    }

    /// The database that the handle works on.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Builds the indexes, and with them the collections. Call it when the program starts; a queue without its indexes is
    /// slow, and neither unique keys nor groups are guarded. Two round trips.
    ///
    /// # Errors
    /// As any operation.
    pub async fn prepare(&self) -> Result<()> {
        self.jobs.create_indexes().await?;
        // A collection that is there need not be created inside of a transaction.
        match self.control.create().await {
            Err(error) if error.code() == Some(48) => Ok(()),
            created => created,
        }
    }

    fn now(&self) -> DateTime {
        self.db.now()
    }

    /// The same queue outside of a transaction, for what does not ask for the type of its jobs.
    fn outside(&self) -> Queue<()> {
        let outside = self.on(&self.home);
        Queue {
            db: outside.db,
            home: outside.home,
            jobs: outside.jobs,
            control: outside.control,
            owner: outside.owner,
            options: outside.options,
            shared: outside.shared,
            marker: PhantomData,
        }
    }
}

impl<J> Clone for Queue<J> {
    fn clone(&self) -> Queue<J> {
        Queue {
            db: self.db.clone(),
            home: self.home.clone(),
            jobs: self.jobs.clone(),
            control: self.control.clone(),
            owner: self.owner.clone(),
            options: self.options.clone(),
            shared: self.shared.clone(),
            marker: PhantomData,
        }
    }
}

impl<J> fmt::Debug for Queue<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name())
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}
