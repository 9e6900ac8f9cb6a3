//! Changes where there are no transactions: the writes are recorded, then made; whoever comes next makes those of a
//! process that ended meanwhile.
//!
//! Each write says what a document is to be, so that it can be made twice, and carries the number of its intent. A
//! document that was written by a later intent is left alone, so that a process that was held up does no harm.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use odm::ErrorKind;
use odm::bson::oid::ObjectId;
use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::{Result, TreeError};
use super::execute::fenced;
use super::gate::Ruling;
use super::identity::{Identity, same};
use super::layout::equal;
use super::plan::{Plan, Write};
use super::state::unreadable;
use crate::own;
use crate::still::still;

/// The field of the intent that wrote a node last, where intents are used.
pub(super) const FENCE: &str = "tree_fence";

/// How many bytes of writes stand in one document.
const CHUNK: usize = 2 << 20;

const BATCH: usize = 1_000;

/// For how many changes a deletion is remembered.
const REMEMBERED: i64 = 1_000;

impl Core {
    /// Records the writes of a plan and makes them; `false` when the tree was changed since the version was read.
    ///
    /// # Errors
    /// When an insert is refused; then nothing is written. After other errors the writes are made by whoever comes next.
    pub(super) async fn intend(&self, version: i64, plan: &Plan) -> Result<bool> {
        let fence = version + 1;
        let attempt = ObjectId::new();
        let mut chunks: Vec<Vec<Document>> = vec![Vec::new()];
        let mut bytes = 0;
        for write in &plan.writes {
            let document = write.to_document();
            let size = odm::bson::serialize_to_vec(&document).map_or(0, |bytes| bytes.len());
            if bytes + size > CHUNK && bytes > 0 {
                chunks.push(Vec::new());
                bytes = 0;
            }
            bytes += size;
            if let Some(chunk) = chunks.last_mut() {
                chunk.push(document);
            }
        }
        let mut settled = plan.state.clone();
        if let Some(roots) = &plan.roots {
            settled.insert(self.layout.roots(), roots.clone());
        }
        let mut intent = doc! { "fence": fence, "state": settled, "for_ever": plan.for_ever };
        if chunks.len() == 1 {
            intent.insert("writes", chunks.pop().unwrap_or_default());
        } else {
            intent.extend(doc! { "attempt": attempt, "chunks": i64::try_from(chunks.len()).unwrap_or(0) });
            for (place, chunk) in chunks.into_iter().enumerate() {
                let id = doc! { "attempt": attempt, "chunk": i64::try_from(place).unwrap_or(0) };
                self.states
                    .insert(doc! { "_id": id, "attempt": attempt, "writes": chunk })
                    .await?;
            }
        }
        if !self.record_intent(version, intent.clone()).await? {
            self.forget_chunks(&intent).await?;
            return Ok(false);
        }
        self.carry_out(&intent).await?;
        Ok(true)
    }

