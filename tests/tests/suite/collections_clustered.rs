//! Collections that are kept in the order of `_id`.

use bson::{Bson, Document, doc};
use odm::Db;

use super::collections_kinds::{all_ids, options_of};

crate::on_every_backend! {
    a_clustered_collection_is_in_the_order_of_ids,
    a_clustered_collection_is_listed_as_one,
    the_order_of_ids_is_no_index_to_drop_or_change,
    only_the_order_of_ids_can_be_clustered,
    documents_of_a_clustered_collection_live_as_long_as_it_says,
    a_clustered_collection_is_copied_and_replaced,
}

async fn code(db: &Db, command: Document) -> Option<i32> {
    db.run_command(command).await.err().and_then(|error| error.code())
}

async fn clustered(db: &Db, name: &str) {
    let spec = doc! { "key": { "_id": 1 }, "unique": true };
    db.run_command(doc! { "create": name, "clusteredIndex": spec })
        .await
        .unwrap();
}

async fn a_clustered_collection_is_in_the_order_of_ids(db: &Db) {
    clustered(db, "c").await;
    let c = db.raw_collection("c");
    for id in [30, 10, 20] {
        c.insert(doc! { "_id": id, "a": 100 - id }).await.unwrap();
    }
    assert_eq!(all_ids(&c).await, [10, 20, 30]);
    let backward = c.find(doc! {}).hint(doc! { "$natural": -1 }).await.unwrap();
    let backward: Vec<i32> = backward.iter().map(|row| row.get_i32("_id").unwrap()).collect();
    assert_eq!(backward, [30, 20, 10]);
    let first = c.find_one(doc! { "a": { "$gt": 0 } }).await.unwrap().unwrap();
    assert_eq!(first.get_i32("_id").unwrap(), 10);
    c.delete_one(doc! { "a": { "$gt": 0 } }).await.unwrap();
    assert_eq!(all_ids(&c).await, [20, 30]);
    let between = c.find(doc! { "_id": { "$gte": 20, "$lt": 30 } }).await.unwrap();
    assert_eq!(between.len(), 1);
    // The order goes on over batches.
    let many = (100..400).rev().map(|id| doc! { "_id": id });
    c.insert_many(many).await.unwrap();
    let all = c.find(doc! {}).batch_size(7).await.unwrap();
    assert!(all.is_sorted_by_key(|row| row.get_i32("_id").unwrap()));
    assert_eq!(all.len(), 302);

    let taken = c.insert(doc! { "_id": 20 }).await.unwrap_err();
    assert!(taken.is_duplicate_key());
    assert!(taken.to_string().contains("c dup key: { _id: 20 }"), "{taken}");
    // An `_id` may be long, but not of any length.
    let long = c.insert(doc! { "_id": "x".repeat(9 << 20) }).await.unwrap_err();
    assert_eq!(long.code(), Some(5_894_900));
}

async fn a_clustered_collection_is_listed_as_one(db: &Db) {
    let spec = doc! { "key": { "_id": 1.0 }, "unique": 1, "name": "by id", "v": 2.9 };
    let create = doc! {
        "create": "c", "clusteredIndex": spec, "expireAfterSeconds": 60, "validator": { "a": 1 },
    };
    db.run_command(create).await.unwrap();
    let (kind, options) = options_of(db, "c").await;
    assert_eq!(kind, "collection");
    let names: Vec<&String> = options.keys().collect();
    assert_eq!(names, ["validator", "clusteredIndex", "expireAfterSeconds"]);
    let kept = options.get_document("clusteredIndex").unwrap();
    assert_eq!(
        (kept.get_i32("v").unwrap(), kept.get_str("name").unwrap()),
        (2, "by id")
    );

    let c = db.raw_collection("c");
    let indexes = db.run_command(doc! { "listIndexes": "c" }).await.unwrap();
    let indexes = indexes
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    let own = doc! { "v": 2, "key": { "_id": 1.0 }, "name": "by id", "unique": true, "clustered": true };
    let found = indexes[0].as_document().unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), own.keys().collect::<Vec<_>>());
    assert_eq!(found.get_str("name").unwrap(), "by id");
    c.insert(doc! { "_id": 1, "a": 1 }).await.unwrap();
    for hint in [Bson::from("by id"), doc! { "_id": 1 }.into()] {
        let find = doc! { "find": "c", "filter": { "_id": { "$gte": 0 } }, "hint": hint };
        assert_eq!(code(db, find).await, None);
    }
    assert_eq!(code(db, doc! { "find": "c", "hint": "_id_" }).await, Some(2));
    let figures = db.run_command(doc! { "collStats": "c" }).await.unwrap();
    assert_eq!(figures.get_i32("nindexes").unwrap(), 0);
}

