//! Many tasks at work on a few documents.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use bson::{Bson, Document, doc};
use odm::backend::{ReadConcern, TransactionOptions};
use odm::{Collection, Db, Error};

use super::history::{Answer, Change, Commit, Found, History, Key, Query, Row, STAMPS, Step, Unit, Work};
use crate::random::Random;

const NAMES: [&str; 2] = ["left", "right"];
const TAGS: i32 = 6;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub tasks: usize,
    /// Of all tasks together.
    pub operations: usize,
    /// Documents of each collection, at the most.
    pub documents: i32,
    pub seed: u64,
}

/// The counters that all tasks share.
#[derive(Debug, Default)]
struct Shared {
    ticks: AtomicU64,
    units: AtomicI64,
    left: AtomicI64,
}

impl Shared {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }
}

/// Lets tasks work on an empty database; what happened.
///
/// # Panics
/// When an operation fails in a way that the load does not ask for.
pub async fn run(db: &Db, load: Load) -> History {
    let before = prepare(db, load).await;
    let changes = db
        .watch()
        .decode::<Document>()
        .await
        .expect("changes can be watched");
    // On the server each document of a statement is a commit of its own.
    let statements_are_atomic = db.backend_name() != "mongodb";
    let listener = tokio::spawn(listen(changes, before.clone(), statements_are_atomic));
    let shared = Arc::new(Shared::default());
    shared.units.store(1, Ordering::Relaxed);
    shared.left.store(
        i64::try_from(load.operations).unwrap_or(i64::MAX),
        Ordering::Relaxed,
    );
    let tasks: Vec<_> = (0..load.tasks)
        .map(|task| {
            let worker = Worker {
                db: db.clone(),
                shared: shared.clone(),
                random: Random::new(load.seed.wrapping_mul(1_000_003).wrapping_add(task as u64)),
                documents: load.documents,
                units: Vec::new(),
            };
            tokio::spawn(worker.work())
        })
        .collect();
    let mut units = Vec::new();
    for task in tasks {
        units.extend(task.await.expect("a worker ends"));
    }
    let end = db.raw_collection("end").insert(doc! { "_id": 0 });
    end.await.expect("the end is written");
    History {
        before,
        units,
        commits: listener.await.expect("the listener ends"),
        statements_are_atomic,
    }
}

/// Both collections, half full.
async fn prepare(db: &Db, load: Load) -> BTreeMap<Key, Row> {
    let mut before = BTreeMap::new();
    for (c, name) in (0..).zip(NAMES) {
        let index = doc! { "key": { "tag": 1 }, "name": "tag_1" };
        let command = doc! { "createIndexes": name, "indexes": [index] };
        db.run_command(command).await.expect("the index is made");
        let mut all = Vec::new();
        for id in (0..load.documents).step_by(2) {
            let row = Row {
                stamp: 0,
                count: 0,
                tag: id % TAGS,
            };
            all.push(document((c, id), row));
            before.insert((c, id), row);
        }
        db.raw_collection(name)
            .insert_many(all)
            .await
            .expect("documents are inserted");
    }
    before
}

/// A row is whole when its stamp stands at both ends.
fn document(key: Key, row: Row) -> Document {
    doc! { "_id": key.1, "stamp": row.stamp, "count": row.count, "tag": row.tag, "last": row.stamp }
}

fn row(found: &Document) -> Row {
    let number = |name: &str| match found.get(name) {
        Some(Bson::Int64(number)) => *number,
        Some(Bson::Int32(number)) => i64::from(*number),
        other => panic!("{name} is {other:?} in {found}"),
    };
    assert_eq!(number("stamp"), number("last"), "a torn document: {found}");
    Row {
        stamp: number("stamp"),
        count: number("count"),
        tag: i32::try_from(number("tag")).expect("a small tag"),
    }
}

fn id(found: &Document) -> i32 {
    found.get_i32("_id").expect("a numeric _id")
}

/// Reads events until the end; the commits, with what each document says then.
async fn listen(
    mut changes: odm::ChangeStream<Document>,
    mut state: BTreeMap<Key, Row>,
    atomic: bool,
) -> Vec<Commit> {
    let mut commits: Vec<Commit> = Vec::new();
    let mut last = None;
    loop {
        let event = changes
            .try_next()
            .await
            .expect("the stream is read")
            .expect("the stream goes on");
        let collection = event
            .get_document("ns")
            .and_then(|ns| ns.get_str("coll"))
            .unwrap_or_default();
        if collection == "end" {
            return commits;
        }
        let Some(c) = NAMES.iter().position(|name| *name == collection) else {
            continue;
        };
        let key = (c as u8, id(event.get_document("documentKey").expect("a key")));
        let after = match event.get_str("operationType").unwrap_or_default() {
            "insert" | "replace" => Some(row(event.get_document("fullDocument").expect("the document"))),
            "update" => {
                let old = state
                    .get(&key)
                    .unwrap_or_else(|| panic!("an update of nothing: {event}"));
                let mut new = document(key, *old);
                let description = event.get_document("updateDescription").expect("a description");
                new.extend(description.get_document("updatedFields").expect("fields").clone());
                Some(row(&new))
            }
            "delete" => None,
            other => panic!("an event {other}"),
        };
        match after {
            Some(row) => state.insert(key, row),
            None => state.remove(&key),
        };
        let time = event.get_timestamp("clusterTime").ok();
        // One statement gives all its documents the same stamp.
        let stamp = after.map(|row| row.stamp);
        let same_statement = |commit: &Commit| {
            let before = commit
                .changes
                .last()
                .and_then(|(_, row)| *row)
                .map(|row| row.stamp);
            atomic && stamp.is_some() && before == stamp
        };
        match commits.last_mut() {
            // No two commits have the same time.
            Some(commit) if time == last || same_statement(commit) => commit.changes.push((key, after)),
            _ => commits.push(Commit {
                changes: vec![(key, after)],
            }),
        }
        last = time;
    }
}

