//! P8: grouping, the first of a sort, a range of an index.

use std::hint::black_box;

use bson::{Document, doc};
use futures_util::TryStreamExt as _;
use odm::{Collection, Model as _};
use odm_tests::measure::{Bare, Server, Settings, Thing, compare, compare_uneven};

use crate::{RELAXED, describe, directory, faster, no_server, open, prepare};

const CLASS: &str = "reads; 0 fsyncs an operation";
const DOCUMENTS: usize = 100_000;

pub(crate) async fn group_sort_range(settings: &Settings, server: Option<&Server>) {
    let Some(server) = server else {
        return no_server("P8");
    };
    let rounds = settings.choose(7, 21);
    let directory = directory();
    let db = open::<Thing>(&directory, RELAXED).await;
    let collection = db.collection::<Thing>();
    prepare::<Thing>(server).await;
    let theirs = server.collection::<Thing>(Thing::DESCRIPTOR.collection, false);
    for first in (0..DOCUMENTS).step_by(10_000) {
        let things = Thing::several(first as i64, 10_000);
        collection.insert_many(&things).await.expect("inserted");
        theirs.insert_many(&things).await.expect("inserted");
    }

    let pipeline = by_activity();
    let result = compare_uneven(
        rounds,
        [DOCUMENTS; 2],
        async |_| {
            let groups = collection.aggregate_raw(pipeline.clone()).await;
            assert_eq!(groups.expect("a read").len(), 2);
        },
        async |_| {
            let groups = theirs.aggregate(pipeline.clone()).await.expect("a read");
            let groups: Vec<Document> = groups.try_collect().await.expect("a read");
            assert_eq!(groups.len(), 2);
        },
    )
    .await;
    faster("P8 group", "driver and mongod", CLASS, result, 1.5);

    let result = compare_uneven(
        rounds,
        [DOCUMENTS; 2],
        async |_| {
            let first = first_by_price(&collection).await;
            assert_eq!(first.expect("a read").len(), 20);
        },
        async |_| {
            let first = theirs.find(doc! {}).sort(doc! { "price": -1 }).limit(20).await;
            let first: Vec<Thing> = first.expect("a read").try_collect().await.expect("a read");
            assert_eq!(first.len(), 20);
        },
    )
    .await;
    faster("P8 sort", "driver and mongod", CLASS, result, 2.0);

    let starts = |round: usize, each: usize| (0..each).map(move |n| start(round * each + n));
    let [ours_each, their_each] = [500, 30];
    let result = compare_uneven(
        rounds,
        [ours_each, their_each],
        async |round| {
            for from in starts(round, ours_each) {
                black_box(ten_from(&collection, from).await);
            }
        },
        async |round| {
            for from in starts(round, their_each) {
                let found = theirs
                    .find(doc! { "rank": { "$gte": from } })
                    .sort(doc! { "rank": 1 })
                    .limit(10)
                    .await;
                let found: Vec<Thing> = found.expect("a read").try_collect().await.expect("a read");
                black_box(found);
            }
        },
    )
    .await;
    faster("P8 range", "driver and mongod", CLASS, result, 30.0);
    // What the target leaves to an engine whose plans cost nothing.
    let own = tempfile::tempdir_in(directory.path()).expect("a directory");
    let mut bare = Bare::create(own.path());
    bare.insert(&Thing::several(0, DOCUMENTS), false);
    let result = compare(
        rounds,
        ours_each,
        async |round| {
            for from in starts(round, ours_each) {
                black_box(ten_from(&collection, from).await);
            }
        },
        async |round| {
            for from in starts(round, ours_each) {
                black_box(bare.ranked_from(from, 10));
            }
        },
    )
    .await;
    describe("P8 range", "bare store range, gets and decode", CLASS, result);
}

/// Sums and counts in two groups.
pub(crate) fn by_activity() -> [Document; 1] {
    [doc! { "$group": { "_id": "$active", "sum": { "$sum": "$price" }, "count": { "$sum": 1 } } }]
}

/// The first of all by a field without an index.
pub(crate) async fn first_by_price(collection: &Collection<Thing>) -> odm::Result<Vec<Thing>> {
    let found = collection.find_all().sort_raw(doc! { "price": -1 });
    found.limit(20).await
}

/// Where a range begins.
fn start(n: usize) -> i64 {
    Thing::new((n * 7_919 % DOCUMENTS) as i64).rank
}

pub(crate) async fn ten_from(collection: &Collection<Thing>, from: i64) -> Vec<Thing> {
    let found = collection
        .find(|t| t.rank.gte(from))
        .sort(|t| t.rank.asc())
        .limit(10)
        .await;
    found.expect("a read")
}