async fn the_order_of_ids_is_no_index_to_drop_or_change(db: &Db) {
    clustered(db, "c").await;
    let create = |index: Document| doc! { "createIndexes": "c", "indexes": [index] };
    let made = db
        .run_command(create(doc! { "key": { "a": 1 }, "name": "a_1" }))
        .await
        .unwrap();
    assert_eq!(
        (
            made.get_i32("numIndexesBefore").unwrap(),
            made.get_i32("numIndexesAfter").unwrap()
        ),
        (0, 1)
    );
    for same in [
        doc! { "key": { "_id": 1 }, "name": "x" },
        doc! { "key": { "_id": 1 }, "name": "x", "clustered": true, "unique": true },
    ] {
        let reply = db.run_command(create(same)).await.unwrap();
        assert!(reply.contains_key("note"), "{reply}");
    }
    for (index, expected) in [
        (doc! { "key": { "b": 1 }, "name": "b", "clustered": true }, 67),
        (
            doc! { "key": { "b": 1 }, "name": "b", "clustered": false },
            6_492_800,
        ),
        (
            doc! { "key": { "b": 1 }, "name": "b", "clustered": true, "unique": true },
            6_243_700,
        ),
    ] {
        assert_eq!(code(db, create(index.clone())).await, Some(expected), "{index}");
    }
    let elsewhere = doc! { "key": { "_id": 1 }, "name": "x", "clustered": true, "unique": true };
    let implicit = doc! { "createIndexes": "new", "indexes": [elsewhere.clone()] };
    assert_eq!(code(db, implicit).await, Some(6_100_900));
    db.create_collection("plain").await.unwrap();
    let other = doc! { "createIndexes": "plain", "indexes": [elsewhere] };
    assert_eq!(code(db, other).await, Some(6_243_700));

    for which in [Bson::from("_id_"), doc! { "_id": 1 }.into(), vec!["_id_"].into()] {
        let drop = doc! { "dropIndexes": "c", "index": which };
        assert_eq!(code(db, drop).await, Some(5_979_800));
    }
    let hide = doc! { "collMod": "c", "index": { "name": "_id_", "hidden": true } };
    assert_eq!(code(db, hide).await, Some(6_011_800));
    let unique = doc! { "collMod": "c", "index": { "keyPattern": { "_id": 1 }, "unique": true } };
    assert_eq!(code(db, unique).await, Some(27));
    let dropped = db
        .run_command(doc! { "dropIndexes": "c", "index": "*" })
        .await
        .unwrap();
    assert_eq!(dropped.get_i32("nIndexesWas").unwrap(), 1);
    let dropped = db.run_command(doc! { "drop": "c" }).await.unwrap();
    assert_eq!(dropped.get_i32("nIndexesWas").unwrap(), 0);
}

async fn only_the_order_of_ids_can_be_clustered(db: &Db) {
    let good = doc! { "key": { "_id": 1 }, "unique": true };
    let with = |name: &str, value: Bson| {
        let mut spec = good.clone();
        spec.insert(name, value);
        Bson::from(spec)
    };
    for (spec, expected) in [
        (true.into(), 5_979_703),
        ("x".into(), 14),
        (doc! { "unique": true }.into(), 40414),
        (doc! { "key": { "_id": 1 } }.into(), 40414),
        (with("key", doc! { "_id": -1 }.into()), 197),
        (with("key", doc! { "_id": 1, "a": 1 }.into()), 197),
        (with("key", 1.into()), 14),
        (with("unique", false.into()), 5_979_700),
        (with("unique", "x".into()), 14),
        (with("v", 1.into()), 5_979_704),
        (with("name", 1.into()), 14),
        (with("more", 1.into()), 40415),
    ] {
        let create = doc! { "create": "c", "clusteredIndex": spec };
        assert_eq!(code(db, create.clone()).await, Some(expected), "{create}");
    }
    for (more, expected) in [
        (doc! { "capped": true }, 6_127_800),
        (doc! { "max": 5 }, 6_049_204),
        (doc! { "viewOn": "b" }, 6_026_500),
        (doc! { "expireAfterSeconds": -1 }, 72),
        (doc! { "expireAfterSeconds": 1_i64 << 40 }, 72),
        (doc! { "expireAfterSeconds": "off" }, 14),
    ] {
        let mut create = doc! { "create": "c", "clusteredIndex": good.clone() };
        create.extend(more);
        assert_eq!(code(db, create.clone()).await, Some(expected), "{create}");
    }
    let off = doc! { "create": "c", "clusteredIndex": false };
    assert_eq!(code(db, off).await, None);
    assert!(options_of(db, "c").await.1.is_empty());
}

async fn documents_of_a_clustered_collection_live_as_long_as_it_says(db: &Db) {
    clustered(db, "c").await;
    let change = |seconds: Bson| doc! { "collMod": "c", "expireAfterSeconds": seconds };
    db.run_command(change(100.into())).await.unwrap();
    assert_eq!(
        options_of(db, "c").await.1.get_i64("expireAfterSeconds").unwrap(),
        100
    );
    db.run_command(change("off".into())).await.unwrap();
    assert!(!options_of(db, "c").await.1.contains_key("expireAfterSeconds"));
    for (seconds, expected) in [
        (Bson::from("x"), 72),
        (Bson::from(-1), 72),
        (Bson::from(1_i64 << 40), 72),
        (Bson::from(true), 14),
    ] {
        assert_eq!(code(db, change(seconds)).await, Some(expected));
    }
    db.create_collection("plain").await.unwrap();
    let plain = doc! { "collMod": "plain", "expireAfterSeconds": 5 };
    assert_eq!(code(db, plain).await, Some(72));
}

async fn a_clustered_collection_is_copied_and_replaced(db: &Db) {
    clustered(db, "c").await;
    let c = db.raw_collection("c");
    for id in [3, 1, 2] {
        c.insert(doc! { "_id": id }).await.unwrap();
    }
    let clone = doc! { "cloneCollectionAsCapped": "c", "toCollection": "log", "size": 4096 };
    db.run_command(clone).await.unwrap();
    assert_eq!(all_ids(&db.raw_collection("log")).await, [1, 2, 3]);
    c.rename("d").await.unwrap();
    let d = db.raw_collection("d");
    assert_eq!(all_ids(&d).await, [1, 2, 3]);
    let out = vec![doc! { "$match": { "_id": { "$ne": 2 } } }, doc! { "$out": "d" }];
    d.aggregate_raw(out).await.unwrap();
    d.insert(doc! { "_id": 0 }).await.unwrap();
    assert_eq!(all_ids(&d).await, [0, 1, 3]);
    assert!(options_of(db, "d").await.1.contains_key("clusteredIndex"));
}
