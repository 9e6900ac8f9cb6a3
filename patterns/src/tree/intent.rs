//! Changes where there are no transactions: the writes are recorded, then made; whoever comes next makes those of a
//! process that ended meanwhile.
//!
//! Each write says what a document is to be, so that it can be made twice, and carries the number of its intent. A
//! document that was written by a later intent is left alone, so that a process that was held up does no harm.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use odm::ErrorKind;
use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::{Result, TreeError};
use super::execute::fenced;
use super::gate::Ruling;
use super::identity::{Identity, same};
use super::layout::equal;
use super::plan::{Plan, Write};
use super::state::unreadable;
use super::undo::{BACK, DELETES, Fate, is_definite};
use crate::own;
use crate::still::still;

/// The field of the intent that wrote a node last, where intents are used.
pub(super) const FENCE: &str = "tree_fence";

pub(super) const BATCH: usize = 1_000;

impl Core {
    /// Records the writes of a plan and makes them; `false` when the tree was changed since the version was read.
    ///
    /// # Errors
    /// When the database refuses one of them; then all are taken back. After other errors they are made, or taken back, by
    /// whoever comes next.
    pub(super) async fn intend(&self, version: i64, plan: &Plan) -> Result<bool> {
        let Some(intent) = self.record(version, plan).await? else {
            return Ok(false);
        };
        match self.carry_out(&intent).await? {
            Fate::Made => Ok(true),
            Fate::Undone(refusal) => Err(*refusal),
        }
    }

    /// Makes the writes of the change that is under way, if there is one, or takes them back.
    ///
    /// # Errors
    /// Those of the database. What it refuses was its owner's: the change did not happen.
    pub(super) async fn roll_forward(&self) -> Result<()> {
        if let Some(intent) = self.state().await?.and_then(|state| state.intent) {
            self.carry_out(&intent).await?;
        }
        Ok(())
    }

    /// Makes the writes of an intent, and takes it away. If one is refused, takes back what was made of them.
    ///
    /// Where there are transactions, each part of it is one that holds the state, so that whoever was held up writes
    /// nothing any more: not over what a transaction wrote, which leaves no fence.
    pub(super) async fn carry_out(&self, intent: &Document) -> Result<Fate> {
        let Some(recorded) = self.recorded(intent).await? else {
            // Somebody else was faster.
            return self.fate(intent).await;
        };
        let fate = match intent.contains_key(BACK) {
            true => self.undo(intent, recorded).await?,
            false => {
                let made = self.in_steps(recorded.writes.clone(), intent).await;
                match made {
                    Ok(true) => Fate::Made,
                    Ok(false) => {
                        let now = self.state().await?.and_then(|state| state.intent);
                        match now.filter(|now| now.get("fence") == intent.get("fence")) {
                            Some(now) if now.contains_key(BACK) => self.undo(&now, recorded).await?,
                            _ => self.fate(intent).await?,
                        }
                    }
                    Err(refusal) if is_definite(&refusal) && !self.db.in_transaction() => {
                        self.undo_refused(intent, recorded, refusal).await?
                    }
                    Err(error) => return Err(error),
                }
            }
        };
        // Not before it is settled: until then whoever comes needs them. What is left of them is forgotten by others.
        let forgotten = self.forget_settled(intent).await;
        if self.db.in_transaction() {
            forgotten?;
        }
        Ok(fate)
    }

    /// Makes writes, a part of them at a time, and settles the state; `false` when somebody else has, or takes them back.
    async fn in_steps(&self, writes: Vec<Write>, intent: &Document) -> Result<bool> {
        let intended = Arc::new(Intended {
            fence: fence_of(intent)?,
            for_ever: intent.get_bool("for_ever").unwrap_or(false),
            last: Plan {
                state: intent.get_document("state").cloned().unwrap_or_default(),
                ..Plan::default()
            },
        });
        let mut writes = writes.into_iter();
        loop {
            let step: Arc<[Write]> = writes.by_ref().take(BATCH).collect();
            let is_last = writes.len() == 0;
            let is_under_way = match self.is_held() && !self.db.in_transaction() {
                true => self.make_step_held(step, intended.clone(), is_last).await?,
                false => self.make_step(&step, &intended, is_last).await?,
            };
            if is_last || !is_under_way {
                return Ok(is_under_way);
            }
        }
    }

