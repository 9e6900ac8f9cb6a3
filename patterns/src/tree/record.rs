//! An intent as it is recorded: its writes, and what was before them, in as many documents as they need.

use std::collections::{BTreeSet, HashMap};

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::Result;
use super::identity::Identity;
use super::intent::{BATCH, FENCE, fence_of};
use super::plan::{Plan, Write};
use super::state::unreadable;

/// How many bytes of writes stand in one document.
const CHUNK: usize = 2 << 20;

/// The field that tells what was in a node from a write.
const BEFORE: &str = "was";

/// The field of an intent that knows what was before it. Those of earlier programs do not, and cannot be taken back.
pub(super) const KNOWS: &str = "knows_before";

/// What an intent holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    pub(super) writes: Vec<Write>,
    pub(super) before: Vec<Before>,
}

/// What was in the fields of a node that an intent writes.
#[derive(Clone, Debug)]
pub(super) struct Before {
    pub(super) id: Bson,
    set: Document,
    unset: Vec<String>,
    /// The version of the model, which is counted on: it stands for another content now than it did.
    version: Option<String>,
}

/// The fields of a node that an intent writes.
struct Touched {
    id: Bson,
    fields: BTreeSet<String>,
}

impl Before {
    fn read(document: &Document) -> Option<Before> {
        let unset = document.get_array("unset").ok().into_iter().flatten();
        Some(Before {
            id: document.get(BEFORE)?.clone(),
            set: document.get_document("set").ok()?.clone(),
            unset: unset
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            version: document.get_str("version").ok().map(str::to_owned),
        })
    }

    /// No longer than the write itself, so that whatever can be written can be recorded.
    fn to_document(&self) -> Document {
        let mut document = doc! { BEFORE: &self.id, "set": &self.set };
        if !self.unset.is_empty() {
            document.insert("unset", self.unset.iter().map(Bson::from).collect::<Vec<_>>());
        }
        if let Some(version) = &self.version {
            document.insert("version", version);
        }
        document
    }

    /// The update that makes a node what it was, but for the number of its last change.
    pub(super) fn update(&self, number: i64) -> Document {
        let mut set = self.set.clone();
        set.insert(FENCE, number);
        let mut update = Write::update(&set, &self.unset);
        if let Some(version) = &self.version {
            update.insert("$inc", doc! { version: 1_i32 });
        }
        update
    }
}

impl Core {
    /// Records the writes of a plan, and what was before them; the intent, or none when the tree was changed since the
    /// version was read.
    pub(super) async fn record(&self, version: i64, plan: &Plan) -> Result<Option<Document>> {
        let fence = version + 1;
        let attempt = ObjectId::new();
        let before = self.before(plan).await?;
        let writes = plan.writes.iter().map(Write::to_document);
        let mut chunks = chunks(writes.chain(before.iter().map(Before::to_document)));
        let mut settled = plan.state.clone();
        if let Some(roots) = &plan.roots {
            settled.insert(self.layout.roots(), roots.clone());
        }
        let mut intent = doc! { "fence": fence, "state": settled, "for_ever": plan.for_ever, KNOWS: true };
        if chunks.len() == 1 {
            intent.insert("writes", chunks.pop().unwrap_or_default());
        } else {
            intent.extend(doc! { "attempt": attempt, "chunks": i64::try_from(chunks.len()).unwrap_or(0) });
            for (place, chunk) in chunks.into_iter().enumerate() {
                let id = doc! { "attempt": attempt, "chunk": i64::try_from(place).unwrap_or(0) };
                let of = self.layout.state_id();
                let chunk = doc! { "_id": id, "of": of, "fence": fence, "attempt": attempt, "writes": chunk };
                if let Err(error) = self.states.insert(chunk).await {
                    // Nobody knows of them yet.
                    self.states.delete_many(doc! { "attempt": attempt }).await.ok();
                    return Err(error.into());
                }
            }
        }
        if self.record_intent(version, intent.clone()).await? {
            return Ok(Some(intent));
        }
        if intent.contains_key("attempt") {
            self.states.delete_many(doc! { "attempt": attempt }).await?;
        }
        Ok(None)
    }

