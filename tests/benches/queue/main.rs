//! P4 (claim), P10 and P13 (claim): the queue on the embedded engine and on MongoDB (`ODM_TEST_MONGODB_URI`), beside a bare
//! `findOneAndUpdate` of the driver.
//!
//! Arguments: `--quick` for fewer rounds, names of rows (`P10`) when not all are wanted. Files lie in `/dev/shm`, so that the
//! engine is measured and not the disk; `ODM_BENCH_DIRECTORY` names another directory.

mod growth;
mod mongodb;
mod native;

use std::time::Duration;

use odm::bson::{Document, doc};
use odm::{Db, Durability};
use odm_patterns::queue::{Options, Queue};
use odm_tests::measure::{Server, Settings};
use tempfile::TempDir;

/// MongoDB's class of acknowledged writes that wait for no journal.
pub(crate) const RELAXED: Durability = Durability::Interval(Duration::from_millis(100));

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(rows());
}

async fn rows() {
    let settings = Settings::of_process();
    let server = Server::connect().await;
    if settings.wants("P4") {
        native::relaxed_claim(&settings, server.as_ref()).await;
    }
    if settings.wants("P10") {
        native::serial(&settings).await;
        native::batches(&settings).await;
        native::workers(&settings).await;
        match &server {
            Some(server) => {
                mongodb::claims(&settings, server).await;
                mongodb::batches(&settings, server).await;
                mongodb::workers(&settings, server).await;
            }
            None => println!("P10 on mongod skipped: no MongoDB to measure"),
        }
    }
    if settings.wants("P13") {
        growth::with_jobs(&settings).await;
    }
    if let Some(server) = server {
        server.drop().await;
    }
}

/// A directory in memory, or where it is asked for.
pub(crate) fn directory() -> TempDir {
    let place = std::env::var_os("ODM_BENCH_DIRECTORY").unwrap_or_else(|| "/dev/shm".into());
    tempfile::tempdir_in(&place)
        .or_else(|_| tempfile::tempdir())
        .expect("a directory")
}

pub(crate) async fn open(directory: &TempDir, durability: Durability) -> Db {
    let url = format!("native:{}", directory.path().join("db").display());
    let db = Db::options().durability(durability).open(&url).await;
    db.expect("the database opens")
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

/// So many workers at once take so many jobs; how many jobs a second.
pub(crate) async fn together(queue: &Queue<Document>, workers: usize, jobs: usize) -> f64 {
    let start = std::time::Instant::now();
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
