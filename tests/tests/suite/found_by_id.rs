//! Documents that are found by their `_id`, wherever they are stored by then.

use std::collections::BTreeMap;

use bson::{Bson, Document, doc};
use odm::Db;

crate::on_every_backend! {
    ids_lead_to_what_has_them_now,
    ids_of_other_types_and_collections_are_others,
    ids_lead_to_their_documents_while_others_write,
}

/// The document with this `_id`, asked for by nothing else.
async fn get(db: &Db, collection: &str, id: impl Into<Bson>) -> Option<Document> {
    let found = db.raw_collection(collection).find_one(doc! { "_id": id.into() });
    found.await.unwrap()
}

async fn ids_lead_to_what_has_them_now(db: &Db) {
    let items = db.raw_collection("items");
    let mut model = BTreeMap::new();
    let mut seed = 11_u64;
    let mut below = |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % limit
    };
    for round in 0..1_500 {
        let id = below(40) as i32;
        match below(8) {
            0..3 if !model.contains_key(&id) => {
                items.insert(doc! { "_id": id, "n": round }).await.unwrap();
                model.insert(id, round);
            }
            3..5 => {
                let removed = items.delete_one(doc! { "_id": id }).await.unwrap();
                assert_eq!(removed.deleted == 1, model.remove(&id).is_some());
            }
            5 => {
                let changed = items.update_one(doc! { "_id": id }, doc! { "$set": { "n": round } });
                assert_eq!(changed.await.unwrap().matched == 1, model.contains_key(&id));
                model.entry(id).and_modify(|n| *n = round);
            }
            6 if below(60) == 0 => {
                db.drop_collection("items").await.unwrap();
                model.clear();
            }
            6 => {
                // What is taken back was never anywhere.
                let tx = db.begin().await.unwrap();
                let inside = tx.raw_collection("items");
                inside.delete_one(doc! { "_id": id }).await.unwrap();
                inside.insert(doc! { "_id": id, "n": -1 }).await.unwrap();
                tx.abort().await;
            }
            _ => {}
        }
        for id in [id, below(40) as i32] {
            let found = get(db, "items", id).await;
            let expected = model.get(&id).map(|n| doc! { "_id": id, "n": *n });
            assert_eq!(found, expected, "round {round}");
        }
    }
}

async fn ids_of_other_types_and_collections_are_others(db: &Db) {
    let ids: Vec<Bson> = vec![
        1.into(),
        "1".into(),
        true.into(),
        bson::oid::ObjectId::new().into(),
        bson::DateTime::from_millis(1).into(),
        Bson::Decimal128("1.5".parse().unwrap()),
        f64::NAN.into(),
        i64::MAX.into(),
        "x".repeat(3_000).into(),
    ];
    for (n, collection) in ["one", "other"].into_iter().enumerate() {
        let many = ids.iter().enumerate();
        let many = many.map(|(at, id)| doc! { "_id": id.clone(), "n": (10 * n + at) as i32 });
        db.raw_collection(collection).insert_many(many).await.unwrap();
    }
    for _ in 0..2 {
        for (n, collection) in ["one", "other"].into_iter().enumerate() {
            for (at, id) in ids.iter().enumerate() {
                let found = get(db, collection, id.clone()).await.unwrap();
                assert_eq!(
                    found.get_i32("n").unwrap(),
                    (10 * n + at) as i32,
                    "{collection} {id}"
                );
            }
        }
    }
    // Numbers of other types are the same.
    for id in [
        Bson::Int64(1),
        Bson::Double(1.0),
        Bson::Decimal128("1.00".parse().unwrap()),
    ] {
        assert_eq!(get(db, "one", id).await.unwrap().get_i32("n").unwrap(), 0);
    }
    for id in [Bson::Int32(2), Bson::String(String::new()), Bson::Boolean(false)] {
        assert_eq!(get(db, "one", id).await, None);
    }
    let plain = doc! { "locale": "de", "strength": 1 };
    let created = db.create_collection("collated").collation(plain);
    created.await.unwrap();
    let items = db.raw_collection("collated");
    items.insert(doc! { "_id": "a" }).await.unwrap();
    for id in ["a", "A", "a", "\u{e4}"] {
        assert!(get(db, "collated", id).await.is_some(), "{id}");
    }
    assert_eq!(get(db, "collated", "b").await, None);
}

async fn ids_lead_to_their_documents_while_others_write(db: &Db) {
    let writers = (0..4_i32).map(|own| {
        let db = db.clone();
        tokio::spawn(async move {
            let items = db.raw_collection("items");
            for round in 0..60 {
                let id = own * 100 + round % 5;
                items.insert(doc! { "_id": id, "own": own }).await.unwrap();
                assert!(get(&db, "items", id).await.is_some());
                items.delete_one(doc! { "_id": id }).await.unwrap();
                assert_eq!(get(&db, "items", id).await, None);
            }
        })
    });
    let readers = (0..2).map(|_| {
        let db = db.clone();
        tokio::spawn(async move {
            for n in 0..600_i32 {
                let id = n % 4 * 100 + n % 5;
                if let Some(found) = get(&db, "items", id).await {
                    assert_eq!(found, doc! { "_id": id, "own": n % 4 });
                }
            }
        })
    });
    let all: Vec<_> = writers.chain(readers).collect();
    for task in all {
        task.await.unwrap();
    }
}
