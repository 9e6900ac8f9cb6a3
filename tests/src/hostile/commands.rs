//! Mutated commands through the command door, and mutated parts through the typed one.

use bson::{Bson, Document, RawDocumentBuf, doc};
use odm::Db;

use super::{Budget, depth, mutate};

/// Commands that are right: what is mutated.
pub fn corpus() -> Vec<Document> {
    let mut corpus: Vec<Document> = depth::doors()
        .flat_map(|door| [door.command(1), door.command(2)])
        .collect();
    corpus.extend(depth::over_deep_documents());
    corpus.extend([
        doc! { "createIndexes": "c", "indexes": [{ "key": { "t": "text", "p": 1 }, "name": "t", "weights": { "t": 3 }, "default_language": "french" }] },
        doc! { "find": "c", "filter": { "$text": { "$search": "a \"b c\" -d", "$language": "en", "$caseSensitive": true } }, "sort": { "s": { "$meta": "textScore" } } },
        doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$push": { "p": { "$each": [1, 2], "$position": 1, "$slice": -3, "$sort": { "a": 1 } } }, "$inc": { "b": 1 }, "$bit": { "x": { "or": 5 } } } }] },
        doc! { "update": "c", "updates": [{ "q": { "p": { "$gt": 1 } }, "u": { "$set": { "p.$": 5, "i.$[e].b": 2 } }, "arrayFilters": [{ "e.b": 1 }], "upsert": true }] },
        doc! { "aggregate": "c", "pipeline": [{ "$unwind": { "path": "$a", "includeArrayIndex": "n" } }, { "$group": { "_id": { "$year": "$d" }, "x": { "$avg": "$b" } } }, { "$sort": { "x": -1 } }, { "$skip": 1 }, { "$limit": 5 }], "cursor": { "batchSize": 2 } },
        doc! { "aggregate": "c", "pipeline": [{ "$bucketAuto": { "groupBy": "$b", "buckets": 3 } }, { "$project": { "t": { "$dateToString": { "date": { "$toDate": 5 }, "format": "%Y" } }, "s": { "$substrCP": ["$x", 1, 2] } } }], "cursor": {} },
        doc! { "find": "c", "filter": { "a": { "$regex": "^a.*b", "$options": "i" }, "b": { "$mod": [3, 1], "$type": ["int", 2] }, "c": { "$bitsAllSet": [1, 5] } }, "projection": { "a": { "$slice": [1, 2] } }, "limit": 3, "skip": 1 },
        doc! { "findAndModify": "c", "query": { "b": 1 }, "update": [{ "$set": { "x": { "$concat": ["a", "$t"] } } }], "new": true, "sort": { "_id": -1 } },
        doc! { "create": "k", "capped": true, "size": 4096, "max": 3 },
        doc! { "collMod": "c", "validator": { "a": { "$exists": true } }, "validationLevel": "off" },
        doc! { "explain": { "count": "c", "query": { "a": 1 } }, "verbosity": "executionStats" },
        doc! { "distinct": "c", "key": "a.b", "query": {} },
        doc! { "listCollections": 1, "filter": { "name": "c" } },
        doc! { "getMore": 5_i64, "collection": "c", "batchSize": 3 },
        doc! { "dropIndexes": "c", "index": "t" },
    ]);
    corpus
}

/// Sends mutated bytes; how many.
pub async fn bytes(budget: Budget) -> u64 {
    let corpus: Vec<Vec<u8>> = corpus()
        .iter()
        .filter_map(|command| bson::serialize_to_vec(command).ok())
        .collect();
    let mut db = depth::prepared().await;
    let mut count = 0;
    for input in budget.seeds() {
        let random = &mut input.random();
        let (own, other) = (random.pick(&corpus).clone(), random.pick(&corpus));
        let mutated = mutate::bytes(random, own, other);
        if let Ok(command) = RawDocumentBuf::from_bytes(mutated) {
            send(&db, command).await;
        }
        count += 1;
        if count % 500 == 0 {
            alive(&db).await;
            db = depth::prepared().await;
        }
    }
    alive(&db).await;
    count
}

/// Sends mutated documents; how many.
pub async fn documents(budget: Budget) -> u64 {
    let corpus = corpus();
    let mut db = depth::prepared().await;
    let mut count = 0;
    for input in budget.seeds() {
        let random = &mut input.random();
        let mut command = random.pick(&corpus).clone();
        for _ in 0..=random.below(3) {
            mutate::document(random, &mut command);
        }
        if let Ok(command) = RawDocumentBuf::try_from(&command) {
            send(&db, command).await;
        }
        count += 1;
        if count % 500 == 0 {
            alive(&db).await;
            db = depth::prepared().await;
        }
    }
    alive(&db).await;
    count
}

/// Sends filters, updates, projections, sorts and stages of nothing but hostile values; how many.
pub async fn parts(budget: Budget) -> u64 {
    let mut db = depth::prepared().await;
    let mut count = 0;
    for input in budget.seeds() {
        let random = &mut input.random();
        let mut part = || -> Document {
            (0..=random.below(3))
                .map(|_| (mutate::name(random), mutate::value(random, 3)))
                .collect()
        };
        let raw = db.raw_collection("c");
        match count % 6 {
            0 => drop(raw.find(part()).limit(5).await),
            1 => drop(raw.find(doc! {}).project_raw(part()).await),
            2 => drop(raw.find(doc! {}).sort_raw(part()).await),
            3 => drop(raw.update_many(doc! {}, part()).await),
            4 => drop(raw.aggregate_raw([part(), part()]).await),
            _ => drop(raw.insert(part()).await),
        }
        count += 1;
        if count % 500 == 0 {
            alive(&db).await;
            db = depth::prepared().await;
        }
    }
    alive(&db).await;
    count
}

async fn send(db: &Db, command: RawDocumentBuf) {
    let shown = command.clone();
    if depth::run_raw(db, command).await == Err(1) {
        panic!("an internal error: {shown:?}");
    }
}

/// The engine still answers, reads and writes, and its indexes agree with its documents.
async fn alive(db: &Db) {
    let own = db.raw_collection("alive");
    own.insert(doc! { "x": 1 }).await.expect("a document goes in");
    assert_eq!(
        own.find(doc! { "x": 1 }).await.expect("a document comes out")[0].get("x"),
        Some(&Bson::Int32(1))
    );
    let report = db.check().await.expect("the check runs");
    assert!(report.is_clean(), "{report:?}");
}
