//! The queue on the embedded engine.

use std::time::Instant;

use odm::Durability;
use odm::bson::{Document, doc};
use odm_patterns::queue::{Options, Queue};
use odm_tests::measure::{Job, RELAXED, Server, Settings, compare, median, open, verdict};

use crate::{by_hundreds, crowds, directory, filled, one_by_one};

/// P4: a claim of one client, beside the driver's on mongod.
pub(crate) async fn relaxed_claim(settings: &Settings, server: Option<&Server>) {
    let Some(server) = server else {
        return println!("P4 claim skipped: no MongoDB to compare with");
    };
    let (rounds, each) = (settings.choose(11, 41), 50);
    let directory = directory();
    let db = open(&directory, RELAXED).await;
    let queue = filled(&db, "queue", (rounds + 2) * each, Options::new()).await;
    let theirs = server.collection::<Job>("plain", false);
    let jobs: Vec<_> = (0..((rounds + 2) * each) as i64).map(Job::ready).collect();
    let own = server.open().await.collection_named::<Job>("plain");
    own.create_indexes().await.expect("indexes");
    theirs.insert_many(&jobs).await.expect("inserted");
    let result = compare(
        rounds,
        each,
        async |_| {
            for _ in 0..each {
                queue.claim().await.expect("a claim").expect("a job");
            }
        },
        async |_| {
            for _ in 0..each {
                let update = doc! { "$set": { "state": "running" }, "$inc": { "tries": 1 } };
                let claimed = theirs
                    .find_one_and_update(doc! { "state": "ready" }, update)
                    .sort(doc! { "due": 1 });
                assert!(claimed.await.expect("a claim").is_some());
            }
        },
    )
    .await;
    println!(
        "P4: queue claim {:.2} us, driver and mongod {:.2} us an operation; durable within 100 ms, j: false",
        result.ours, result.theirs
    );
    verdict("P4 queue claim", result.speedup, 15.0, true);
}

/// P10: durable claims and acknowledgements, one after another.
pub(crate) async fn serial(settings: &Settings) {
    let rate = rate(settings, 1_000, one_by_one).await;
    println!("P10: native, durable, one by one: {rate:.0} jobs/s");
    verdict("P10 native serial", rate / 10_000.0, 1.0, true);
}

/// P10: the same in batches of a hundred.
pub(crate) async fn batches(settings: &Settings) {
    let rate = rate(settings, 5_000, by_hundreds).await;
    println!("P10: native, durable, batches of 100: {rate:.0} jobs/s");
    verdict("P10 native batches", rate / 100_000.0, 1.0, true);
}

/// How many jobs a second, when `work` does so many in each round; the median of rounds.
async fn rate(settings: &Settings, each: usize, work: impl AsyncFn(&Queue<Document>, usize)) -> f64 {
    let rounds = settings.choose(5, 15);
    let directory = directory();
    let db = open(&directory, Durability::Immediate).await;
    let queue = filled(&db, "queue", (rounds + 1) * each, Options::new()).await;
    work(&queue, each).await;
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        work(&queue, each).await;
        rates.push(each as f64 / start.elapsed().as_secs_f64());
    }
    median(rates)
}

/// P10: sixteen workers in total beside four.
pub(crate) async fn workers(settings: &Settings) {
    let directory = directory();
    let db = open(&directory, Durability::Immediate).await;
    let load = [settings.choose(5, 15), 3_200];
    crowds("P10 native", &db, load, Options::new()).await;
}
