//! Wildcard indexes: all fields of a document, or of a part of it.

use bson::{Bson, Document, doc};
use odm::Db;

use odm_tests::random::Random;

crate::on_every_backend! {
    wildcard_indexes_answer_as_no_index_does,
    wildcard_indexes_are_used_for_what_they_see,
    wildcard_indexes_that_cannot_be_are_the_servers_errors,
    wildcard_indexes_follow_every_write,
}

async fn create(db: &Db, name: &str, mut spec: Document) -> Result<(), odm::Error> {
    if !spec.contains_key("name") {
        spec.insert("name", "w");
    }
    let command = doc! { "createIndexes": name, "indexes": [spec] };
    db.run_command(command).await.map(drop)
}

/// Values of every kind that a field can have, arrays and documents in each other.
fn value(random: &mut Random, depth: usize) -> Bson {
    let kinds = if depth == 0 { 8 } else { 11 };
    match random.below(kinds) {
        0 => Bson::Int32(random.below(4) as i32),
        1 => Bson::Double(random.below(8) as f64 / 2.0),
        2 => Bson::String(["", "a", "ab", "b"][random.below(4)].to_owned()),
        3 => Bson::Null,
        4 => Bson::Boolean(random.below(2) == 0),
        5 => Bson::Document(doc! {}),
        6 => Bson::Array(Vec::new()),
        7 => Bson::Int64(random.below(4) as i64),
        8 | 9 => Bson::Document(document(random, depth - 1)),
        _ => Bson::Array((0..random.below(4)).map(|_| value(random, depth - 1)).collect()),
    }
}

fn document(random: &mut Random, depth: usize) -> Document {
    let mut found = Document::new();
    for name in ["a", "b", "0"] {
        if random.below(3) > 0 {
            found.insert(name, value(random, depth));
        }
    }
    found
}

fn filter(random: &mut Random) -> Document {
    let path = ["a", "b", "a.a", "a.b", "b.a", "b.b.a", "a.0", "a.0.b", "_id"][random.below(9)];
    let operand = value(random, 1);
    match random.below(9) {
        0 => doc! { path: { "$gt": operand } },
        // By such an index a server of version 6 does not find that what is missing is `$lte: null`.
        1 if operand == Bson::Null => doc! { path: { "$gt": operand } },
        1 => doc! { path: { "$lte": operand } },
        2 => doc! { path: { "$in": [operand, value(random, 1)] } },
        3 => doc! { path: { "$exists": random.below(2) == 0 } },
        4 => doc! { path: { "$elemMatch": { "a": operand } } },
        5 => doc! { path: { "$regex": "^a" } },
        6 => doc! { path: { "$ne": operand } },
        7 => doc! { path: operand, "b": { "$gte": random.below(3) as i32 } },
        _ => doc! { path: operand },
    }
}

async fn wildcard_indexes_answer_as_no_index_does(db: &Db) {
    let mut random = Random::new(7);
    let documents: Vec<Document> = (0..120)
        .map(|id| {
            let mut found = doc! { "_id": id };
            found.extend(document(&mut random, 3));
            found
        })
        .collect();
    let filters: Vec<Document> = (0..150).map(|_| filter(&mut random)).collect();
    let plain = db.raw_collection("plain");
    plain.insert_many(&documents).await.unwrap();
    for (number, spec) in [
        doc! { "key": { "$**": 1 } },
        doc! { "key": { "a.$**": 1 } },
        doc! { "key": { "$**": 1 }, "wildcardProjection": { "a.b": 1, "_id": 1 } },
        doc! { "key": { "$**": 1 }, "wildcardProjection": { "a.b": 0 } },
        doc! { "key": { "$**": 1 }, "partialFilterExpression": { "a": { "$exists": true } } },
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("indexed{number}");
        let indexed = db.raw_collection(&name);
        indexed.insert_many(&documents).await.unwrap();
        create(db, &name, spec.clone()).await.unwrap();
        for filter in &filters {
            let ids = async |collection: &odm::Collection<Document>| {
                let found = collection
                    .find(filter.clone())
                    .sort_raw(doc! { "_id": 1 })
                    .await
                    .unwrap();
                found
                    .iter()
                    .map(|row| row.get_i32("_id").unwrap())
                    .collect::<Vec<_>>()
            };
            assert_eq!(ids(&indexed).await, ids(&plain).await, "{spec}: {filter}");
            assert_eq!(
                indexed.count(filter.clone()).await.unwrap(),
                plain.count(filter.clone()).await.unwrap(),
                "{spec}: {filter}"
            );
        }
    }
    if db.backend_name() != "mongodb" {
        assert!(db.check().await.unwrap().is_clean());
    }
}