    /// What is in the fields that a plan writes to nodes which are there. Nobody changes it before the plan is recorded, if
    /// that succeeds.
    async fn before(&self, plan: &Plan) -> Result<Vec<Before>> {
        let touched = touched(plan);
        let mut before = Vec::with_capacity(touched.len());
        for some in touched.chunks(BATCH) {
            let mut fields: Document = some
                .iter()
                .flat_map(|touched| &touched.fields)
                .map(|field| (field.clone(), Bson::Int32(1)))
                .collect();
            fields.insert("_id", 1);
            let ids: Vec<&Bson> = some.iter().map(|touched| &touched.id).collect();
            let found = self.nodes.find(doc! { "_id": { "$in": ids } });
            let found = found.project_raw(fields).await?;
            let mut found: HashMap<Identity, Document> = found
                .into_iter()
                .filter_map(|stored| Some((Identity::of(stored.get("_id")?), stored)))
                .collect();
            for Touched { id, fields } in some {
                let Some(mut stored) = found.remove(&Identity::of(id)) else {
                    continue;
                };
                let version = self.layout.version.filter(|version| fields.contains(*version));
                let mut own = Before {
                    id: id.clone(),
                    set: Document::new(),
                    unset: Vec::new(),
                    version: version.map(str::to_owned),
                };
                for field in fields.iter().filter(|field| Some(field.as_str()) != version) {
                    match stored.remove(field) {
                        Some(value) => drop(own.set.insert(field, value)),
                        None => own.unset.push(field.clone()),
                    }
                }
                before.push(own);
            }
        }
        Ok(before)
    }

    /// What an intent holds; `None` when it is done already.
    pub(super) async fn recorded(&self, intent: &Document) -> Result<Option<Recorded>> {
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
                    return match now.map(|now| fence_of(&now)).transpose()? {
                        Some(now) if now == fence_of(intent)? => Err(unreadable()),
                        _ => Ok(None),
                    };
                }
                let writes = chunks.iter().filter_map(|chunk| chunk.get_array("writes").ok());
                writes.flatten().cloned().collect()
            }
        };
        let mut recorded = Recorded::default();
        for document in &documents {
            let document = document.as_document().ok_or_else(unreadable)?;
            match document.contains_key(BEFORE) {
                true => recorded
                    .before
                    .push(Before::read(document).ok_or_else(unreadable)?),
                false => recorded.writes.push(Write::from_document(document)?),
            }
        }
        Ok(Some(recorded))
    }

    /// Deletes what stands beside an intent that is settled, and beside those that nobody recorded before it.
    pub(super) async fn forget_settled(&self, intent: &Document) -> Result<()> {
        match intent.get_object_id("attempt") {
            Ok(_) => self.forget_until(fence_of(intent)?).await,
            Err(_) => Ok(()),
        }
    }

    /// Deletes what was written for intents that are not in the state and never will be: by then, the tree has a later
    /// version than that which they are for.
    pub(super) async fn forget_strays(&self) -> Result<()> {
        let Some(state) = self.state().await? else {
            return Ok(());
        };
        let last = match &state.intent {
            Some(intent) => fence_of(intent)? - 1,
            None => state.version,
        };
        self.forget_until(last).await
    }

    async fn forget_until(&self, fence: i64) -> Result<()> {
        let of = doc! { "$eq": self.layout.state_id() };
        let settled = doc! { "of": of, "attempt": { "$exists": true }, "fence": { "$lte": fence } };
        self.states.delete_many(settled).await?;
        Ok(())
    }
}

/// Writes in lists that each fit into a document.
fn chunks(writes: impl Iterator<Item = Document>) -> Vec<Vec<Document>> {
    let mut chunks: Vec<Vec<Document>> = vec![Vec::new()];
    let mut bytes = 0;
    for document in writes {
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
    chunks
}

/// The nodes that a plan writes to, in the order of its writes, with the fields of each.
fn touched(plan: &Plan) -> Vec<Touched> {
    let mut all: Vec<Touched> = Vec::new();
    let mut places: HashMap<Identity, usize> = HashMap::new();
    let mut touch = |id: &Bson, fields: &mut dyn Iterator<Item = &str>| {
        let place = *places.entry(Identity::of(id)).or_insert_with(|| {
            let (id, fields) = (id.clone(), BTreeSet::new());
            all.push(Touched { id, fields });
            all.len() - 1
        });
        all[place].fields.extend(fields.map(str::to_owned));
    };
    for write in &plan.writes {
        match write {
            Write::Set { id, set, unset } => {
                let names = set.keys().map(String::as_str);
                touch(id, &mut names.chain(unset.iter().map(String::as_str)));
            }
            Write::Made {
                ids,
                update: Some(update),
                ..
            } => {
                for id in ids {
                    touch(id, &mut top_fields(update));
                }
            }
            _ => {}
        }
    }
    all
}

/// The fields of the top level that an update names.
fn top_fields(update: &Document) -> impl Iterator<Item = &str> {
    let operators = update.iter().filter_map(|(operator, fields)| {
        let fields = fields.as_document()?;
        Some((operator == "$rename", fields))
    });
    let paths = operators.flat_map(|(renames, fields)| {
        fields.iter().flat_map(move |(path, value)| {
            let other = value.as_str().filter(|_| renames);
            [Some(path.as_str()), other].into_iter().flatten()
        })
    });
    paths.map(|path| path.split('.').next().unwrap_or(path))
}
