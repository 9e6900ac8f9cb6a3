//! The embedded engine against itself: the parts of a collection make up the whole, and every plan finds what a scan
//! finds. `ODM_PARTITION_ROUNDS` and `ODM_PARTITION_SEED` choose how many collections and which.

use odm_tests::differential::check_partitions;
use odm_tests::harness::{Fixture, Target};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

async fn check(target: Target, rounds: u64) {
    let Some(fixture) = Fixture::open(target).await else {
        return;
    };
    let seed = number("ODM_PARTITION_SEED", 1);
    let report = check_partitions(&fixture.db, seed, number("ODM_PARTITION_ROUNDS", rounds)).await;
    fixture.close().await;
    report.expect_none("partitions", &format!("predicates on {target:?}"));
}

#[tokio::test]
async fn parts_make_up_the_whole_in_memory() {
    check(Target::Memory, 20).await;
}

#[tokio::test]
async fn parts_make_up_the_whole_in_a_file() {
    check(Target::Native, 4).await;
}