/// The name of the index that the winning plan scans, however deep.
fn scanned(plan: &Document) -> Option<String> {
    if let Ok(name) = plan.get_str("indexName") {
        return Some(name.to_owned());
    }
    plan.values().find_map(|value| match value {
        Bson::Document(inner) => scanned(inner),
        _ => None,
    })
}

async fn wildcard_indexes_are_used_for_what_they_see(db: &Db) {
    let items = db.raw_collection("items");
    let documents: Vec<Document> = (0..50)
        .map(|id| doc! { "_id": id, "attributes": { "size": id % 10, "tags": ["x", format!("t{id}")] } })
        .collect();
    items.insert_many(&documents).await.unwrap();
    create(db, "items", doc! { "key": { "attributes.$**": 1 } })
        .await
        .unwrap();
    for (filter, used) in [
        (doc! { "attributes.size": 3 }, true),
        (doc! { "attributes.size": { "$gte": 3, "$lt": 5 } }, true),
        (doc! { "attributes.tags": "t7" }, true),
        (doc! { "attributes.tags": { "$in": ["t7", "t8"] } }, true),
        (doc! { "attributes.tags": { "$regex": "^t4" } }, true),
        (
            doc! { "$or": [{ "attributes.size": 3 }, { "attributes.tags": "t1" }] },
            true,
        ),
        (doc! { "attributes.size": null }, false),
        (doc! { "attributes.size": { "$exists": false } }, false),
        (doc! { "attributes.size": { "$ne": 3 } }, false),
        (doc! { "other": 3 }, false),
        (doc! {}, false),
    ] {
        let explain = doc! { "explain": { "find": "items", "filter": &filter }, "verbosity": "queryPlanner" };
        let explained = db.run_command(explain).await.unwrap();
        let planner = explained.get_document("queryPlanner").unwrap();
        let plan = planner.get_document("winningPlan").unwrap();
        let or = plan.to_string().contains("\"indexName\": \"w\"");
        assert_eq!(scanned(plan).is_some() || or, used, "{filter}: {plan}");
    }
    // A hint is followed, or refused where the index does not see what is asked.
    let hinted = items.find(doc! { "attributes.size": 3 }).hint("w").await.unwrap();
    assert_eq!(hinted.len(), 5);
    for there in [
        doc! { "attributes.tags": { "$exists": true } },
        doc! { "attributes.size": { "$ne": null } },
    ] {
        assert_eq!(items.find(there).hint("w").await.unwrap().len(), 50);
    }
    let empty = items
        .find(doc! { "attributes.size": [] })
        .hint("w")
        .await
        .unwrap();
    assert!(empty.is_empty());
    let refused = items.find(doc! { "other": 3 }).hint("w").await.unwrap_err();
    assert_eq!(refused.code(), Some(291));
}

