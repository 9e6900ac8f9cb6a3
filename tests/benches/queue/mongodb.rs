//! The queue on MongoDB.

use odm::bson::{DateTime, Document, doc};
use odm::mongodb::driver::Collection;
use odm::mongodb::driver::options::ReturnDocument;
use odm_patterns::queue::{Options, Queue};
use odm_tests::measure::{Server, Settings, compare, verdict};

use crate::{crowds, filled, job};

/// The same shape and index by hand: what a claim costs without a queue around it.
async fn bare(server: &Server, name: &str, jobs: usize) -> Collection<Document> {
    let collection = server.database().collection::<Document>(name);
    let raw = server.open().await.raw_collection(name);
    let index = doc! { "key": { "state": 1, "created": 1 }, "name": "state_1_created_1" };
    raw.create_indexes().index_raw(index).await.expect("the index");
    for first in (0..jobs).step_by(10_000) {
        let some = (first..jobs.min(first + 10_000)).map(|number| {
            doc! { "state": "ready", "created": DateTime::from_millis(number as i64), "tries": 0, "message": job(number) }
        });
        collection.insert_many(some).await.expect("inserted");
    }
    collection
}

async fn claim_bare(collection: &Collection<Document>) {
    let update = doc! { "$set": { "state": "running" }, "$inc": { "tries": 1 } };
    let claimed = collection
        .find_one_and_update(doc! { "state": "ready" }, update)
        .sort(doc! { "created": 1 })
        .return_document(ReturnDocument::After);
    assert!(claimed.await.expect("a claim").is_some());
}

async fn claim(queue: &Queue<Document>) {
    assert!(queue.claim().await.expect("a claim").is_some());
}

/// P10: a claim beside a bare one.
pub(crate) async fn claims(settings: &Settings, server: &Server) {
    let (rounds, each) = (settings.choose(21, 61), 50);
    let jobs = (rounds + 2) * each;
    let db = server.open().await;
    let queue = filled(&db, "claims", jobs, Options::new()).await;
    let theirs = bare(server, "bare_claims", jobs).await;
    let result = compare(
        rounds,
        each,
        async |_| {
            for _ in 0..each {
                claim(&queue).await;
            }
        },
        async |_| {
            for _ in 0..each {
                claim_bare(&theirs).await;
            }
        },
    )
    .await;
    println!(
        "P10: mongod claim {:.1} us, bare findOneAndUpdate {:.1} us",
        result.ours, result.theirs
    );
    verdict("P10 mongod claim", result.speedup, 0.95, true);
}

/// P10: batches of a hundred beside bare claims.
pub(crate) async fn batches(settings: &Settings, server: &Server) {
    let (rounds, each) = (settings.choose(9, 31), 200);
    let jobs = (rounds + 2) * each;
    let db = server.open().await;
    let queue = filled(&db, "batches", jobs, Options::new()).await;
    let theirs = bare(server, "bare_batches", jobs).await;
    let result = compare(
        rounds,
        each,
        async |_| {
            for _ in 0..each / 100 {
                assert_eq!(queue.claim_many(100).await.expect("a claim").len(), 100);
            }
        },
        async |_| {
            for _ in 0..each {
                claim_bare(&theirs).await;
            }
        },
    )
    .await;
    println!(
        "P10: mongod batch claim {:.1} us a job, bare findOneAndUpdate {:.1} us",
        result.ours, result.theirs
    );
    verdict("P10 mongod batches", result.speedup, 5.0, true);
}

/// P10: sixteen workers in total beside four, on lanes.
pub(crate) async fn workers(settings: &Settings, server: &Server) {
    let load = [settings.choose(3, 9), 1_600];
    crowds("P10 mongod", &server.open().await, load, Options::new().lanes(16)).await;
}
