//! Fields that are set to what is computed of the document.

use std::collections::BTreeMap;

use bson::{DateTime, doc};
use odm::{Db, Embedded, Error, ErrorKind, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    fields_are_set_to_what_is_computed_of_others,
    everything_is_computed_of_the_document_before,
    values_beside_are_taken_as_they_are,
    every_kind_of_update_computes,
    what_models_keep_is_kept,
    other_changes_are_refused_beside_it,
    nothing_is_computed_of_what_is_missing,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Size {
    width: i32,
    depth: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "shelves")]
struct Shelf {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    price: f64,
    count: i32,
    worth: f64,
    size: Size,
    notes: BTreeMap<String, i32>,
    last: Option<String>,
    seen: Option<DateTime>,
    parts: Vec<Size>,
    extra: Option<i32>,
}

fn shelf(id: i32) -> Shelf {
    Shelf {
        id,
        name: "Oak".to_owned(),
        price: 2.5,
        count: 4,
        worth: 0.0,
        size: Size { width: 7, depth: 3 },
        notes: BTreeMap::from([("a".to_owned(), 1)]),
        last: Some("x".to_owned()),
        seen: None,
        parts: vec![Size { width: 1, depth: 1 }],
        extra: None,
    }
}

async fn one(db: &Db) -> Shelf {
    db.collection::<Shelf>().get(1).required().await.unwrap()
}

async fn fields_are_set_to_what_is_computed_of_others(db: &Db) {
    let shelves = db.collection::<Shelf>();
    shelves.insert(shelf(1)).await.unwrap();
    let done = shelves
        .update_one(
            |s| s.id.eq(1),
            |s| {
                s.worth.set_to(s.price.value() * &s.count)
                    & s.count.set_to(s.count.value() + 1)
                    & s.size.depth.set_to(&s.size.width)
                    & s.notes.key("b").set_to(s.notes.key("a").value() + 10)
                    & s.name.set_to(s.name.value().to_uppercase())
                    & s.last.unset()
                    & s.seen.current_date()
            },
        )
        .await
        .unwrap();
    assert_eq!((done.matched, done.modified), (1, 1));
    let found = one(db).await;
    assert!(found.seen.is_some());
    let expected = Shelf {
        name: "OAK".to_owned(),
        worth: 10.0,
        count: 5,
        size: Size { width: 7, depth: 7 },
        notes: BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 11)]),
        last: None,
        seen: found.seen,
        ..shelf(1)
    };
    assert_eq!(found, expected);
}

async fn everything_is_computed_of_the_document_before(db: &Db) {
    let shelves = db.collection::<Shelf>();
    shelves.insert(shelf(1)).await.unwrap();
    shelves
        .update_one(
            |s| s.id.eq(1),
            |s| {
                s.size.width.set_to(&s.size.depth)
                    & s.size.depth.set_to(&s.size.width)
                    & s.price.set(100.0)
                    & s.worth.set_to(&s.price)
            },
        )
        .await
        .unwrap();
    let found = one(db).await;
    assert_eq!((found.size.width, found.size.depth), (3, 7));
    assert_eq!((found.price, found.worth), (100.0, 2.5));
}

async fn values_beside_are_taken_as_they_are(db: &Db) {
    let shelves = db.collection::<Shelf>();
    shelves.insert(shelf(1)).await.unwrap();
    shelves
        .update_one(
            |s| s.id.eq(1),
            |s| {
                s.worth.set_to(&s.price)
                    & s.name.set("$price")
                    & s.size.set(Size { width: 1, depth: 2 })
                    & s.notes.set(BTreeMap::from([("c".to_owned(), 3)]))
                    & s.parts.set(vec![])
            },
        )
        .await
        .unwrap();
    let expected = Shelf {
        worth: 2.5,
        name: "$price".to_owned(),
        size: Size { width: 1, depth: 2 },
        notes: BTreeMap::from([("c".to_owned(), 3)]),
        parts: vec![],
        ..shelf(1)
    };
    assert_eq!(one(db).await, expected);
}

