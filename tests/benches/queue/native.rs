//! The queue on the embedded engine.

use std::time::Instant;

use odm::Durability;
use odm::bson::doc;
use odm_patterns::queue::Options;
use odm_tests::measure::{Job, Server, Settings, compare, median, verdict};

use crate::{RELAXED, by_hundreds, directory, filled, one_by_one, open, together};

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
    let (rounds, each) = (settings.choose(5, 15), 1_000);
    let directory = directory();
    let db = open(&directory, Durability::Immediate).await;
    let queue = filled(&db, "queue", (rounds + 1) * each, Options::new()).await;
    one_by_one(&queue, each).await;
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        one_by_one(&queue, each).await;
        rates.push(each as f64 / start.elapsed().as_secs_f64());
    }
    let rate = median(rates);
    println!("P10: native, durable, one by one: {rate:.0} jobs/s");
    verdict("P10 native serial", rate / 10_000.0, 1.0, true);
}

/// P10: the same in batches of a hundred.
pub(crate) async fn batches(settings: &Settings) {
    let (rounds, each) = (settings.choose(5, 15), 5_000);
    let directory = directory();
    let db = open(&directory, Durability::Immediate).await;
    let queue = filled(&db, "queue", (rounds + 1) * each, Options::new()).await;
    by_hundreds(&queue, each).await;
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        by_hundreds(&queue, each).await;
        rates.push(each as f64 / start.elapsed().as_secs_f64());
    }
    let rate = median(rates);
    println!("P10: native, durable, batches of 100: {rate:.0} jobs/s");
    verdict("P10 native batches", rate / 100_000.0, 1.0, true);
}

/// P10: sixteen workers in total beside four.
pub(crate) async fn workers(settings: &Settings) {
    let (rounds, jobs) = (settings.choose(5, 15), 3_200);
    let directory = directory();
    let db = open(&directory, Durability::Immediate).await;
    let queue = filled(&db, "queue", 2 * (rounds + 1) * jobs, Options::new()).await;
    let mut ratios = Vec::new();
    for round in 0..=rounds {
        let few = together(&queue, 4, jobs).await;
        let many = together(&queue, 16, jobs).await;
        if round > 0 {
            ratios.push(many / few);
        }
    }
    verdict("P10 native 16 workers against 4", median(ratios), 1.0, true);
}
