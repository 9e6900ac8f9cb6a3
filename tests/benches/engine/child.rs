//! Processes whose fsyncs or instructions are counted: this program again, as `child KIND COUNT DIRECTORY`.

use std::path::Path;

use odm::bson::doc;
use odm::{Db, Durability};
use odm_patterns::queue::Queue;
use odm_tests::measure::{Bare, Job, Thing};

use crate::{RELAXED, bulk, shapes};

/// The arguments for a child.
pub(crate) fn arguments(kind: &str, count: u64) -> Vec<String> {
    vec!["child".to_owned(), kind.to_owned(), count.to_string()]
}

/// What this process is to do if it is a child.
pub(crate) fn asked_for() -> Option<Vec<String>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == "child" => Some(rest.to_vec()),
        _ => None,
    }
}

/// Does it: a number of operations on an empty database.
pub(crate) fn run(asked: &[String]) {
    let [kind, count] = asked else {
        panic!("child KIND COUNT");
    };
    let count: usize = count.parse().expect("a number");
    // What is counted does not depend on the disk.
    let place = if Path::new("/dev/shm").is_dir() {
        Path::new("/dev/shm")
    } else {
        Path::new(env!("CARGO_TARGET_TMPDIR"))
    };
    let directory = tempfile::tempdir_in(place).expect("a directory");
    let things = Thing::several(0, count);
    if kind == "bare-insert" {
        let mut bare = Bare::create(directory.path());
        // As many as the engine's own preparation stores.
        bare.insert(&[Thing::new(-1)], true);
        for thing in &things {
            bare.insert(std::slice::from_ref(thing), true);
        }
        return;
    }
    if kind == "bare-bulk" {
        Bare::create(directory.path()).insert(&things, false);
        return;
    }
    let workers = if kind == "insert-64" { 2 } else { 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let durability = match kind.as_str() {
            "insert" | "insert-64" | "queue" | "queue-100" => Durability::Immediate,
            _ => RELAXED,
        };
        let db = crate::open::<Thing>(&directory, durability).await;
        let collection = db.collection::<Thing>();
        collection.insert(Thing::new(-1)).await.expect("an insert");
        match kind.as_str() {
            "insert-64" => insert_at_once(&db, things, 64).await,
            "increment" => {
                for _ in 0..count {
                    let raised = collection.update_one(|t| t.id.eq(-1), |t| t.count.inc(1));
                    raised.await.expect("an update");
                }
            }
            "claim" => {
                let jobs = db.collection::<Job>();
                jobs.create_indexes().await.expect("indexes");
                let all: Vec<_> = (0..count as i64).map(Job::ready).collect();
                jobs.insert_many(&all).await.expect("inserted");
                for _ in 0..count {
                    let claimed = jobs
                        .find_one_and_update(
                            |j| j.state.eq("ready"),
                            |j| j.state.set("running") & j.tries.inc(1),
                        )
                        .sort(|j| j.due.asc())
                        .return_new();
                    claimed.await.expect("a claim").expect("a job");
                }
            }
            "queue" | "queue-100" => work_off(&db, count, kind == "queue-100").await,
            "bulk" => {
                for things in things.chunks(10_000) {
                    collection.insert_many(things).await.expect("inserted");
                }
            }
            "scan" | "read" | "raw" | "sort" => {
                collection.insert_many(&things).await.expect("inserted");
                for _ in 0..10 {
                    let found = match kind.as_str() {
                        "scan" => collection.find(|t| t.last.eq(-2)).await,
                        "sort" => shapes::first_by_price(&collection).await,
                        "raw" => {
                            bulk::read_raw(&db).await;
                            continue;
                        }
                        _ => collection.find_all().await,
                    };
                    drop(std::hint::black_box(found.expect("a read")));
                }
            }
            "group" => {
                collection.insert_many(&things).await.expect("inserted");
                for _ in 0..10 {
                    let groups = collection.aggregate_raw(shapes::by_activity()).await;
                    drop(std::hint::black_box(groups.expect("a read")));
                }
            }
            "range" | "range-far" => {
                let ranged = if kind == "range" { 2_000 } else { 100_000 };
                collection
                    .insert_many(Thing::several(0, ranged))
                    .await
                    .expect("inserted");
                for thing in &things {
                    shapes::ten_from(&collection, thing.rank & 0x7FFF_FFFF).await;
                }
            }
            "get" => {
                for _ in 0..count {
                    collection.get(-1).await.expect("a read").expect("it is there");
                }
            }
            _ => {
                for thing in &things {
                    collection.insert(thing).await.expect("an insert");
                }
            }
        }
    });
}

/// Claims and acknowledges jobs, one by one or a hundred at once.
async fn work_off(db: &Db, count: usize, together: bool) {
    let queue = Queue::new(db, "queue");
    queue.prepare().await.expect("indexes");
    let jobs = (0..count as i64).map(|number| doc! { "number": number, "text": "send the letter" });
    queue.enqueue_many(jobs).await.expect("enqueued");
    let each: u32 = if together { 100 } else { 1 };
    let mut left = count;
    while left > 0 {
        let claimed = match together {
            true => queue.claim_many(each).await.expect("a claim"),
            false => Vec::from_iter(queue.claim().await.expect("a claim")),
        };
        left -= claimed.len();
        match claimed.as_slice() {
            [one] => queue.ack(one).await.expect("an acknowledgement"),
            all => drop(queue.ack_many(all).await.expect("an acknowledgement")),
        }
    }
}

/// Inserts things from so many tasks, each one after another.
pub(crate) async fn insert_at_once(db: &Db, mut things: Vec<Thing>, tasks: usize) {
    let each = things.len().div_ceil(tasks).max(1);
    let mut running = Vec::new();
    while !things.is_empty() {
        let own = things.split_off(things.len().saturating_sub(each));
        let collection = db.collection::<Thing>();
        running.push(tokio::spawn(async move {
            for thing in own {
                collection.insert(thing).await.expect("an insert");
            }
        }));
    }
    for task in running {
        task.await.expect("no panic");
    }
}
