//! Carrying changes out: all of a change or nothing, one after another.

use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind};

use super::change::{Change, Outcome};
use super::core::Core;
use super::error::{Result, TreeError};
use super::layout::equal;
use super::plan::{Plan, Write};

/// How often a change is planned anew because others were first.
const ATTEMPTS: usize = 10_000;

/// How many writes go into one operation.
const BATCH: usize = 2_000;

impl Core {
    /// Carries a change out.
    ///
    /// Inside a transaction that runs already, as a part of it. Otherwise in a transaction of its own, which is run
    /// again after conflicts; where there are none, by an intent.
    ///
    /// # Errors
    /// What the change cannot be for; then nothing is written.
    pub(super) async fn execute(&self, change: &Change) -> Result<Outcome> {
        if self.db.in_transaction() {
            return self.execute_inside(change).await;
        }
        let turn = self.turn.clone();
        let _turn = turn.lock().await;
        if self.layout.write_ahead || !self.db.capabilities().transactions {
            return self.execute_ahead(change).await;
        }
        let state = self.ensure_state().await?;
        if state.intent.is_some() {
            self.roll_forward().await?;
        }
        let options = odm::backend::TransactionOptions::new();
        self.db
            .transaction_with(options, async |tx| self.within(&tx).execute_inside(change).await)
            .await
    }

    async fn execute_inside(&self, change: &Change) -> Result<Outcome> {
        let state = self.touch_state().await?;
        if let Some(intent) = state.intent {
            self.carry_out(&intent).await?;
        }
        let (plan, outcome) = self.plan(change).await?;
        self.apply(&plan).await?;
        self.settle_state(Document::new(), &plan, false).await?;
        Ok(outcome)
    }

    async fn execute_ahead(&self, change: &Change) -> Result<Outcome> {
        for _ in 0..ATTEMPTS {
            let state = self.ensure_state().await?;
            if state.intent.is_some() {
                self.roll_forward().await?;
                continue;
            }
            let planned = self.plan(change).await;
            // What was read while others wrote says nothing.
            if planned.is_err() && self.is_changed_since(state.version).await? {
                continue;
            }
            let (plan, outcome) = planned?;
            if plan.is_empty() {
                return Ok(outcome);
            }
            if self.intend(state.version, plan).await? {
                return Ok(outcome);
            }
        }
        Err(TreeError::Database(Error::new(
            ErrorKind::Conflict,
            "other changes of the tree were always first",
        )))
    }

    async fn is_changed_since(&self, version: i64) -> Result<bool> {
        let now = self.state().await?;
        Ok(now.is_some_and(|now| now.version != version || now.intent.is_some()))
    }

    /// Makes the writes of a plan, inside a transaction.
    async fn apply(&self, plan: &Plan) -> Result<()> {
        for writes in plan.writes.chunks(BATCH) {
            let mut bulk = self.nodes.bulk_write();
            for write in writes {
                bulk = match write {
                    Write::Insert(document) => bulk.insert(document),
                    Write::Set { id, set, unset } => {
                        bulk.update_one(Write::filter(id), Write::update(set, unset))
                    }
                    Write::Delete(ids) => bulk.delete_many(doc! { "_id": { "$in": ids } }),
                };
            }
            bulk.await.map_err(|error| refused(error, writes))?;
        }
        Ok(())
    }
}

/// The error of a batch; that of an insert names its document.
pub(super) fn refused(error: Error, writes: &[Write]) -> TreeError {
    if !error.is_duplicate_key() {
        return error.into();
    }
    let at = error.write_errors().first().map_or(0, |first| first.index);
    match writes.get(at) {
        Some(Write::Insert(document)) => TreeError::DuplicateKey {
            id: document.get("_id").cloned().unwrap_or(Bson::Null),
            source: Some(error),
        },
        _ => error.into(),
    }
}

/// The condition for a document that no later intent has written.
pub(super) fn fenced(id: &Bson, fence: i64) -> Document {
    doc! { "_id": equal(id), super::intent::FENCE: { "$not": { "$gte": fence } } }
}