struct Worker {
    db: Db,
    shared: Arc<Shared>,
    random: Random,
    documents: i32,
    units: Vec<Unit>,
}

impl Worker {
    async fn work(mut self) -> Vec<Unit> {
        while self.shared.left.load(Ordering::Relaxed) > 0 {
            let unit = self.shared.units.fetch_add(1, Ordering::Relaxed);
            match self.random.below(12) {
                0..=2 => self.transaction(unit).await,
                3 if self.random.one_in(2) => self.multi(unit).await,
                _ => self.single(unit).await,
            }
        }
        self.units
    }

    fn keep(&mut self, id: i64, start: u64, seen: u64, work: Work) {
        let operations = match &work {
            Work::Transaction(steps, _) => steps.len().max(1),
            _ => 1,
        };
        self.shared.left.fetch_sub(operations as i64, Ordering::Relaxed);
        let end = self.shared.tick();
        self.units.push(Unit {
            id,
            start,
            seen: seen.min(end),
            end,
            work,
        });
    }

    async fn single(&mut self, unit: i64) {
        let plan = self.plan(unit, 0);
        let start = self.shared.tick();
        let db = self.db.clone();
        let step = perform(&db, plan)
            .await
            .unwrap_or_else(|error| panic!("{plan:?}: {error:?}"));
        self.keep(unit, start, u64::MAX, Work::Single(step));
    }

    async fn multi(&mut self, unit: i64) {
        let c = self.random.below(2) as u8;
        let (tag, add, stamp) = (self.tag(), 1 + self.random.below(5) as i64, unit * STAMPS);
        let start = self.shared.tick();
        let change = doc! { "$inc": { "count": add }, "$set": { "stamp": stamp, "last": stamp } };
        let update = self
            .db
            .raw_collection(NAMES[usize::from(c)])
            .update_many(doc! { "tag": tag }, change);
        let done = update.await.expect("documents are updated");
        let work = Work::Multi {
            collection: c,
            tag,
            add,
            stamp,
            count: done.modified,
        };
        self.keep(unit, start, u64::MAX, work);
    }

    /// Some steps in a transaction, which conflicts may end.
    async fn transaction(&mut self, unit: i64) {
        let length = 1 + self.random.below(6) as i64;
        let give_up = self.random.one_in(10);
        let start = self.shared.tick();
        // Of another concern the server's transactions may see a commit without one before it, as long as nobody was
        // told of that.
        let options = TransactionOptions::new().read_concern(ReadConcern::Snapshot);
        let tx = self.db.begin_with(options).await;
        let tx = tx.expect("a transaction begins");
        let mut seen = None;
        let mut steps = Vec::new();
        let mut failed = false;
        for at in 0..length {
            let plan = self.plan(unit, at);
            match perform(&tx, plan).await {
                // The server aborts what it refuses.
                Ok(Step::Write(_, Answer::Duplicate)) => failed = true,
                Ok(step) => steps.push(step),
                Err(error) if error.has_label("TransientTransactionError") => failed = true,
                Err(error) => panic!("{plan:?}: {error:?}"),
            }
            seen.get_or_insert_with(|| self.shared.tick());
            if failed {
                break;
            }
            // Others get between the steps.
            tokio::task::yield_now().await;
        }
        let done = !failed
            && !give_up
            && match tx.commit().await {
                Ok(()) => true,
                Err(error) if error.has_label("TransientTransactionError") => false,
                Err(error) => panic!("a commit: {error:?}"),
            };
        if !done {
            tx.abort().await;
        }
        self.keep(
            unit,
            start,
            seen.unwrap_or(u64::MAX),
            Work::Transaction(steps, done),
        );
    }

    fn key(&mut self) -> Key {
        // A few documents are much in demand.
        let range = if self.random.one_in(3) {
            4.min(self.documents)
        } else {
            self.documents
        };
        (
            self.random.below(2) as u8,
            self.random.below(range as usize) as i32,
        )
    }

    fn tag(&mut self) -> i32 {
        self.random.below(TAGS as usize) as i32
    }

