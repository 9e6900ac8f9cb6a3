//! When cursors end: what a server knows of its plan when a batch is full.

use std::time::Duration;

use odm::Db;
use odm::bson::{Bson, Document, doc};
use odm_tests::command::{insert, run};

crate::on_every_backend! {
    stages_do_not_say_that_a_full_batch_is_the_last,
    a_bound_that_is_reached_closes_a_later_batch,
    the_one_document_with_an_id_closes_a_find,
    a_view_is_asked_as_stages_are,
    time_between_batches_does_not_count,
}

/// How many documents each batch of one has, and whether the cursor was open behind it.
async fn batches(db: &Db, mut command: Document) -> Vec<(usize, bool)> {
    let name = command.values().next().and_then(Bson::as_str).unwrap().to_owned();
    match command.contains_key("pipeline") {
        true => command.insert("cursor", doc! { "batchSize": 1 }),
        false => command.insert("batchSize", 1),
    };
    let mut found = Vec::new();
    let mut reply = run(db, command).await;
    loop {
        let cursor = reply.get_document("cursor").unwrap();
        let batch = cursor.get_array("firstBatch").or(cursor.get_array("nextBatch"));
        let id = cursor.get_i64("id").unwrap();
        found.push((batch.unwrap().len(), id != 0));
        if id == 0 {
            return found;
        }
        reply = run(db, doc! { "getMore": id, "collection": &name, "batchSize": 1 }).await;
    }
}

async fn two(db: &Db) {
    insert(db, "c", (1..3).map(|id| doc! { "_id": id, "a": id }).collect()).await;
    run(db, doc! { "create": "v", "viewOn": "c", "pipeline": [] }).await;
}

async fn stages_do_not_say_that_a_full_batch_is_the_last(db: &Db) {
    two(db).await;
    for stage in [
        doc! { "$sort": { "a": 1 } },
        doc! { "$group": { "_id": "$a" } },
        doc! { "$unionWith": "nothing" },
        doc! { "$sample": { "size": 2 } },
        doc! { "$setWindowFields": { "output": { "o": { "$sum": 1 } } } },
        doc! { "$sortByCount": "$a" },
        doc! { "$set": { "b": 1 } },
    ] {
        for name in ["c", "v"] {
            let found = batches(db, doc! { "aggregate": name, "pipeline": [&stage] }).await;
            assert_eq!(found, [(1, true), (1, true), (0, false)], "{stage}");
        }
    }
    for stage in [
        doc! { "$facet": { "x": [] } },
        doc! { "$count": "n" },
        doc! { "$bucketAuto": { "groupBy": "$a", "buckets": 1 } },
    ] {
        let found = batches(db, doc! { "aggregate": "c", "pipeline": [&stage] }).await;
        assert_eq!(found, [(1, true), (0, false)], "{stage}");
    }
}

async fn a_bound_that_is_reached_closes_a_later_batch(db: &Db) {
    two(db).await;
    for name in ["c", "v"] {
        let limited = |limit: i32| doc! { "aggregate": name, "pipeline": [{ "$limit": limit }] };
        assert_eq!(batches(db, limited(2)).await, [(1, true), (1, false)]);
        assert_eq!(batches(db, limited(1)).await, [(1, true), (0, false)]);
    }
}

async fn the_one_document_with_an_id_closes_a_find(db: &Db) {
    two(db).await;
    let filter = doc! { "_id": 1 };
    assert_eq!(
        batches(db, doc! { "find": "c", "filter": &filter }).await,
        [(1, false)]
    );
    let stages = doc! { "aggregate": "c", "pipeline": [{ "$match": filter }] };
    assert_eq!(batches(db, stages).await, [(1, true), (0, false)]);
}

async fn a_view_is_asked_as_stages_are(db: &Db) {
    two(db).await;
    let limited = |name: &str| doc! { "find": name, "limit": 1 };
    assert_eq!(batches(db, limited("c")).await, [(1, false)]);
    assert_eq!(batches(db, limited("v")).await, [(1, true), (0, false)]);
}

/// What `maxTimeMS` limits is the time in which documents are looked for, not that in which nobody asks for any.
async fn time_between_batches_does_not_count(db: &Db) {
    insert(db, "c", (0..1000).map(|id| doc! { "_id": id }).collect()).await;
    let limit = Duration::from_millis(400);
    let c = db.raw_collection("c");
    let mut finds = c.find_all().batch_size(2).max_time(limit).stream();
    let stages = [doc! { "$set": { "a": 1 } }];
    let mut aggregates = c.aggregate_raw(stages).batch_size(2).max_time(limit).stream();
    finds.try_next().await.unwrap().expect("a document");
    aggregates.try_next().await.unwrap().expect("a document");
    tokio::time::sleep(limit + limit / 2).await;
    assert_eq!(finds.try_collect::<Vec<_>>().await.unwrap().len(), 999);
    assert_eq!(aggregates.try_collect::<Vec<_>>().await.unwrap().len(), 999);
    run(db, doc! { "create": "log", "capped": true, "size": 4096 }).await;
    insert(db, "log", vec![doc! { "_id": 1 }]).await;
    let mut tail = db.raw_collection("log").find_all().max_time(limit).tail();
    assert_eq!(tail.try_next().await.unwrap(), Some(doc! { "_id": 1 }));
    tokio::time::sleep(limit + limit / 2).await;
    insert(db, "log", vec![doc! { "_id": 2 }]).await;
    let next = tokio::time::timeout(Duration::from_secs(20), tail.try_next()).await;
    assert_eq!(next.expect("a document comes").unwrap(), Some(doc! { "_id": 2 }));
}
