//! Carrying changes out: all of a change or nothing, one after another.

use futures_util::future::BoxFuture;
use odm::backend::TransactionOptions;
use odm::bson::{Bson, Document, doc};
use odm::{Backoff, Error, ErrorKind};

use super::change::{Change, Outcome};
use super::core::Core;
use super::error::{Result, TreeError};
use super::forest::Forest;
use super::gate::{Prepared, Ruling};
use super::layout::equal;
use super::plan::{Plan, Write};
use super::state::State;
use super::undo::is_definite;

/// How often a change is planned anew because others were first.
pub(super) const ATTEMPTS: usize = 10_000;

/// How many writes go into one operation.
const BATCH: usize = 2_000;

/// How often the owner of an intent is waited for, before somebody else carries it out.
const PATIENCE: usize = 4;

impl Core {
    /// Carries a change out.
    ///
    /// Inside a transaction that runs already, as a part of it. Otherwise in a transaction of its own, which is run
    /// again after conflicts; where there are none, by an intent.
    ///
    /// # Errors
    /// What the change cannot be for; then nothing is written.
    pub(super) fn execute<'a>(&'a self, change: &'a Change) -> BoxFuture<'a, Result<Outcome>> {
        // On the heap: the futures of whoever changes a tree would hold all of its steps.
        Box::pin(async move {
            let core = self.with_places();
            if core.db.in_transaction() {
                return core.execute_inside(change).await;
            }
            let turn = core.turn.clone();
            let _turn = turn.lock().await;
            if core.layout.write_ahead || !core.db.capabilities().transactions {
                return core.execute_ahead(change).await;
            }
            let state = core.ensure_state().await?;
            if state.intent.is_some() {
                core.roll_forward().await?;
            }
            let options = TransactionOptions::new();
            core.db
                .transaction_with(options, async |tx| core.within(&tx).execute_inside(change).await)
                .await
        })
    }

    async fn execute_inside(&self, change: &Change) -> Result<Outcome> {
        let state = self.touch_state().await?;
        let is_older = |seen: i64| state.intent.is_some() || state.version != seen + 1;
        if change.seen().is_some_and(is_older) {
            return Err(outdated());
        }
        self.begin_inside(&state).await?;
        let (plan, outcome) = self.plan(change).await?;
        let mut prepared = Some(self.prepare(plan).await?);
        self.as_a_whole(|| self.make(prepared.take())).await?;
        Ok(outcome)
    }

    /// Runs, once, what writes in a transaction that is running already. Where it fails, that can only be aborted: whoever
    /// handles the error and commits would keep a part of the writes.
    async fn as_a_whole<F>(&self, mut write: impl FnMut() -> F) -> Result<()>
    where
        F: Future<Output = Result<()>>,
    {
        let options = TransactionOptions::new();
        self.db.transaction_with(options, |_| write()).await
    }

    async fn make(&self, prepared: Option<Prepared>) -> Result<()> {
        let Some(prepared) = prepared else {
            return Ok(());
        };
        self.apply(&prepared.plan).await?;
        self.settle_state(Document::new(), &prepared.plan, false).await?;
        prepared.written().await
    }

    async fn execute_ahead(&self, change: &Change) -> Result<Outcome> {
        let mut turns = Turns::default();
        for _ in 0..ATTEMPTS {
            let Some(version) = turns.next(self).await? else {
                continue;
            };
            if change.seen().is_some_and(|seen| seen != version) {
                return Err(outdated());
            }
            let planned = self.plan(change).await;
            // What was read while others wrote says nothing: neither that it cannot be, nor that all is done.
            let is_nothing = planned.as_ref().is_ok_and(|(plan, _)| plan.is_empty());
            if (planned.is_err() || is_nothing) && self.is_changed_since(version).await? {
                turns.lost().await;
                continue;
            }
            let (plan, outcome) = planned?;
            if is_nothing {
                return Ok(outcome);
            }
            let prepared = self.prepare(plan).await?;
            if self.intend_prepared(version, prepared).await? {
                return Ok(outcome);
            }
            turns.lost().await;
        }
        Err(never_first())
    }