async fn every_kind_of_update_computes(db: &Db) {
    let shelves = db.collection::<Shelf>();
    shelves.insert_many([shelf(1), shelf(2), shelf(3)]).await.unwrap();
    let many = shelves.update_many(|_| Filter::all(), |s| s.worth.set_to(s.price.value() + &s.id));
    assert_eq!(many.await.unwrap().modified, 3);
    let new = shelves
        .find_one_and_update(|s| s.id.eq(2), |s| s.count.set_to(s.count.value() * 2))
        .return_new();
    let new = new.required().await.unwrap();
    assert_eq!((new.worth, new.count), (4.5, 8));
    shelves
        .bulk_write()
        .update_one(|s| s.id.eq(1), |s| s.count.set_to(s.id.value() + 6))
        .upsert(
            |s| s.id.eq(9),
            |s| s.count.set_to(s.id.value() + 1) & s.name.set("New"),
        )
        .await
        .unwrap();
    assert_eq!(one(db).await.count, 7);
    let made = shelves.raw().find_one(doc! { "_id": 9 }).await.unwrap();
    assert_eq!(made, Some(doc! { "_id": 9, "count": 10, "name": "New" }));
    let tx = db.begin().await.unwrap();
    let inside = tx
        .collection::<Shelf>()
        .update_one(|s| s.id.eq(1), |s| s.count.set_to(s.count.value() + 1));
    inside.await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(one(db).await.count, 8);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "kept")]
struct Kept {
    #[serde(rename = "_id")]
    id: i32,
    a: i32,
    b: i32,
    #[odm(version)]
    version: i64,
    #[odm(updated)]
    updated: DateTime,
}

async fn what_models_keep_is_kept(db: &Db) {
    let kept = db.collection::<Kept>();
    let document = Kept {
        id: 1,
        a: 2,
        b: 3,
        version: 0,
        updated: DateTime::MIN,
    };
    kept.insert(&document).await.unwrap();
    let before = kept.get(1).required().await.unwrap();
    let update = |k: KeptFields| k.a.set_to(k.a.value() + &k.b);
    kept.update_one(|k| k.id.eq(1), update).await.unwrap();
    let after = kept.get(1).required().await.unwrap();
    assert_eq!((after.a, after.version), (5, before.version + 1));
    assert!(after.updated >= before.updated);
}

async fn other_changes_are_refused_beside_it(db: &Db) {
    let shelves = db.collection::<Shelf>();
    shelves.insert(shelf(1)).await.unwrap();
    let refused = |error: Error, path: &str| {
        assert_eq!(
            (error.kind(), error.path()),
            (ErrorKind::InvalidArgument, Some(path))
        );
    };
    let inc = shelves.update_one(|s| s.id.eq(1), |s| s.worth.set_to(&s.price) & s.count.inc(1));
    refused(inc.await.unwrap_err(), "count");
    let each = shelves.update_one(|s| s.id.eq(1), |s| s.parts.each().width.set_to(s.id));
    refused(each.await.unwrap_err(), "parts.$[].width");
    let at = shelves.update_one(|s| s.id.eq(1), |s| s.parts.at(0).width.set_to(s.id));
    refused(at.await.unwrap_err(), "parts.0.width");
    let twice = shelves.update_one(|s| s.id.eq(1), |s| s.worth.set_to(&s.price) & s.worth.set(1.0));
    refused(twice.await.unwrap_err(), "worth");
    let inside = shelves.update_one(
        |s| s.id.eq(1),
        |s| s.size.set(Size { width: 1, depth: 1 }) & s.size.width.set_to(&s.id),
    );
    refused(inside.await.unwrap_err(), "size, size.width");
    assert_eq!(one(db).await, shelf(1));
}

async fn nothing_is_computed_of_what_is_missing(db: &Db) {
    let shelves = db.collection::<Shelf>();
    shelves.insert(shelf(1)).await.unwrap();
    let update = shelves.update_one(
        |s| s.id.eq(1),
        |s| {
            s.worth.set_to(s.price.value() * s.extra.value().if_null(3)) & s.extra.set_to(s.extra.value() + 1)
        },
    );
    update.await.unwrap();
    let found = one(db).await;
    assert_eq!((found.worth, found.extra), (7.5, None));
}
