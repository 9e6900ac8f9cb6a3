//! Changes where there are no transactions: the writes are recorded, then made; whoever comes next makes those of a
//! process that ended meanwhile.
//!
//! Each write says what a document is to be, so that it can be made twice, and carries the number of its intent. A
//! document that was written by a later intent is left alone, so that a process that was held up does no harm.

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::{Result, TreeError};
use super::execute::{fenced, refused};
use super::layout::equal;
use super::plan::{Plan, Write};
use super::state::unreadable;

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
    pub(super) async fn intend(&self, version: i64, plan: Plan) -> Result<bool> {
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
            settled.insert("roots", roots.clone());
        }
        let mut intent = doc! { "fence": fence, "state": settled };
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
    pub(super) async fn carry_out(&self, intent: &Document) -> Result<()> {
        let fence = intent.get_i64("fence").map_err(|_| unreadable())?;
        let writes = match self.intended(intent, fence).await? {
            Some(writes) => writes,
            // Somebody else was faster.
            None => return Ok(()),
        };
        if let Err(error) = self.make_inserts(&writes, fence).await {
            if matches!(error, TreeError::DuplicateKey { .. }) && !self.db.in_transaction() {
                // Nothing else is written yet.
                let ids = inserted(&writes);
                for ids in ids.chunks(BATCH) {
                    self.nodes
                        .delete_many(doc! { "_id": { "$in": ids }, FENCE: fence })
                        .await?;
                }
                let condition = doc! { "intent.fence": fence };
                self.settle_state(condition, &Plan::default(), true).await?;
                self.forget_chunks(intent).await?;
            }
            return Err(error);
        }
        self.make_changes(&writes, fence).await?;
        let plan = Plan {
            state: intent.get_document("state").cloned().unwrap_or_default(),
            ..Plan::default()
        };
        self.settle_state(doc! { "intent.fence": fence }, &plan, true)
            .await?;
        self.forget_chunks(intent).await
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
            let mut missing = Vec::new();
            for write in writes {
                let Write::Insert(document) = write else { continue };
                let id = document.get("_id").cloned().unwrap_or(Bson::Null);
                let stored = there
                    .iter()
                    .find(|own| own.get("_id").is_some_and(|own| super::identity::same(own, &id)));
                match stored.map(|stored| stored.get_i64(FENCE).ok()) {
                    None => {
                        let mut document = document.clone();
                        document.insert(FENCE, fence);
                        missing.push(document);
                    }
                    Some(Some(own)) if own >= fence => {}
                    Some(_) => return Err(TreeError::DuplicateKey { id, source: None }),
                }
            }
            if missing.is_empty() {
                continue;
            }
            let made = self.nodes.insert_many(&missing).await;
            let Err(error) = made else {
                self.take_back(&missing, fence).await?;
                continue;
            };
            let again = error.is_duplicate_key() && error.index() == Some("_id_");
            if again && !self.db.in_transaction() {
                // Somebody else makes the same writes at the same time.
                Box::pin(self.make_inserts(writes, fence)).await?;
                continue;
            }
            let missing: Vec<Write> = missing.into_iter().map(Write::Insert).collect();
            return Err(refused(error, &missing));
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
        let gone: Vec<&Bson> = writes
            .iter()
            .filter_map(|write| match write {
                Write::Delete(ids) => Some(ids),
                _ => None,
            })
            .flatten()
            .collect();
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

    async fn make_changes(&self, writes: &[Write], fence: i64) -> Result<()> {
        self.bury(writes, fence).await?;
        for writes in writes.chunks(BATCH) {
            let mut bulk = self.nodes.bulk_write();
            for write in writes {
                bulk = match write {
                    Write::Insert(_) => bulk,
                    Write::Set { id, set, unset } => {
                        let mut set = set.clone();
                        set.insert(FENCE, fence);
                        bulk.update_one(fenced(id, fence), Write::update(&set, unset))
                    }
                    Write::Delete(ids) => {
                        bulk.delete_many(doc! { "_id": { "$in": ids }, FENCE: { "$not": { "$gt": fence } } })
                    }
                };
            }
            bulk.await?;
        }
        Ok(())
    }

    async fn forget_chunks(&self, intent: &Document) -> Result<()> {
        if let Ok(attempt) = intent.get_object_id("attempt") {
            self.states.delete_many(doc! { "attempt": attempt }).await?;
        }
        Ok(())
    }
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
