//! Documents with fields whose names begin with `$`, which servers refuse in replacements.

use odm::bson::{Document, doc};
use odm::{Db, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_document_with_such_a_field_is_migrated_and_replaced,
    a_model_that_declares_nothing_replaces_one_too,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "odd", schema_version = 2, migrate(add))]
struct Versioned {
    #[serde(rename = "_id")]
    id: i32,
    z: i32,
    #[serde(flatten)]
    rest: Document,
}

fn add(document: &mut Document) -> odm::Result<()> {
    document.insert("z", 1);
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "odd_plain")]
struct Unplanned {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    rest: Document,
}

async fn a_document_with_such_a_field_is_migrated_and_replaced(db: &Db) {
    let odd = db.collection::<Versioned>();
    let raw = db.raw_collection("odd");
    let old = doc! { "_id": 1, "$x": "$y", "a.b": { "$add": [1, 2] } };
    raw.insert(old.clone()).await.unwrap();
    let done = odd.migrate().await.unwrap();
    assert_eq!((done.migrated, done.failed.len()), (1, 0), "{done:?}");
    let mut expected = old;
    expected.extend(doc! { "z": 1, "schema_version": 2 });
    assert_eq!(raw.find_one(doc! {}).await.unwrap().unwrap(), expected);
    let mut stored = odd.get(1).required().await.unwrap();
    stored.rest.insert("$x", 7);
    odd.save(&stored).await.unwrap();
    assert_eq!(odd.get(1).required().await.unwrap(), stored);
    stored.rest.insert("$x", 8);
    odd.find_one_and_replace(|o| o.id.eq(1), &stored).await.unwrap();
    assert_eq!(odd.get(1).required().await.unwrap(), stored);
}

async fn a_model_that_declares_nothing_replaces_one_too(db: &Db) {
    let plain = db.collection::<Unplanned>();
    let of = |rest| Unplanned { id: 1, rest };
    for document in [of(doc! { "$n": "$a", "a": 0 }), of(doc! { "$n": "b" })] {
        plain.save(&document).await.unwrap();
        assert_eq!(plain.get(1).required().await.unwrap(), document);
    }
    let document = of(doc! { "$n": 1 });
    plain
        .bulk_write()
        .replace_one(|o| o.id.eq(1), &document)
        .await
        .unwrap();
    assert_eq!(plain.get(1).required().await.unwrap(), document);
    let document = of(doc! { "$n": 2 });
    plain
        .find_one_and_replace(|o| o.id.eq(1), &document)
        .await
        .unwrap();
    assert_eq!(plain.get(1).required().await.unwrap(), document);
}
