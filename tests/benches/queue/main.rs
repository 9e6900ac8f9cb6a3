//! P4 (claim), P10 and P13 (claim): the queue on the embedded engine and on MongoDB (`ODM_TEST_MONGODB_URI`), beside a bare
//! `findOneAndUpdate` of the driver.
//!
//! Arguments: `--quick` for fewer rounds, names of rows (`P10`) when not all are wanted. Files lie in `/dev/shm`, so that the
//! engine is measured and not the disk; `ODM_BENCH_DIRECTORY` names another directory.

mod growth;
mod mongodb;
mod native;

use std::time::Instant;

use odm::Db;
use odm::bson::{Document, doc};
use odm_patterns::queue::{Options, Queue};
use odm_tests::measure::{self, Server, Settings, bench, median, verdict};
use tempfile::TempDir;

fn main() {
    bench(4, rows);
}

async fn rows(settings: &Settings, server: Option<&Server>) {
    if settings.wants("P4") {
        native::relaxed_claim(settings, server).await;
    }
    if settings.wants("P10") {
        native::serial(settings).await;
        native::batches(settings).await;
        native::workers(settings).await;
        match server {
            Some(server) => {
                mongodb::claims(settings, server).await;
                mongodb::batches(settings, server).await;
                mongodb::workers(settings, server).await;
            }
            None => println!("P10 on mongod skipped: no MongoDB to measure"),
        }
    }
    if settings.wants("P13") {
        growth::with_jobs(settings).await;
    }
}

/// In memory, so that the engine is measured and not the disk.
pub(crate) fn directory() -> TempDir {
    measure::directory("/dev/shm")
}

pub(crate) fn job(number: usize) -> Document {
    doc! { "number": number as i64, "text": "send the letter of confirmation to the subscriber" }
}

/// A queue with so many ready jobs.
pub(crate) async fn filled(db: &Db, name: &str, jobs: usize, options: Options) -> Queue<Document> {
    let queue = Queue::with_options(db, name, options);
    queue.prepare().await.expect("indexes");
    for first in (0..jobs).step_by(10_000) {
        let some = (first..jobs.min(first + 10_000)).map(job);
        queue.enqueue_many(some).await.expect("enqueued");
    }
    queue
}

/// Claims and acknowledges jobs one by one until so many are done.
pub(crate) async fn one_by_one(queue: &Queue<Document>, count: usize) {
    for _ in 0..count {
        let claimed = queue.claim().await.expect("a claim").expect("a job");
        queue.ack(&claimed).await.expect("an acknowledgement");
    }
}

/// The same in batches of a hundred.
pub(crate) async fn by_hundreds(queue: &Queue<Document>, count: usize) {
    let mut done = 0;
    while done < count {
        let claimed = queue.claim_many(100).await.expect("a claim");
        let lost = queue.ack_many(&claimed).await.expect("an acknowledgement");
        assert!(lost.is_empty() && !claimed.is_empty());
        done += claimed.len();
    }
}

/// P10: sixteen workers in total beside four.
pub(crate) async fn crowds(row: &str, db: &Db, [rounds, jobs]: [usize; 2], options: Options) {
    let queue = filled(db, "crowds", 2 * (rounds + 1) * jobs, options).await;
    let (mut fours, mut sixteens, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        let few = together(&queue, 4, jobs).await;
        let many = together(&queue, 16, jobs).await;
        if round > 0 {
            fours.push(few);
            sixteens.push(many);
            ratios.push(many / few);
        }
    }
    let (few, many) = (median(fours), median(sixteens));
    println!("{row}: 4 workers {few:.0} jobs/s, 16 workers {many:.0} jobs/s");
    verdict(&format!("{row} 16 workers against 4"), median(ratios), 1.0, true);
}

/// So many workers at once take so many jobs; how many jobs a second.
async fn together(queue: &Queue<Document>, workers: usize, jobs: usize) -> f64 {
    let start = Instant::now();
    let tasks: Vec<_> = (0..workers)
        .map(|worker| {
            let queue = queue.owner(format!("worker {worker}"));
            tokio::spawn(async move { one_by_one(&queue, jobs / workers).await })
        })
        .collect();
    for task in tasks {
        task.await.expect("a worker");
    }
    jobs as f64 / start.elapsed().as_secs_f64()
}
