//! The records, and the writes that only the holder of the lease may make.

use std::collections::BTreeMap;
use std::time::Duration;

use odm::bson::{Bson, DateTime};
use odm::{Collection, Db, Error, ErrorKind, Filter, Result, Update};

use super::each::Batch;
use super::lease::{Leases, MigrationLease};
use super::record::{StepKind, StepRecord, StepRecordFields, StepState};
use super::term::Term;
use crate::newest::newest;

/// The highest token behind which a lease goes on: what is higher than this was not counted up by leases.
const HIGHEST: i64 = i64::MAX - (1 << 32);

/// The records by their ids.
pub(super) type Records = BTreeMap<String, StepRecord>;

/// The records of a database, and their lease.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    pub(super) db: Db,
    pub(super) records: Collection<StepRecord>,
    pub(super) leases: Leases,
}

impl Ledger {
    /// What other members have may be older than what is recorded, and than what a step wrote: all is read from the
    /// primary.
    pub(super) fn new(db: &Db, name: &str, lease: Duration) -> Ledger {
        let db = newest(db);
        Ledger {
            records: db.collection_named(name),
            leases: Leases::new(&db, name, lease),
            db,
        }
    }

    /// All that is recorded. One round trip.
    pub(super) async fn read(&self) -> Result<Records> {
        let records = self.records.find_all().await?;
        Ok(records
            .into_iter()
            .map(|record| (record.id.clone(), record))
            .collect())
    }
}

/// What is known of a step when it is begun.
pub(super) struct Intent<'a> {
    pub(super) id: &'a str,
    pub(super) order: i64,
    pub(super) kind: StepKind,
    pub(super) description: Option<&'a str>,
    pub(super) version: Option<&'a str>,
    pub(super) fingerprint: Option<&'a str>,
}

/// What the last batch adds to what is recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    pub(super) examined: i64,
    pub(super) changed: i64,
    reached: Option<Bson>,
}

impl Tail {
    pub(super) fn of(batch: &Batch) -> Tail {
        Tail {
            examined: batch.examined,
            changed: batch.changed,
            reached: batch.reached.clone(),
        }
    }

    fn counted(&self, r: &StepRecordFields) -> Update<StepRecord> {
        let reached = match &self.reached {
            Some(reached) => r.reached.set(Some(reached.clone())),
            None => Update::none(),
        };
        r.examined.inc(self.examined) & r.changed.inc(self.changed) & reached
    }
}

/// The records, while this process has their lease.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) ledger: Ledger,
    pub(super) term: Term,
    owner: Option<String>,
    /// The step of whoever had the lease before, until their late writes are kept from its record.
    unfenced: Option<String>,
}

impl Session {
    /// Of a lease that was taken.
    pub(super) fn of(ledger: Ledger, lease: MigrationLease, heartbeat: Duration) -> Session {
        Session {
            term: Term::of(ledger.leases.clone(), &lease, heartbeat),
            ledger,
            owner: lease.owner,
            unfenced: lease.step,
        }
    }

    /// Begins: from here on no late write of whoever had the lease before reaches a record. What is recorded; nothing when
    /// somebody has taken the lease from us since. One round trip, and one more where the one before did not give it back.
    pub(super) async fn begin(&mut self) -> Result<Option<Records>> {
        let taken = self.token();
        while let Some(step) = self.unfenced.clone() {
            if self.fence_off(&step).await? {
                self.unfenced = None;
                break;
            }
            // Its record has our token or a higher one: that of a copy of the records, or of who has the lease by now.
            if let Some(record) = self.ledger.records.get(&step).await?
                && record.token >= self.token()
                && !self.rise_behind(&record).await?
            {
                return Ok(None);
            }
        }
        let has_risen = self.token() != taken;
        self.read(has_risen).await
    }

