//! P5 to P7: many documents in one operation.

use std::hint::black_box;

use bson::{RawDocumentBuf, doc};
use futures_util::{StreamExt as _, TryStreamExt as _};
use odm::Db;
use odm::backend::{Find, Namespace, Operation, Response};
use odm_tests::measure::{
    Bare, Server, Settings, Thing, compare, count_instructions, per_operation, verdict,
};

use crate::{RELAXED, child, cost, describe, directory, faster, no_server, open, prepare, things};

const CLASS: &str = "durable within 100 ms, j: false";
const READS: &str = "reads; 0 fsyncs an operation";
const DOCUMENTS: usize = 10_000;
const SCANNED: usize = 100_000;

pub(crate) async fn insert_many(settings: &Settings, server: Option<&Server>) {
    let rounds = settings.choose(5, 15);
    let [ours, bare] = ["bulk", "bare-bulk"]
        .map(|kind| per_operation(1_000, 5_000, |n| count_instructions(&child::arguments(kind, n))));
    if let (Some(ours), Some(bare)) = (ours, bare) {
        println!("P5: native {ours:.0}, bare store {bare:.0} instructions an operation; {CLASS}");
        verdict("P5 instructions", ours / bare, 1.5, false);
    }
    let directory = directory();
    let db = open::<Thing>(&directory, RELAXED).await;
    let collection = db.collection::<Thing>();
    let mut bare = Bare::create(directory.path());
    let own = things(0, rounds, DOCUMENTS);
    let result = compare(
        rounds,
        DOCUMENTS,
        async |round| {
            collection.insert_many(&own[round]).await.expect("inserted");
        },
        async |round| bare.insert(&own[round], false),
    )
    .await;
    cost("P5 store", "bare store", CLASS, result, 1.5);

    let Some(server) = server else {
        return no_server("P5");
    };
    prepare::<Thing>(server).await;
    collection.drop().await.expect("dropped");
    collection.create_indexes().await.expect("indexes are built");
    let theirs = server.collection::<Thing>("things", false);
    let result = compare(
        rounds,
        DOCUMENTS,
        async |round| {
            collection.insert_many(&own[round]).await.expect("inserted");
        },
        async |round| {
            theirs.insert_many(&own[round]).await.expect("inserted");
        },
    )
    .await;
    faster("P5", "driver and mongod", CLASS, result, 3.0);
}

pub(crate) async fn find_all(settings: &Settings, server: Option<&Server>) {
    let Some(server) = server else {
        return no_server("P6");
    };
    let rounds = settings.choose(9, 31);
    let directory = directory();
    let db = open::<Thing>(&directory, RELAXED).await;
    let collection = db.collection::<Thing>();
    prepare::<Thing>(server).await;
    let theirs = server.collection::<Thing>("things", false);
    let things = Thing::several(0, DOCUMENTS);
    collection.insert_many(&things).await.expect("inserted");
    theirs.insert_many(&things).await.expect("inserted");
    let result = compare(
        rounds,
        DOCUMENTS,
        async |_| assert_eq!(read_raw(&db).await, DOCUMENTS),
        async |_| {
            let mut batches = theirs.find(doc! {}).batch().await.expect("a read");
            let mut count = 0;
            while let Some(batch) = batches.next().await {
                let batch = batch.expect("a batch");
                for document in batch.doc_slices().expect("documents") {
                    black_box(document.expect("a document"));
                    count += 1;
                }
            }
            assert_eq!(count, DOCUMENTS);
        },
    )
    .await;
    faster("P6 raw", "driver and mongod", READS, result, 5.0);
    let result = compare(
        rounds,
        DOCUMENTS,
        async |_| {
            let found = collection.find_all().await.expect("a read");
            assert_eq!(found.len(), DOCUMENTS);
        },
        async |_| {
            let cursor = theirs.find(doc! {}).await.expect("a read");
            let found: Vec<Thing> = cursor.try_collect().await.expect("a read");
            assert_eq!(found.len(), DOCUMENTS);
        },
    )
    .await;
    faster("P6 typed", "driver and mongod", READS, result, 5.0);
    // What the target leaves to an engine whose reads cost nothing.
    let own = tempfile::tempdir_in(directory.path()).expect("a directory");
    let mut bare = Bare::create(own.path());
    bare.insert(&things, false);
    let result = compare(
        rounds,
        DOCUMENTS,
        async |_| {
            let found = collection.find_all().await.expect("a read");
            assert_eq!(found.len(), DOCUMENTS);
        },
        async |_| assert_eq!(bare.all().len(), DOCUMENTS),
    )
    .await;
    describe("P6 typed", "bare store scan and decode", READS, result);
}

/// Reads all things as raw batches, and counts them.
pub(crate) async fn read_raw(db: &Db) -> usize {
    let namespace = Namespace {
        database: db.name().to_owned(),
        collection: "things".to_owned(),
    };
    let find = Find::new(namespace, RawDocumentBuf::new());
    let response = db.backend().execute(Operation::Find(find)).await;
    let Ok(Response::Cursor(mut cursor)) = response else {
        panic!("a find answers with a cursor");
    };
    let mut count = 0;
    while let Some(batch) = cursor.next_batch().await.expect("a batch") {
        for index in 0..batch.len() {
            black_box(batch.get(index));
            count += 1;
        }
    }
    count
}

pub(crate) async fn collection_scan(settings: &Settings, server: Option<&Server>) {
    let Some(server) = server else {
        return no_server("P7");
    };
    let rounds = settings.choose(9, 31);
    let directory = directory();
    let db = open::<Thing>(&directory, RELAXED).await;
    let collection = db.collection::<Thing>();
    prepare::<Thing>(server).await;
    let theirs = server.collection::<Thing>("things", false);
    for first in (0..SCANNED).step_by(DOCUMENTS) {
        let things = Thing::several(first as i64, DOCUMENTS);
        collection.insert_many(&things).await.expect("inserted");
        theirs.insert_many(&things).await.expect("inserted");
    }
    let result = compare(
        rounds,
        SCANNED,
        async |_| {
            let found = collection.find(|t| t.last.eq(-1)).await;
            assert!(found.expect("a read").is_empty());
        },
        async |_| {
            let cursor = theirs.find(doc! { "last": -1_i64 }).await.expect("a read");
            let found: Vec<Thing> = cursor.try_collect().await.expect("a read");
            assert!(found.is_empty());
        },
    )
    .await;
    faster("P7", "driver and mongod", READS, result, 1.4);
}
