//! Jobs that are enqueued again and again, by the clock on the wall of some place.

mod expression;
mod field;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use odm::bson::{DateTime, doc};
use odm::{Error, ErrorKind, Result};

pub use self::expression::Cron;
use super::Queue;
use super::job::Job;
use super::new::{Duplicates, New};
use super::order;
use super::stored::State;

/// How many missed ticks one look enqueues.
const BATCH: usize = 100;

/// By how much a tick that was enqueued may be ahead of this one's clock.
const AHEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// What becomes of ticks that nobody enqueued in time, because no worker ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfire {
    /// The latest of them is enqueued, the others are not.
    Once,
    /// Each of them is enqueued.
    All,
    /// Those that are older than this are not enqueued.
    Skip(Duration),
}

/// A job that is enqueued at each tick of a [`Cron`] expression in a time zone. Each tick is enqueued once, whichever and
/// however many programs look after the schedule; there is no leader.
///
/// ```
/// use odm_patterns::queue::{Misfire, New, Queue, Schedule};
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = odm::Db::open("memory:").await?;
/// let queue: Queue<String> = Queue::new(&db, "reports");
/// let nightly = Schedule::new("nightly", "30 3 * * *", "Europe/Berlin", |_| New::job("report".to_owned()))?
///     .misfire(Misfire::Once);
/// queue.prepare().await?;
/// // A worker does this every second when it was given the schedule.
/// assert_eq!(queue.tick(&nightly).await?, 0);
/// # Ok(())
/// # }
/// ```
///
/// The name is what tells schedules apart: the expression behind it may change. The first look at a new name enqueues
/// nothing, but notes the time. One that ticked more than a day ahead, by a clock that was wrong, goes on from now; a tick
/// whose job is still there is not enqueued again. No program whose own clock is more than a day behind may look after it: it
/// takes the right ones for such, and what was enqueued since then, and deleted by now, is enqueued again.
pub struct Schedule<J> {
    name: String,
    cron: Cron,
    zone: TimeZone,
    misfire: Misfire,
    make: Arc<dyn Fn(DateTime) -> New<J> + Send + Sync>,
}

impl<J> Schedule<J> {
    /// A schedule of this name. `make` makes the job of a tick. Missed ticks are enqueued [once](Misfire::Once) unless said
    /// otherwise.
    ///
    /// # Errors
    /// `InvalidArgument` for an expression that cannot be read, and for an unknown zone.
    pub fn new(
        name: impl Into<String>,
        expression: &str,
        zone: &str,
        make: impl Fn(DateTime) -> New<J> + Send + Sync + 'static,
    ) -> Result<Schedule<J>> {
        let zone = TimeZone::get(zone).map_err(|error| {
            Error::new(ErrorKind::InvalidArgument, "the time zone is not known")
                .with_path(zone)
                .with_source(error)
        })?;
        Ok(Schedule {
            name: name.into(),
            cron: Cron::parse(expression)?,
            zone,
            misfire: Misfire::Once,
            make: Arc::new(make),
        })
    }

    /// What becomes of missed ticks.
    pub fn misfire(self, misfire: Misfire) -> Schedule<J> {
        Schedule { misfire, ..self }
    }

    /// The job of a tick.
    fn job(&self, tick: DateTime) -> Result<New<J>> {
        catch_unwind(AssertUnwindSafe(|| (self.make)(tick))).map_err(|_| {
            let text = "the function that makes the job of a schedule panicked";
            Error::new(ErrorKind::InvalidArgument, text)
        })
    }

    /// The first tick after a time.
    pub fn next_after(&self, time: DateTime) -> Option<DateTime> {
        let time = Timestamp::from_millisecond(time.timestamp_millis()).ok()?;
        let next = self.cron.next_after(time, &self.zone)?;
        Some(DateTime::from_millis(next.as_millisecond()))
    }

    /// The last tick after `last` and not after `now`: between the two halves as often as it takes, since there may be
    /// millions of ticks.
    fn latest(&self, last: DateTime, now: DateTime) -> Option<DateTime> {
        let next = |time: DateTime| self.next_after(time).filter(|tick| *tick <= now);
        let mut latest = next(last)?;
        // None comes after this, until `now`.
        let mut end = now.timestamp_millis();
        loop {
            let known = latest.timestamp_millis();
            let middle = known + (end - known) / 2;
            match next(DateTime::from_millis(middle)) {
                Some(tick) => latest = tick,
                None if middle == known => return Some(latest),
                None => end = middle,
            }
        }
    }