    /// Gives the record of a step our token, or makes one; whether it had none that is as high.
    async fn fence_off(&self, step: &str) -> Result<bool> {
        // It may have begun the step, or be about to: its record is there from here on, with a newer token.
        let seed = Update::raw(odm::bson::doc! { "$setOnInsert": {
            "order": -1_i64,
            "kind": "plain",
            "state": "running",
            "attempts": 0_i64,
            "started": self.now(),
        } });
        let token = self.token();
        let fenced = self.ledger.records.upsert(
            |r| r.id.eq(step) & r.token.lt(token),
            |r| r.token.set(token) & seed,
        );
        match fenced.await {
            Ok(_) => Ok(true),
            Err(error) if error.is_duplicate_key() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives the lease the token behind that of a record; whether it still was ours.
    async fn rise_behind(&mut self, record: &StepRecord) -> Result<bool> {
        if record.token >= HIGHEST {
            let error = Error::new(
                ErrorKind::Corrupt,
                "the token of the record is none that leases had: no lease can go on behind it",
            );
            return Err(error
                .with_namespace(self.ledger.records.namespace())
                .with_id(record.id.clone())
                .with_path("token"));
        }
        self.term.rise(record.token + 1).await
    }

    /// Reads the records. Nothing when somebody has taken the lease from us since. One round trip.
    ///
    /// Where the document of the lease was deleted, its token went with it, and so did the name of the step that its owner
    /// was at; a copy of it may be older than that of the records. The tokens go on behind the highest that is recorded, and
    /// no step that had begun is anybody's but ours. Three round trips more.
    async fn read(&mut self, has_risen: bool) -> Result<Option<Records>> {
        let records = self.ledger.read().await?;
        let highest = records.values().max_by_key(|record| record.token);
        let is_behind = |record: &&StepRecord| match self.token() {
            // The document of the lease is a new one: nobody has written under its token.
            1 => record.token >= 1,
            token => record.token > token,
        };
        match highest.filter(is_behind) {
            Some(highest) if !self.rise_behind(highest).await? => return Ok(None),
            None if !has_risen => return Ok(Some(records)),
            _ => {}
        }
        let token = self.token();
        let under_way = [StepState::Running, StepState::Reverting];
        self.ledger
            .records
            .update_many(
                |r| r.state.is_in(under_way) & r.token.lt(token),
                |r| r.token.set(token),
            )
            .await?;
        self.ledger.read().await.map(Some)
    }

    /// Gives the lease back. Whoever takes it next knows of the step that is not fenced off yet. One round trip.
    pub(super) async fn end(&self) -> Result<bool> {
        self.term.end(self.unfenced.is_some()).await
    }

    pub(super) fn token(&self) -> i64 {
        self.term.token()
    }

    pub(super) fn now(&self) -> DateTime {
        self.ledger.db.now()
    }

    /// Records that a step is begun; the record, if the lease is still ours, and nobody has begun or ended the step since its
    /// record was read. What is known of earlier attempts is kept when this one `goes_on` from there. Two round trips.
    pub(super) async fn intend(
        &self,
        intent: &Intent<'_>,
        state: StepState,
        known: Option<&StepRecord>,
        goes_on: bool,
    ) -> Result<Option<StepRecord>> {
        if !self.term.announce(intent.id).await? {
            return Ok(None);
        }
        let as_read = move |r: &StepRecordFields| match known {
            Some(known) => r.token.eq(known.token) & r.state.eq(known.state),
            // No record is like that: one that is there by now is a duplicate, whatever its token.
            None => r.token.missing(),
        };
        let afresh = |r: &StepRecordFields| match goes_on {
            true => r.attempts.inc(1),
            false => {
                r.attempts.set(1)
                    & r.position.unset()
                    & r.reached.unset()
                    & r.examined.set(0)
                    & r.changed.set(0)
                    & r.error.unset()
            }
        };
        let partial = |r: &StepRecordFields| match known.is_some_and(StepRecord::is_partial) {
            true => r.partial.set(true),
            false => r.partial.unset(),
        };
        self.put(intent, as_read, |r| {
            r.state.set(state)
                & partial(r)
                & afresh(r)
                & r.by_hand.set(false)
                & r.ended.unset()
                & r.millis.unset()
        })
        .await
    }

    /// Records something of a step, without running it; the record, if the lease is still ours. Two round trips.
    pub(super) async fn mark(&self, intent: &Intent<'_>, state: StepState) -> Result<Option<StepRecord>> {
        if !self.term.announce(intent.id).await? {
            return Ok(None);
        }
        let now = self.now();
        let seed = Update::raw(odm::bson::doc! { "$setOnInsert": { "attempts": 0_i64 } });
        let token = self.token();
        let not_newer = move |r: &StepRecordFields| r.token.lte(token);
        self.put(intent, not_newer, |r| {
            r.state.set(state)
                & r.by_hand.set(true)
                & r.ended.set(Some(now))
                & r.millis.unset()
                & r.error.unset()
                & r.position.unset()
                & r.partial.unset()
                & seed
        })
        .await
    }

    /// Records another fingerprint of a step; whether the lease is still ours. Two round trips.
    pub(super) async fn adopt(&self, id: &str, fingerprint: &str) -> Result<bool> {
        if !self.term.announce(id).await? {
            return Ok(false);
        }
        let adopted = self.ledger.records.update_one(
            |r| r.id.eq(id) & r.token.lte(self.token()),
            |r| r.fingerprint.set(Some(fingerprint.to_owned())) & r.token.set(self.token()),
        );
        Ok(adopted.await?.matched == 1)
    }

    async fn put(
        &self,
        intent: &Intent<'_>,
        condition: impl FnOnce(&StepRecordFields) -> Filter<StepRecord>,
        change: impl FnOnce(&StepRecordFields) -> Update<StepRecord>,
    ) -> Result<Option<StepRecord>> {
        let now = self.now();
        let put = self
            .ledger
            .records
            .find_one_and_update(
                |r| r.id.eq(intent.id) & condition(&r),
                |r| {
                    change(&r)
                        & r.token.set(self.token())
                        & r.order.set(intent.order)
                        & r.kind.set(intent.kind)
                        & r.owner.set(self.owner.clone())
                        & r.started.set(now)
                        & given(&r.description, intent.description)
                        & given(&r.version, intent.version)
                        & given(&r.fingerprint, intent.fingerprint)
                },
            )
            .upsert()
            .return_new();
        match put.await {
            // It is there, and another one.
            Err(error) if error.is_duplicate_key() => Ok(None),
            put => put,
        }
    }

    /// Records that a step is done, or reverted, through the session's database or a transaction of it. Whether it was this
    /// session that had begun it.
    pub(super) async fn settle(
        &self,
        db: &Db,
        begun: &StepRecord,
        state: StepState,
        tail: &Tail,
    ) -> Result<bool> {
        let records = db.collection_named::<StepRecord>(self.ledger.records.name());
        let now = self.now();
        let settled = records.update_one(
            |r| self.fence(&r, begun),
            |r| {
                r.state.set(state)
                    & r.ended.set(Some(now))
                    & r.millis.set(Some(millis(begun.started, now)))
                    & r.error.unset()
                    & r.position.unset()
                    & r.partial.unset()
                    & tail.counted(&r)
            },
        );
        Ok(settled.await?.matched == 1)
    }

    /// Records that a step failed. A revert that failed is still one that is under way.
    pub(super) async fn fail(&self, begun: &StepRecord, error: String) -> Result<bool> {
        let now = self.now();
        let state = match begun.state {
            StepState::Running => StepState::Failed,
            state => state,
        };
        let failed = self.ledger.records.update_one(
            |r| self.fence(&r, begun),
            |r| {
                r.state.set(state)
                    & r.ended.set(Some(now))
                    & r.millis.set(Some(millis(begun.started, now)))
                    & r.error.set(Some(error))
            },
        );
        Ok(failed.await?.matched == 1)
    }

    /// What became of an attempt whose end could not be recorded.
    pub(super) async fn fate(&self, begun: &StepRecord, state: StepState) -> Result<Fate> {
        Ok(match self.ledger.records.get(&begun.id).await? {
            None => Fate::Forgotten,
            Some(record) if record.token == self.token() && record.state == state => Fate::Ended,
            Some(_) => Fate::Taken,
        })
    }

    /// Records how far a step in batches is.
    pub(super) async fn advance(
        &self,
        db: &Db,
        begun: &StepRecord,
        position: &str,
        tail: &Tail,
    ) -> Result<bool> {
        let records = db.collection_named::<StepRecord>(self.ledger.records.name());
        let advanced = records.update_one(
            |r| self.fence(&r, begun),
            |r| r.position.set(Some(Bson::from(position))) & tail.counted(&r),
        );
        Ok(advanced.await?.matched == 1)
    }

    fn fence(&self, r: &StepRecordFields, begun: &StepRecord) -> Filter<StepRecord> {
        fence(r, &begun.id, self.token(), begun.state)
    }
}

/// What became of an attempt whose end could not be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is recorded as ended: the reply was lost.
    Ended,
    /// Somebody else has the step by now.
    Taken,
    /// There is no record of it any more.
    Forgotten,
}

/// The condition of a write that only the process may make that began the step under this token.
pub(super) fn fence(r: &StepRecordFields, id: &str, token: i64, state: StepState) -> Filter<StepRecord> {
    r.id.eq(id) & r.token.eq(token) & r.state.eq(state)
}

/// Sets an optional text, or takes it away.
fn given(field: &odm::Field<StepRecord, Option<String>>, text: Option<&str>) -> Update<StepRecord> {
    match text {
        Some(text) => field.set(Some(text.to_owned())),
        None => field.unset(),
    }
}

/// How long it is from one time to another; none where the clock was set back.
fn millis(from: DateTime, to: DateTime) -> i64 {
    to.timestamp_millis()
        .saturating_sub(from.timestamp_millis())
        .max(0)
}