    /// Makes the writes of the change that is under way, if there is one.
    ///
    /// # Errors
    /// Those of the database.
    pub(super) async fn roll_forward(&self) -> Result<bool> {
        let intent = self.state().await?.and_then(|state| state.intent);
        match intent {
            None => Ok(false),
            Some(intent) => {
                // The refusal of an insert was its owner's: the change did not happen.
                match self.carry_out(&intent).await {
                    Ok(()) | Err(TreeError::DuplicateKey { .. }) => Ok(true),
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Makes the writes of an intent, and takes it away.
    ///
    /// Where there are transactions, each part of it is one that holds the state, so that whoever was held up writes
    /// nothing any more: not over what a transaction wrote, which leaves no fence.
    pub(super) async fn carry_out(&self, intent: &Document) -> Result<()> {
        let fence = intent.get_i64("fence").map_err(|_| unreadable())?;
        let writes = match self.intended(intent, fence).await? {
            Some(writes) => writes,
            // Somebody else was faster.
            None => return Ok(()),
        };
        let ids = inserted(&writes);
        let intended = Intended {
            fence,
            for_ever: intent.get_bool("for_ever").unwrap_or(false),
            is_undone: false,
            last: Plan {
                state: intent.get_document("state").cloned().unwrap_or_default(),
                ..Plan::default()
            },
        };
        let made = self.in_steps(writes, intended).await;
        if matches!(made, Err(TreeError::DuplicateKey { .. })) && !self.db.in_transaction() {
            let now = self.state().await?.and_then(|state| state.intent);
            if now.and_then(|intent| intent.get_i64("fence").ok()) != Some(fence) {
                // It was carried out meanwhile, and what is there now came later.
                return Ok(());
            }
            // An insert was refused; nothing else is written yet.
            let gone = ids.chunks(BATCH).map(|ids| Write::Delete(ids.to_vec()));
            let undone = Intended {
                fence,
                for_ever: true,
                is_undone: true,
                last: Plan::default(),
            };
            self.in_steps(gone.collect(), undone).await?;
        }
        if made.is_ok() || !self.db.in_transaction() {
            self.forget_chunks(intent).await?;
        }
        made
    }

    /// Makes writes, a part of them at a time, and settles the state.
    async fn in_steps(&self, writes: Vec<Write>, intended: Intended) -> Result<()> {
        let mut writes = writes.into_iter();
        let intended = Arc::new(intended);
        loop {
            let step: Arc<[Write]> = writes.by_ref().take(BATCH).collect();
            let is_last = writes.len() == 0;
            let is_held = match self.db.in_transaction() || !self.db.capabilities().transactions {
                true => {
                    self.make_step(&step, &intended, is_last).await?;
                    true
                }
                false => self.make_step_held(step, intended.clone(), is_last).await?,
            };
            if is_last || !is_held {
                return Ok(());
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
                if !core.hold_intent(intended.fence).await? {
                    return Ok::<bool, TreeError>(false);
                }
                core.make_step(&step, &intended, is_last).await?;
                Ok(true)
            }
        });
        made.await
    }

    fn make_step<'a>(
        &'a self,
        writes: &'a [Write],
        intended: &'a Intended,
        is_last: bool,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let fence = intended.fence;
            if intended.is_undone {
                for write in writes {
                    let own = doc! { "_id": { "$in": write.gone() }, FENCE: fence };
                    self.nodes.delete_many(own).await?;
                }
            } else {
                for write in writes {
                    if let Write::Rename { from, old, new } = write {
                        self.make_rename(from, old, new, fence).await?;
                    }
                }
                self.make_inserts(writes, fence).await?;
                self.make_changes(writes, intended).await?;
            }
            if is_last {
                let own = doc! { "intent.fence": fence };
                self.settle_state(own, &intended.last, true).await?;
            }
            Ok(())
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
            self.bury(&[Write::Delete(vec![from.clone()])], fence).await?;
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

    /// The writes of an intent; `None` when it is done already.
    async fn intended(&self, intent: &Document, fence: i64) -> Result<Option<Vec<Write>>> {
        let documents: Vec<Bson> = match intent.get_array("writes") {
            Ok(writes) => writes.clone(),
            Err(_) => {
                let attempt = intent.get_object_id("attempt").map_err(|_| unreadable())?;
                let count = intent.get_i64("chunks").map_err(|_| unreadable())?;
                let chunks = self
                    .states
                    .find(doc! { "attempt": attempt })
                    .sort_raw(doc! { "_id": 1 })
                    .await?;
                if i64::try_from(chunks.len()).unwrap_or(0) != count {
                    let now = self.state().await?.and_then(|state| state.intent);
                    return match now.and_then(|intent| intent.get_i64("fence").ok()) {
                        Some(now) if now == fence => Err(unreadable()),
                        _ => Ok(None),
                    };
                }
                let writes = chunks.iter().filter_map(|chunk| chunk.get_array("writes").ok());
                writes.flatten().cloned().collect()
            }
        };
        let writes = documents.iter().map(|write| match write {
            Bson::Document(write) => Write::from_document(write),
            _ => Err(unreadable()),
        });
        writes.collect::<Result<_>>().map(Some)
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

    /// Takes back what was inserted too late: others carried the intent out meanwhile, and deleted the node since.
    async fn take_back(&self, documents: &[Document], fence: i64) -> Result<()> {
        let ids = documents.iter().filter_map(|document| document.get("_id"));
        let ids: Vec<Document> = ids.map(|id| self.grave(id)).collect();
        let later = doc! { "_id": { "$in": ids }, "fence": { "$gt": fence } };
        for grave in self.states.find(later).await? {
            if let Some(id) = grave.get("gone") {
                self.nodes
                    .delete_one(doc! { "_id": equal(id), FENCE: fence })
                    .await?;
            }
        }
        Ok(())
    }

    /// The `_id` of the document that says by which intent a node was deleted.
    fn grave(&self, id: &Bson) -> Document {
        let mut grave = self.layout.state_id();
        grave.insert("gone", id);
        grave
    }

    /// Remembers which nodes an intent deletes, for a while.
    async fn bury(&self, writes: &[Write], fence: i64) -> Result<()> {
        let gone: Vec<&Bson> = writes.iter().flat_map(Write::gone).collect();
        for some in gone.chunks(BATCH) {
            let mut bulk = self.states.bulk_write();
            for id in some {
                let set = doc! { "of": self.layout.state_id(), "gone": *id };
                let grave = doc! { "$set": set, "$max": { "fence": fence } };
                bulk = bulk.upsert(doc! { "_id": self.grave(id) }, grave);
            }
            bulk.await?;
        }
        if !gone.is_empty() {
            let of = doc! { "$eq": self.layout.state_id() };
            let forgotten = doc! { "of": of, "fence": { "$lt": fence - REMEMBERED } };
            self.states.delete_many(forgotten).await?;
        }
        Ok(())
    }

    async fn make_changes(&self, writes: &[Write], intended: &Intended) -> Result<()> {
        let fence = intended.fence;
        let is_deletion = |write: &&Write| !write.gone().is_empty();
        let (deletions, changes): (Vec<&Write>, Vec<&Write>) = writes.iter().partition(is_deletion);
        self.change_fenced(&changes, fence).await?;
        let gone: Vec<Bson> = deletions
            .iter()
            .flat_map(|write| write.gone().iter().cloned())
            .collect();
        if gone.is_empty() {
            return Ok(());
        }
        let for_ever = intended.for_ever;
        match self.rule(gone, Ruling::Release { for_ever }).await {
            // Those who refer were asked; who came later finds nothing.
            Err(TreeError::Database(error)) if error.kind() == ErrorKind::Referenced => {}
            released => released?,
        }
        if !self.db.in_transaction() {
            self.bury(writes, fence).await?;
        }
        self.change_fenced(&deletions, fence).await
    }

    async fn change_fenced(&self, writes: &[&Write], fence: i64) -> Result<()> {
        let mut bulk = self.nodes.bulk_write();
        for write in writes {
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
        bulk.await?;
        Ok(())
    }

    async fn forget_chunks(&self, intent: &Document) -> Result<()> {
        if let Ok(attempt) = intent.get_object_id("attempt") {
            self.states.delete_many(doc! { "attempt": attempt }).await?;
        }
        Ok(())
    }
}

/// What all steps of an intent have in common.
#[derive(Debug)]
struct Intended {
    fence: i64,
    for_ever: bool,
    /// Whether the nodes that it inserted are taken out again.
    is_undone: bool,
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