    /// The ticks after `last` and not after `now` that are to be enqueued, and where to go on from.
    fn due(&self, last: DateTime, now: DateTime) -> (Vec<DateTime>, DateTime) {
        let from = match self.misfire {
            Misfire::Skip(grace) => {
                let oldest = now.timestamp_millis().saturating_sub(order::millis(grace));
                last.max(DateTime::from_millis(oldest.saturating_sub(1)))
            }
            Misfire::Once | Misfire::All => last,
        };
        if self.misfire == Misfire::Once {
            let latest = self.latest(last, now);
            return (latest.into_iter().collect(), latest.unwrap_or(last));
        }
        let mut ticks = Vec::new();
        let mut behind = from;
        while let Some(tick) = self.next_after(behind).filter(|tick| *tick <= now) {
            behind = tick;
            ticks.push(tick);
            if ticks.len() == BATCH {
                break;
            }
        }
        (ticks, behind)
    }
}

impl<J: Job> Queue<J> {
    /// Enqueues what a schedule's ticks ask for until now; how many jobs. One round trip; a transaction of about five more
    /// when a tick is due.
    ///
    /// # Errors
    /// As any operation, and as [`enqueue`](Queue::enqueue) for a job that cannot be enqueued, after which the same tick is
    /// tried again; `Unsupported` where there are no transactions, `InvalidArgument` when the function that makes the job
    /// panics. It says which schedule it is about, `schedule/NAME`, unless it is about another document.
    pub async fn tick(&self, schedule: &Schedule<J>) -> Result<u64> {
        let id = format!("schedule/{}", schedule.name);
        self.tick_of(schedule, &id)
            .await
            .map_err(|error| match error.id() {
                Some(_) => error,
                None => error.with_id(id),
            })
    }

    async fn tick_of(&self, schedule: &Schedule<J>, id: &str) -> Result<u64> {
        let now = self.now();
        let Some(known) = self.control.get(id).await? else {
            self.control
                .upsert(doc! { "_id": id }, doc! { "$setOnInsert": { "last": now } })
                .await?;
            return Ok(0);
        };
        let last = known.get_datetime("last").map_err(|_| {
            Error::new(ErrorKind::Decode, "the document of the schedule is malformed").with_id(id)
        })?;
        let last = *last;
        if last > order::later(now, AHEAD) {
            // Only by a clock that was ahead; it goes on from now.
            let back = doc! { "$set": { "last": now } };
            self.control
                .update_one(doc! { "_id": id, "last": last }, back)
                .await?;
            return Ok(0);
        }
        let (ticks, behind) = schedule.due(last, now);
        if ticks.is_empty() {
            return Ok(0);
        }
        let ticks = &ticks;
        self.db
            .transaction(async |tx| {
                let queue = self.on(&tx);
                let moved = queue.control.update_one(
                    doc! { "_id": id, "last": last },
                    doc! { "$set": { "last": behind } },
                );
                // Otherwise somebody else did it.
                if moved.await?.matched == 0 {
                    return Ok(0);
                }
                let mut added = 0;
                for tick in ticks {
                    let mut new = schedule.job(*tick)?;
                    if new.duplicates.is_none() {
                        let key = format!("{id}@{}", tick.timestamp_millis());
                        new = new.duplicates(Duplicates::of(key).states(State::ALL));
                    }
                    added += u64::from(queue.enqueue(new).await?.is_added());
                }
                Ok(added)
            })
            .await
    }
}

impl<J> Clone for Schedule<J> {
    fn clone(&self) -> Schedule<J> {
        Schedule {
            name: self.name.clone(),
            cron: self.cron.clone(),
            zone: self.zone.clone(),
            misfire: self.misfire,
            make: self.make.clone(),
        }
    }
}

impl<J> fmt::Debug for Schedule<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schedule")
            .field("name", &self.name)
            .field("cron", &self.cron)
            .field("zone", &self.zone)
            .field("misfire", &self.misfire)
            .finish_non_exhaustive()
    }
}