    /// A node with all below it, read while nobody changes the tree, and the version that this had; none where somebody
    /// did, or others were waited for.
    pub(super) async fn read_unchanged(&self, id: &Bson, turns: &mut Turns) -> Result<Option<(Forest, i64)>> {
        let Some(seen) = self.with_places().unchanged(turns).await? else {
            return Ok(None);
        };
        match self.subtree(id, None).await {
            Ok(forest) => Ok(Some((forest, seen))),
            Err(_) if self.is_changed_since(seen).await? => {
                turns.lost().await;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Carries out a change of what was read; `false` where somebody has changed the tree since.
    pub(super) async fn execute_read(&self, change: &Change, turns: &mut Turns) -> Result<bool> {
        match self.execute(change).await {
            Ok(_) => Ok(true),
            Err(error) if is_outdated(&error) => {
                turns.lost().await;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The version of a tree that nobody changes, in a transaction until that is over.
    async fn unchanged(&self, turns: &mut Turns) -> Result<Option<i64>> {
        if !self.db.in_transaction() {
            return turns.next(self).await;
        }
        let state = self.touch_state().await?;
        self.begin_inside(&state).await?;
        Ok(Some(state.version))
    }

    /// Carries out, in a transaction that has the turn, what others began.
    async fn begin_inside(&self, state: &State) -> Result<()> {
        let Some(intent) = &state.intent else {
            return self.check_layout(state);
        };
        self.as_a_whole(async || self.carry_out(intent).await.map(drop))
            .await?;
        // It may have been a conversion.
        let now = self.state().await?;
        now.map_or(Ok(()), |now| self.check_layout(&now))
    }

    /// Asks those that refer to what goes, and carries the writes out by an intent; `false` when the tree was changed
    /// since the version was read.
    pub(super) async fn intend_prepared(&self, version: i64, prepared: Prepared) -> Result<bool> {
        let plan = &prepared.plan;
        if let Some(renamed) = plan.renamed() {
            self.rule(vec![renamed.clone()], Ruling::Refuse).await?;
        }
        self.rule(plan.gone(), Ruling::Ask).await?;
        if !self.intend(version, plan).await? {
            return Ok(false);
        }
        prepared.written().await?;
        Ok(true)
    }

    pub(super) async fn is_changed_since(&self, version: i64) -> Result<bool> {
        let now = self.state().await?;
        Ok(now.is_some_and(|now| now.version != version || now.intent.is_some()))
    }

    /// Makes the writes of a plan, inside a transaction.
    async fn apply(&self, plan: &Plan) -> Result<()> {
        if let Some(renamed) = plan.renamed() {
            self.rule(vec![renamed.clone()], Ruling::Refuse).await?;
        }
        let deletions = plan
            .writes
            .iter()
            .position(|write| !write.gone().is_empty())
            .unwrap_or(plan.writes.len());
        let (changes, deletions) = plan.writes.split_at(deletions);
        self.make_all(changes).await?;
        // What adopted nodes referred to is another by now.
        let for_ever = plan.for_ever;
        self.rule(plan.gone(), Ruling::Release { for_ever }).await?;
        self.make_all(deletions).await
    }

    async fn make_all(&self, writes: &[Write]) -> Result<()> {
        for writes in writes.chunks(BATCH) {
            let mut bulk = self.nodes.bulk_write();
            let mut inserted: Vec<Option<&Document>> = Vec::with_capacity(writes.len());
            let mut written = Vec::with_capacity(writes.len());
            let mut expected = 0;
            for write in writes {
                let mut document = None;
                bulk = match write {
                    Write::Insert(new) => {
                        document = Some(new);
                        bulk.insert(new)
                    }
                    Write::Set { id, set, unset } => {
                        expected += 1;
                        bulk.update_one(Write::filter(id), Write::update(set, unset))
                    }
                    Write::Delete(ids) => {
                        expected += ids.len();
                        bulk.delete_many(Write::filter_all(ids))
                    }
                    // A unique index of the model has the old one's keys until that is gone.
                    Write::Rename { from, new, .. } => {
                        expected += 1;
                        inserted.push(None);
                        written.push(Some(from));
                        document = Some(new);
                        bulk.delete_one(Write::filter(from)).insert(new)
                    }
                    Write::Made {
                        ids, filter, update, ..
                    } => {
                        expected += ids.len();
                        match update {
                            Some(update) => bulk.update_many(filter.clone(), update.clone()),
                            None => bulk.delete_many(filter.clone()),
                        }
                    }
                };
                inserted.push(document);
                written.push(write.node());
            }
            let made = bulk.await.map_err(|error| {
                let at = error.write_errors().first().map(|first| first.index);
                match at.and_then(|at| inserted.get(at).copied().flatten()) {
                    Some(_) => self.refused(error, &inserted),
                    None => self.refused_of(error, &written),
                }
            })?;
            if made.matched + made.deleted != expected as u64 {
                return Err(TreeError::Database(Error::new(
                    ErrorKind::Validation,
                    "a rule or a hook of the model keeps a write of the tree from its document",
                )));
            }
        }
        Ok(())
    }
}

const OUTDATED: &str = "the tree was changed since it was read";

/// The error of a change that is to be made anew of what there is by now.
fn outdated() -> TreeError {
    TreeError::Database(Error::new(ErrorKind::Conflict, OUTDATED))
}

fn is_outdated(error: &TreeError) -> bool {
    matches!(error, TreeError::Database(error) if error.message() == OUTDATED)
}

pub(super) fn never_first() -> TreeError {
    TreeError::Database(Error::new(
        ErrorKind::Conflict,
        "other changes of the tree were always first",
    ))
}

/// Waiting for one's turn where there are no transactions.
#[derive(Debug)]
pub(super) struct Turns {
    backoff: Backoff,
    /// The intent that is waited for, and how often it was there.
    seen: (Option<i64>, usize),
}

impl Default for Turns {
    fn default() -> Turns {
        Turns {
            backoff: Backoff::new(None),
            seen: (None, 0),
        }
    }
}

impl Turns {
    /// The version of a tree that nobody changes; none, once an intent was waited for or carried out.
    pub(super) async fn next(&mut self, core: &Core) -> Result<Option<i64>> {
        let state = core.ensure_state().await?;
        let Some(intent) = state.intent else {
            core.check_layout(&state)?;
            return Ok(Some(state.version));
        };
        let fence = intent.get_i64("fence").ok();
        if self.seen.0 != fence {
            self.seen = (fence, 0);
        }
        self.seen.1 += 1;
        // Most often its owner is at it; to help would be in the way.
        if self.seen.1 <= PATIENCE {
            self.backoff.wait().await;
        } else {
            core.roll_forward().await?;
        }
        Ok(None)
    }

    /// Somebody else was first.
    pub(super) async fn lost(&mut self) {
        self.backoff.wait().await;
    }
}

impl Core {
    /// The error of a batch; that of an insert names its document.
    pub(super) fn refused(&self, error: Error, inserted: &[Option<&Document>]) -> TreeError {
        let at = error.write_errors().first().map_or(0, |first| first.index);
        let Some(Some(document)) = inserted.get(at) else {
            return error.into();
        };
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        match error.is_duplicate_key() {
            true => self.layout.duplicate(id, Some(error)),
            false => self.blamed(error, &id),
        }
    }

    /// The error of a batch of changes; that of one node names it.
    pub(super) fn refused_of(&self, error: Error, written: &[Option<&Bson>]) -> TreeError {
        let at = error.write_errors().first().map(|first| first.index);
        match at.and_then(|at| written.get(at).copied().flatten()) {
            Some(id) => self.blamed(error, id),
            None => error.into(),
        }
    }

    fn blamed(&self, error: Error, id: &Bson) -> TreeError {
        match is_definite(&error.clone().into()) {
            true => TreeError::Database(error.with_model(self.layout.model).with_id(id.clone())),
            false => error.into(),
        }
    }
}

/// The condition for a document that no later intent has written, nor this one.
pub(super) fn fenced(id: &Bson, fence: i64) -> Document {
    doc! { "_id": equal(id), super::intent::FENCE: { "$not": { "$gte": fence } } }
}