    /// Makes a part of an intent in a transaction; `false` when it was carried out meanwhile.
    async fn make_step_held(
        &self,
        step: Arc<[Write]>,
        intended: Arc<Intended>,
        is_last: bool,
    ) -> Result<bool> {
        let options = odm::backend::TransactionOptions::new();
        let made = self.db.transaction_with(options, move |tx| {
            let (core, step, intended) = (self.within(&tx), step.clone(), intended.clone());
            async move {
                match core.hold_intent(intended.fence, None).await? {
                    true => core.make_step(&step, &intended, is_last).await,
                    false => Ok::<bool, TreeError>(false),
                }
            }
        });
        made.await
    }

    fn make_step<'a>(
        &'a self,
        writes: &'a [Write],
        intended: &'a Intended,
        is_last: bool,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let fence = intended.fence;
            for write in writes {
                if let Write::Rename { from, old, new } = write {
                    self.make_rename(from, old, new, fence).await?;
                }
            }
            self.make_inserts(writes, fence).await?;
            if !self.make_changes(writes, intended, is_last).await? {
                return Ok(false);
            }
            match is_last {
                true => self.settle_state(open(fence), &intended.last, true).await,
                false => Ok(true),
            }
        })
    }

    /// Stores a document under another `_id`.
    async fn make_rename(&self, from: &Bson, old: &Document, new: &Document, fence: i64) -> Result<()> {
        let to = new.get("_id").cloned().unwrap_or(Bson::Null);
        // By its bytes: to the collation of the collection, the new one may be the same.
        let mut earlier = still("_id", from);
        earlier.insert(FENCE, doc! { "$not": { "$gt": fence } });
        let there = self.nodes.find_one(doc! { "_id": equal(&to) }).await?;
        let is_old = |there: &Document| there.get("_id").is_some_and(|id| same(id, from));
        let is_in_the_way = there.as_ref().is_some_and(is_old);
        match there
            .filter(|there| !is_old(there))
            .map(|there| there.get_i64(FENCE).ok())
        {
            Some(Some(own)) if own >= fence => {}
            Some(_) => return Err(self.layout.duplicate(to, None)),
            None => {
                let mut document = new.clone();
                document.insert(FENCE, fence);
                if self.db.in_transaction() {
                    self.nodes.delete_one(earlier.clone()).await?;
                    let made = self.nodes.insert_one(&document).await;
                    made.map_err(|error| self.refused(error, &[Some(&document)]))?;
                } else {
                    self.insert_renamed(&document, old, &earlier, is_in_the_way)
                        .await?;
                    self.take_back(std::slice::from_ref(&document), fence).await?;
                }
            }
        }
        if !self.db.in_transaction() {
            self.bury(&[from], fence).await?;
        }
        self.nodes.delete_one(earlier).await?;
        Ok(())
    }

    async fn insert_renamed(
        &self,
        new: &Document,
        old: &Document,
        earlier: &Document,
        is_in_the_way: bool,
    ) -> Result<()> {
        let refusal = match self.nodes.insert_one(new).await {
            Ok(_) => return Ok(()),
            Err(error) if !is_in_the_way && own::is_of_id(&error) => {
                return self.refuse_other(new, error).await;
            }
            Err(error) if error.is_duplicate_key() => error,
            Err(error) => return Err(error.into()),
        };
        // Most often by the old one, which has the same keys of the model's own unique indexes.
        self.nodes.delete_one(earlier.clone()).await?;
        match self.nodes.insert_one(new).await {
            Ok(_) => Ok(()),
            Err(error) if own::is_of_id(&error) => self.refuse_other(new, error).await,
            Err(_) => {
                // If that is refused too, the intent stays, and the document in it.
                self.nodes.insert_one(old).await?;
                Err(self.refused(refusal, &[Some(new)]))
            }
        }
    }

    /// Refuses a document whose `_id` is that of another one, by the collation of the collection. Otherwise it is there
    /// itself.
    async fn refuse_other(&self, new: &Document, error: odm::Error) -> Result<()> {
        let id = new.get("_id").cloned().unwrap_or(Bson::Null);
        let there = self
            .nodes
            .find(doc! { "_id": equal(&id) })
            .project_raw(doc! { "_id": 1 })
            .await?;
        let there = there.first().and_then(|there| there.get("_id"));
        match there.is_some_and(|there| !same(there, &id)) {
            true => Err(self.layout.duplicate(id, Some(error))),
            false => Ok(()),
        }
    }

    async fn make_inserts(&self, writes: &[Write], fence: i64) -> Result<()> {
        let ids = inserted(writes);
        for (writes, ids) in inserts(writes).chunks(BATCH).zip(ids.chunks(BATCH)) {
            let there = self.nodes.find(doc! { "_id": { "$in": ids } });
            let there = there.project_raw(doc! { "_id": 1, FENCE: 1 }).await?;
            let there: HashMap<Identity, Option<i64>> = there
                .iter()
                .filter_map(|own| Some((Identity::of(own.get("_id")?), own.get_i64(FENCE).ok())))
                .collect();
            let mut missing = Vec::new();
            for write in writes {
                let Write::Insert(document) = write else { continue };
                let id = document.get("_id").cloned().unwrap_or(Bson::Null);
                match there.get(&Identity::of(&id)) {
                    None => {
                        let mut document = document.clone();
                        document.insert(FENCE, fence);
                        missing.push(document);
                    }
                    Some(Some(own)) if *own >= fence => {}
                    Some(_) => return Err(self.layout.duplicate(id, None)),
                }
            }
            if missing.is_empty() {
                continue;
            }
            let made = self.nodes.insert_many(&missing).await;
            let Err(error) = made else {
                if !self.db.in_transaction() {
                    self.take_back(&missing, fence).await?;
                }
                continue;
            };
            if own::is_of_id(&error) && !self.db.in_transaction() {
                // Somebody else makes the same writes at the same time, or has made them.
                let at = error.write_errors().first().map_or(0, |first| first.index);
                if let Some(refused) = missing.get(at) {
                    self.refuse_other(refused, error).await?;
                }
                Box::pin(self.make_inserts(writes, fence)).await?;
                self.take_back(&missing, fence).await?;
                continue;
            }
            let missing: Vec<Option<&Document>> = missing.iter().map(Some).collect();
            return Err(self.refused(error, &missing));
        }
        Ok(())
    }

    /// Makes updates, then deletions; `false` when it is seen before the latter that the intent is not under way any more.
    async fn make_changes(&self, writes: &[Write], intended: &Intended, is_last: bool) -> Result<bool> {
        let fence = intended.fence;
        let is_deletion = |write: &&Write| !write.gone().is_empty();
        let (deletions, changes): (Vec<&Write>, Vec<&Write>) = writes.iter().partition(is_deletion);
        self.change_fenced(&changes, fence).await?;
        let gone: Vec<&Bson> = deletions.iter().flat_map(|write| write.gone()).collect();
        if gone.is_empty() {
            return Ok(true);
        }
        // It is refused, or taken back by others, before anybody who refers to its nodes is told.
        if !self.is_held() && !self.is_under_way(fence).await? {
            return Ok(false);
        }
        let for_ever = intended.for_ever;
        let ids = gone.iter().map(|id| (*id).clone()).collect();
        match self.rule(ids, Ruling::Release { for_ever }).await {
            // Those who refer were asked; who came later finds nothing.
            Err(TreeError::Database(error)) if error.kind() == ErrorKind::Referenced => {}
            released => released?,
        }
        let is_one = self.is_held() && is_last;
        if deletions.iter().any(|write| write.is_for_ever()) && !is_one && !self.go_onward(fence).await? {
            return Ok(false);
        }
        if !self.db.in_transaction() {
            self.bury(&gone, fence).await?;
        }
        self.change_fenced(&deletions, fence).await?;
        Ok(true)
    }

    async fn is_under_way(&self, fence: i64) -> Result<bool> {
        let mut own = self.state_filter();
        own.extend(open(fence));
        Ok(self.states.exists(own).await?)
    }

    /// Says that an intent is not taken back any more, since nodes are deleted; `false` when it is already.
    async fn go_onward(&self, fence: i64) -> Result<bool> {
        let mut own = self.state_filter();
        own.extend(open(fence));
        let onward = doc! { "$set": { format!("intent.{DELETES}"): true } };
        Ok(self.states.update_one(own, onward).await?.matched == 1)
    }

    async fn change_fenced(&self, writes: &[&Write], fence: i64) -> Result<()> {
        let mut bulk = self.nodes.bulk_write();
        let mut written = Vec::with_capacity(writes.len());
        for write in writes {
            if let Write::Insert(_) | Write::Rename { .. } = write {
                continue;
            }
            written.push(write.node());
            bulk = match write {
                Write::Insert(_) | Write::Rename { .. } => bulk,
                Write::Set { id, set, unset } => {
                    let mut set = set.clone();
                    set.insert(FENCE, fence);
                    bulk.update_one(fenced(id, fence), Write::update(&set, unset))
                }
                Write::Delete(ids) => {
                    bulk.delete_many(doc! { "_id": { "$in": ids }, FENCE: { "$not": { "$gt": fence } } })
                }
                Write::Made {
                    filter,
                    update,
                    is_deletion,
                    ..
                } => {
                    let earlier =
                        |than: &str| doc! { "$and": [filter, { FENCE: { "$not": { than: fence } } }] };
                    match update {
                        // What is deleted softly may have been changed by the same intent. Once deleted, it is not found.
                        Some(update) if *is_deletion => {
                            bulk.update_many(earlier("$gt"), with_fence(update, fence))
                        }
                        Some(update) => bulk.update_many(earlier("$gte"), with_fence(update, fence)),
                        None => bulk.delete_many(earlier("$gt")),
                    }
                }
            };
        }
        bulk.await.map_err(|error| self.refused_of(error, &written))?;
        Ok(())
    }
}

