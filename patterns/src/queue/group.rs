//! Groups: jobs that are done one after another.
//!
//! Jobs of a group wait in their own state, numbered. Those at the head get a slot, and with it become ready or scheduled;
//! a unique index over group and slot keeps two jobs from having the same one, however many programs hand them out.

use odm::bson::{Document, doc};
use odm::{Embedded, Error, ErrorKind, Result, Update};
use serde::{Deserialize, Serialize};

use super::Queue;
use super::order;
use super::stored::State;

/// Over how many counters the numbers of groups are spread.
const COUNTERS: u64 = 64;

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Slot {
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    slot: Option<u32>,
}

impl<J> Queue<J> {
    /// The first of so many numbers that jobs of a group are to have.
    pub(super) async fn numbers(&self, group: &str, count: i64) -> Result<i64> {
        let id = format!("numbers/{}", counter(group));
        let counter = self
            .control
            .find_one_and_update(doc! { "_id": id }, doc! { "$inc": { "next": count } })
            .upsert()
            .return_new()
            .await?;
        let next = counter.and_then(|counter| counter.get_i64("next").ok());
        let next =
            next.ok_or_else(|| Error::new(ErrorKind::Decode, "the counter of a group is malformed"))?;
        Ok(next - count)
    }

    /// Lets the next jobs of groups go, and wakes workers; after the commit, inside of a transaction. What fails is made
    /// up for by the next `tend`.
    pub(super) async fn settle(&self, groups: Vec<(String, Option<u32>)>) {
        let outside = self.outside();
        self.db
            .after_commit(move || async move {
                for (group, slot) in groups {
                    let done = match slot {
                        Some(slot) if slot < outside.options.group_limit => {
                            outside.admit_into(&group, slot).await.map(|_| ())
                        }
                        // Beyond the limit, which was higher when the slot was handed out.
                        Some(_) => outside.admit_below(&group).await.map(|_| ()),
                        None => outside.admit(&group).await.map(|_| ()),
                    };
                    done.ok();
                }
                outside.shared.bell.ring();
            })
            .await;
    }

    /// Hands out the free slots of a group; how many were.
    pub(super) async fn admit(&self, group: &str) -> Result<u64> {
        match self.options.group_limit {
            // Nobody but the database need be asked whether it is free.
            1 => self.hand_out(group, &[]).await,
            _ => self.admit_below(group).await,
        }
    }

    /// The same where slots beyond the limit may be held.
    async fn admit_below(&self, group: &str) -> Result<u64> {
        let held = self
            .jobs
            .find(|j| j.group.eq(Some(group.to_owned())) & j.slot.exists());
        let taken = held.project::<Slot>().await?;
        self.hand_out(group, &taken).await
    }

    async fn hand_out(&self, group: &str, taken: &[Slot]) -> Result<u64> {
        let limit = self.options.group_limit;
        let room = u64::from(limit).saturating_sub(taken.len() as u64);
        let mut admitted = 0;
        for slot in 0..limit {
            if admitted == room {
                break;
            }
            if taken.iter().any(|held| held.slot == Some(slot)) {
                continue;
            }
            match self.admit_into(group, slot).await? {
                Admission::Admitted => admitted += 1,
                Admission::Taken => {}
                Admission::NobodyWaits => break,
            }
        }
        Ok(admitted)
    }

    /// Gives a slot to the first that waits.
    pub(super) async fn admit_into(&self, group: &str, slot: u32) -> Result<Admission> {
        let now = self.now();
        // Among waiting jobs the order says when they are due, if that was later than when they were enqueued.
        let later = doc! { "$gt": ["$order", order::at(now)] };
        let stage = doc! { "$set": {
            "slot": i64::from(slot),
            "state": { "$cond": [&later, State::Scheduled.name(), State::Ready.name()] },
            "order": { "$cond": [&later, "$order", "$place"] },
        } };
        let admitted = self
            .jobs
            .find_one_and_update(
                |j| j.state.eq(State::Waiting) & j.group.eq(Some(group.to_owned())),
                |_| Update::pipeline([stage]),
            )
            .sort(|j| j.number.asc())
            .hint("waiting")
            .project::<Slot>()
            .await;
        match admitted {
            Ok(Some(_)) => Ok(Admission::Admitted),
            Ok(None) => Ok(Admission::NobodyWaits),
            Err(error) if error.is_duplicate_key() => Ok(Admission::Taken),
            Err(error) => Err(error),
        }
    }

    /// Looks through a part of the groups in which jobs wait for slots that nobody handed out: whoever should have died
    /// before. Goes on where it ended the last time. How many slots were handed out.
    pub(super) async fn admit_forgotten(&self) -> Result<u64> {
        let groups = match self.shared.control.group_place() {
            Some(last) => doc! { "$gt": last },
            None => doc! { "$gte": "" },
        };
        let waiting = doc! { "state": State::Waiting.name(), "group": groups };
        let limit = i64::from(self.options.batch);
        let found: Vec<Document> = self
            .jobs
            .aggregate_raw([
                doc! { "$match": waiting },
                doc! { "$sort": { "group": 1, "number": 1 } },
                doc! { "$limit": limit },
                doc! { "$group": { "_id": "$group", "count": { "$sum": 1_i64 } } },
                doc! { "$sort": { "_id": 1 } },
            ])
            .hint("waiting")
            .await?;
        let groups: Vec<String> = found
            .iter()
            .filter_map(|group| group.get_str("_id").ok().map(str::to_owned))
            .collect();
        let seen: i64 = found.iter().filter_map(|group| group.get_i64("count").ok()).sum();
        self.shared
            .control
            .set_group_place(groups.last().filter(|_| seen >= limit).cloned());
        if groups.is_empty() {
            return Ok(0);
        }
        let held = self
            .jobs
            .find(|j| j.group.is_in(groups.iter().map(|group| Some(group.clone()))) & j.slot.exists());
        let held = held.project::<Slot>().await?;
        let mut admitted = 0;
        for group in groups {
            let taken = held
                .iter()
                .filter(|slot| slot.group.as_ref() == Some(&group))
                .count();
            if taken < self.options.group_limit as usize {
                admitted += self.admit(&group).await?;
            }
        }
        Ok(admitted)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Admitted,
    Taken,
    NobodyWaits,
}

/// The counter that numbers a group's jobs: FNV-1a.
fn counter(group: &str) -> u64 {
    let hash = group.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    hash % COUNTERS
}