async fn wildcard_indexes_that_cannot_be_are_the_servers_errors(db: &Db) {
    for (spec, code) in [
        (doc! { "key": { "$**": 1 }, "unique": true }, 67),
        (doc! { "key": { "$**": 1 }, "sparse": true }, 67),
        (doc! { "key": { "$**": 1 }, "expireAfterSeconds": 5 }, 67),
        (doc! { "key": { "$**": 1 }, "v": 1 }, 67),
        (doc! { "key": { "$**": "hashed" } }, 67),
        (doc! { "key": { "$**": "wildcard" } }, 67),
        (doc! { "key": { "$**": "hello" } }, 67),
        (doc! { "key": { "$**": 0 } }, 67),
        (doc! { "key": { "$**": -1 } }, 67),
        (doc! { "key": { "$**.a": 1 } }, 67),
        (doc! { "key": { "a.$**.$**": 1 } }, 67),
        (doc! { "key": { "a": 1, "$**": 1 } }, 67),
        (doc! { "key": { "a..$**": 1 } }, 67),
        (doc! { "key": { "$**": 1 }, "wildcardProjection": {} }, 9),
        (doc! { "key": { "$**": 1 }, "wildcardProjection": "a" }, 14),
        (
            doc! { "key": { "$**": 1 }, "wildcardProjection": { "a": 1, "b": 0 } },
            31254,
        ),
        (
            doc! { "key": { "$**": 1 }, "wildcardProjection": { "a": 0, "b": 1 } },
            31253,
        ),
        (
            doc! { "key": { "$**": 1 }, "wildcardProjection": { "a": "b" } },
            51271,
        ),
        (
            doc! { "key": { "a.$**": 1 }, "wildcardProjection": { "b": 1 } },
            9,
        ),
        (doc! { "key": { "a": 1 }, "wildcardProjection": { "b": 1 } }, 2),
    ] {
        let refused = create(db, "x", spec.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Some(code), "{spec}: {refused}");
    }
    for spec in [
        doc! { "key": { "$**": 1 }, "name": "all" },
        doc! { "key": { "a.b.$**": 1 }, "name": "part" },
        doc! { "key": { "_id.$**": 1 }, "name": "of the id" },
        doc! { "key": { "$**": 1 }, "name": "chosen", "wildcardProjection": { "a": 1, "b": { "c": 1 } } },
        doc! { "key": { "c.$**": 1 }, "name": "hidden", "hidden": true },
    ] {
        create(db, "y", spec.clone()).await.unwrap();
        let listed = db.raw_collection("y").list_indexes().await.unwrap();
        let index = listed
            .iter()
            .find(|index| index.name == spec.get_str("name").unwrap())
            .unwrap();
        for (name, value) in &spec {
            assert_eq!(index.spec.get(name), Some(value), "{spec}");
        }
    }
}

async fn wildcard_indexes_follow_every_write(db: &Db) {
    let items = db.raw_collection("items");
    create(db, "items", doc! { "key": { "$**": 1 } }).await.unwrap();
    items.insert(doc! { "_id": 1, "a": { "b": 5 } }).await.unwrap();
    let ids = async |filter: Document| {
        let found = items.find(filter).hint("w").await.unwrap();
        found
            .iter()
            .map(|row| row.get_i32("_id").unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(doc! { "a.b": 5 }).await, [1]);
    items
        .update_one(doc! { "_id": 1 }, doc! { "$set": { "a.b": [6, { "c": 7 }] } })
        .await
        .unwrap();
    assert!(ids(doc! { "a.b": 5 }).await.is_empty());
    assert_eq!(ids(doc! { "a.b": 6 }).await, [1]);
    assert_eq!(ids(doc! { "a.b.c": { "$gt": 6 } }).await, [1]);
    items
        .update_one(
            doc! { "_id": 1 },
            doc! { "$unset": { "a": 1 }, "$set": { "z": "new" } },
        )
        .await
        .unwrap();
    assert!(ids(doc! { "a.b.c": { "$gt": 6 } }).await.is_empty());
    assert_eq!(ids(doc! { "z": "new" }).await, [1]);
    items.delete_one(doc! { "_id": 1 }).await.unwrap();
    assert!(ids(doc! { "z": "new" }).await.is_empty());
}