/// The number of an intent.
pub(super) fn fence_of(intent: &Document) -> Result<i64> {
    intent.get_i64("fence").map_err(|_| unreadable())
}

/// The condition for the state while an intent is carried out, and not taken back.
fn open(fence: i64) -> Document {
    doc! { "intent.fence": fence, format!("intent.{BACK}"): Bson::Null }
}

/// What all steps of an intent have in common.
#[derive(Debug)]
struct Intended {
    fence: i64,
    for_ever: bool,
    /// What is set of the state in the end.
    last: Plan,
}

/// The update that leaves the number of its intent.
fn with_fence(update: &Document, fence: i64) -> Document {
    let mut update = update.clone();
    match update.get_document_mut("$set") {
        Ok(set) => drop(set.insert(FENCE, fence)),
        Err(_) => drop(update.insert("$set", doc! { FENCE: fence })),
    }
    update
}

fn inserts(writes: &[Write]) -> Vec<Write> {
    writes
        .iter()
        .filter(|write| matches!(write, Write::Insert(_)))
        .cloned()
        .collect()
}

fn inserted(writes: &[Write]) -> Vec<Bson> {
    let ids = writes.iter().filter_map(|write| match write {
        Write::Insert(document) => Some(document.get("_id").cloned().unwrap_or(Bson::Null)),
        _ => None,
    });
    ids.collect()
}