    /// What to do next.
    fn plan(&mut self, unit: i64, at: i64) -> Plan {
        let key = self.key();
        let stamp = unit * STAMPS + at;
        let row = Row {
            stamp,
            count: self.random.below(100) as i64,
            tag: self.tag(),
        };
        let add = 1 + self.random.below(9) as i64;
        let by_answer = self.random.one_in(2);
        match self.random.below(20) {
            0..=3 => Plan::Read(Query::One(key)),
            4..=5 => {
                let (from, length) = (
                    self.random.below(self.documents as usize) as i32,
                    1 + self.random.below(12) as i32,
                );
                Plan::Read(Query::Range(key.0, from, from + length))
            }
            6..=7 => Plan::Read(Query::Tag(key.0, row.tag)),
            8 => Plan::Read(Query::Count(key.0)),
            9 => Plan::Read(Query::CountTag(key.0, row.tag)),
            10..=11 => Plan::Write(Change::Insert(key, row), by_answer),
            12..=14 => Plan::Write(Change::Add(key, add, stamp), by_answer),
            15..=16 => Plan::Write(Change::Tag(key, row.tag, stamp), by_answer),
            17 => Plan::Write(Change::Replace(key, row), by_answer),
            _ => Plan::Write(Change::Delete(key), by_answer),
        }
    }
}

/// What to do; for a write also whether to ask for the document as it is afterwards.
#[derive(Clone, Copy, Debug)]
enum Plan {
    Read(Query),
    Write(Change, bool),
}

async fn perform(db: &Db, plan: Plan) -> Result<Step, Error> {
    match plan {
        Plan::Read(query) => Ok(Step::Read(query, read(db, query).await?)),
        Plan::Write(change, by_answer) => Ok(Step::Write(change, write(db, change, by_answer).await?)),
    }
}

fn collection(db: &Db, c: u8) -> Collection<Document> {
    db.raw_collection(NAMES[usize::from(c)])
}

async fn read(db: &Db, query: Query) -> Result<Found, Error> {
    let (c, filter) = match query {
        Query::One((c, id)) => (c, doc! { "_id": id }),
        Query::Range(c, from, to) => (c, doc! { "_id": { "$gte": from, "$lte": to } }),
        Query::Tag(c, tag) => (c, doc! { "tag": tag }),
        Query::Count(c) => return Ok(Found::Count(collection(db, c).count(doc! {}).await?)),
        Query::CountTag(c, tag) => {
            let count = collection(db, c).count(doc! { "tag": tag });
            return Ok(Found::Count(count.await?));
        }
    };
    // Small batches, so that a cursor lives through commits of others.
    let found = collection(db, c).find(filter).batch_size(3).await?;
    let rows: HashMap<i32, Row> = found.iter().map(|found| (id(found), row(found))).collect();
    let mut rows: Vec<(Key, Row)> = rows.into_iter().map(|(id, row)| ((c, id), row)).collect();
    rows.sort_by_key(|(key, _)| *key);
    Ok(Found::Rows(rows))
}

async fn write(db: &Db, change: Change, by_answer: bool) -> Result<Answer, Error> {
    let (c, id) = change.key();
    let own = collection(db, c);
    let filter = doc! { "_id": id };
    let update = match change {
        Change::Insert(key, row) => {
            return match own.insert(document(key, row)).await {
                Ok(_) => Ok(Answer::Done),
                Err(error) if error.is_duplicate_key() => Ok(Answer::Duplicate),
                Err(error) => Err(error),
            };
        }
        Change::Delete(_) => {
            let found = own.find_one_and_delete(filter).await?;
            return Ok(found.map_or(Answer::Missing, |found| Answer::Before(row(&found))));
        }
        Change::Replace(key, new) if by_answer => {
            let found = own
                .find_one_and_replace(filter, document(key, new))
                .return_new()
                .await?;
            return Ok(found.map_or(Answer::Missing, |found| Answer::After(row(&found))));
        }
        Change::Replace(key, new) => {
            let done = own.replace_one(filter, document(key, new)).await?;
            return Ok(if done.matched == 0 {
                Answer::Missing
            } else {
                Answer::Done
            });
        }
        Change::Add(_, add, stamp) => {
            doc! { "$inc": { "count": add }, "$set": { "stamp": stamp, "last": stamp } }
        }
        Change::Tag(_, tag, stamp) => doc! { "$set": { "tag": tag, "stamp": stamp, "last": stamp } },
    };
    if !by_answer {
        let done = own.update_one(filter, update).await?;
        return Ok(if done.matched == 0 {
            Answer::Missing
        } else {
            Answer::Done
        });
    }
    let before = matches!(change, Change::Tag(..));
    let mut action = own.find_one_and_update(filter, update);
    if !before {
        action = action.return_new();
    }
    Ok(match action.await?.map(|found| row(&found)) {
        None => Answer::Missing,
        Some(row) if before => Answer::Before(row),
        Some(row) => Answer::After(row),
    })
}
