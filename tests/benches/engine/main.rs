//! P1 to P8 and P13, and pipelines: the embedded engine by our typed API, beside the bare driver on a MongoDB (`ODM_TEST_MONGODB_URI`) and
//! the bare store, in turns in one process.
//!
//! Arguments: `--quick` for fewer rounds, names of rows (`P4`) when not all are wanted. Files lie in cargo's
//! target directory, on whatever disk that is; `ODM_BENCH_DIRECTORY` names another, such as `/dev/shm`.

mod bulk;
mod child;
mod durable;
mod growth;
mod pipelines;
mod point;
mod relaxed;
mod shapes;

use odm::mongodb::driver;
use odm::{Collection, Db, Durability, Model};
pub(crate) use odm_tests::measure::RELAXED;
use odm_tests::measure::{self, Comparison, Server, Settings, Thing, bench, compare, verdict};
use tempfile::TempDir;

fn main() {
    // A child of this program's own, run under strace or valgrind.
    if let Some(kind) = child::asked_for() {
        child::run(&kind);
        return;
    }
    bench(2, rows);
}

async fn rows(settings: &Settings, server: Option<&Server>) {
    if settings.wants("P1") {
        point::find_by_id(settings, server).await;
    }
    if settings.wants("P2") {
        durable::one_writer(settings, server).await;
    }
    if settings.wants("P3") {
        durable::many_writers(settings, server).await;
    }
    if settings.wants("P4") {
        relaxed::one_client(settings, server).await;
    }
    if settings.wants("P5") {
        bulk::insert_many(settings, server).await;
    }
    if settings.wants("P6") {
        bulk::find_all(settings, server).await;
    }
    if settings.wants("P7") {
        bulk::collection_scan(settings, server).await;
    }
    if settings.wants("P8") {
        shapes::group_sort_range(settings, server).await;
    }
    if settings.wants("pipelines") {
        pipelines::beside_the_server(settings, server).await;
    }
    if settings.wants("P13") {
        growth::with_documents(settings).await;
    }
}

/// A directory on the disk that is measured.
pub(crate) fn directory() -> TempDir {
    measure::directory(env!("CARGO_TARGET_TMPDIR"))
}

/// An empty database in a directory, with the indexes of a model.
pub(crate) async fn open<M: Model>(directory: &TempDir, durability: Durability) -> Db {
    let db = measure::open(directory, durability).await;
    db.collection::<M>()
        .create_indexes()
        .await
        .expect("indexes are built");
    db
}

/// The same indexes on the server, in an empty collection.
pub(crate) async fn prepare<M: Model>(server: &Server) {
    let collection = server.open().await.collection::<M>();
    collection.drop().await.expect("it is dropped");
    collection.create_indexes().await.expect("indexes are built");
}

/// Inserts of one client, one after the other, here and through the driver; ids from `first` on.
pub(crate) async fn inserts(
    ours: &Collection<Thing>,
    theirs: &driver::Collection<Thing>,
    first: i64,
    [rounds, each]: [usize; 2],
) -> Comparison {
    let own = things(first, rounds, each);
    compare(
        rounds,
        each,
        async |round| {
            for thing in &own[round] {
                ours.insert(thing).await.expect("an insert");
            }
        },
        async |round| {
            for thing in &own[round] {
                theirs.insert_one(thing).await.expect("an insert");
            }
        },
    )
    .await
}

/// The lines of a comparison that is to be many times faster.
pub(crate) fn faster(row: &str, against: &str, class: &str, result: Comparison, target: f64) {
    describe(row, against, class, result);
    verdict(row, result.speedup, target, true);
}

/// The lines of a comparison that may cost only so much more.
pub(crate) fn cost(row: &str, against: &str, class: &str, result: Comparison, target: f64) {
    describe(row, against, class, result);
    verdict(row, 1.0 / result.speedup, target, false);
}

/// The line before a verdict.
pub(crate) fn describe(row: &str, against: &str, class: &str, result: Comparison) {
    println!(
        "{row}: native {:.2} us, {against} {:.2} us an operation; {class}",
        result.ours, result.theirs
    );
}

/// The line of a row, or of a part of it, that has nothing to compare with.
pub(crate) fn no_server(row: &str) {
    println!("{row} skipped: no MongoDB to compare with");
}

/// Things of ids from `first` on, `count` for each round.
pub(crate) fn things(first: i64, rounds: usize, count: usize) -> Vec<Vec<Thing>> {
    (0..=rounds)
        .map(|round| Thing::several(first + (round * count) as i64, count))
        .collect()
}
