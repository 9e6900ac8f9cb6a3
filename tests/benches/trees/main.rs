//! P8 and P13 of trees: a subtree of 100 nodes, and what a leaf's insert and a subtree's move cost in a tree many times as
//! large; beside a regular expression on paths, as written by hand on a MongoDB (`ODM_TEST_MONGODB_URI`).
//!
//! Arguments: `--quick` for fewer rounds and smaller trees, names of rows (`P8`) when not all are wanted. Files lie in
//! cargo's target directory, on whatever disk that is; `ODM_BENCH_DIRECTORY` names another, such as `/dev/shm`.

mod growth;
mod shelves;
mod subtree;

use odm_tests::measure::{Server, Settings, bench};

fn main() {
    bench(2, rows);
}

async fn rows(settings: &Settings, server: Option<&Server>) {
    if settings.wants("P8") {
        subtree::of_a_hundred(settings, server).await;
    }
    if settings.wants("P13") {
        growth::with_nodes(settings).await;
    }
}
