//! The documents that steps in batches change: of any `_id`s, kinds, collations and sizes.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Document, doc};
use odm::{Db, ErrorKind, Filter, Model};
use odm_patterns::migration::{Migrations, Step, StepError};
use odm_tests::interrupted::interrupted;
use serde::{Deserialize, Serialize};

use super::migration_model::{Person, names, people, split, stored};

crate::on_every_backend! {
    ids_of_any_types_are_gone_through,
    strings_are_told_apart_by_their_bytes,
    kinds_and_deleted_documents,
    documents_outside_of_a_scope_are_changed,
    another_version_of_a_step_begins_anew,
    another_collection_can_be_changed,
    large_documents_and_none,
    what_no_update_can_say_is_refused,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_scoped", scope = published)]
struct Scoped {
    #[serde(rename = "_id")]
    id: i32,
    published: bool,
    n: i32,
}

fn published(s: ScopedFields) -> Filter<Scoped> {
    s.published.eq(true)
}

async fn documents_outside_of_a_scope_are_changed(db: &Db) {
    let raw = db.raw_collection("migrated_scoped");
    let all = (0..9).map(|id| doc! { "_id": id, "published": id % 3 == 0, "n": 0 });
    raw.insert_many(all).await.unwrap();
    let step = Step::each::<Scoped>(
        "1",
        |s| s.n.eq(0),
        |document| {
            document.insert("n", 1);
            Ok(())
        },
    );
    let migrations = Migrations::new().step(step.batch_size(2));
    assert_eq!(migrations.plan(db).await.unwrap()[0].documents, Some(9));
    assert_eq!(migrations.run(db).await.unwrap().steps[0].changed, 9);
    assert_eq!(raw.count(doc! { "n": 1 }).await.unwrap(), 9);
}

async fn another_version_of_a_step_begins_anew(db: &Db) {
    let raw = db.raw_collection("migrated_anything");
    raw.insert_many((0..6).map(|id| doc! { "_id": id, "n": 0 }))
        .await
        .unwrap();
    let of = |version: i32, fails_at: i32| {
        let step = Step::each::<Anything>(
            "1",
            |_| Filter::all(),
            move |document| {
                if document.get_i32("_id")? == fails_at {
                    return Err(StepError::new("not this one"));
                }
                document.insert("n", version);
                Ok(())
            },
        );
        Migrations::new().step(step.batch_size(2).fingerprint(version.to_string()).on_change())
    };
    of(1, 4).run(db).await.unwrap_err();
    assert_eq!(raw.count(doc! { "n": 1 }).await.unwrap(), 4);
    // The same version goes on where it ended, another one does all.
    assert_eq!(of(1, 4).plan(db).await.unwrap()[0].attempt, 2);
    assert_eq!(of(2, -1).plan(db).await.unwrap()[0].attempt, 1);
    assert_eq!(of(2, -1).run(db).await.unwrap().steps[0].changed, 6);
    assert_eq!(raw.count(doc! { "n": 2 }).await.unwrap(), 6);
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_anything")]
struct Anything {
    #[serde(rename = "_id")]
    id: Bson,
    #[serde(default)]
    n: i32,
}

async fn ids_of_any_types_are_gone_through(db: &Db) {
    let ids: Vec<Bson> = vec![
        Bson::MinKey,
        Bson::Null,
        (-5).into(),
        2.5.into(),
        7_i64.into(),
        f64::NAN.into(),
        "".into(),
        "a".into(),
        "z".into(),
        Bson::Document(doc! { "a": 1 }),
        Bson::Document(doc! { "b": 1 }),
        Bson::Binary(bson::Binary {
            subtype: bson::spec::BinarySubtype::Generic,
            bytes: vec![1, 2],
        }),
        ObjectId::from_bytes([7; 12]).into(),
        true.into(),
        DateTime::from_millis(5).into(),
        Bson::Timestamp(bson::Timestamp {
            time: 1,
            increment: 1,
        }),
        Bson::MaxKey,
    ];
    let raw = db.raw_collection("migrated_anything");
    for id in ids.iter().rev() {
        raw.insert(doc! { "_id": id.clone(), "n": 1 }).await.unwrap();
    }
    for size in [1, 2, 3, 100] {
        let step = Step::each::<Anything>(
            "1",
            |_| Filter::all(),
            |document| {
                let n = document.get_i32("n")?;
                document.insert("n", n + 1);
                Ok(())
            },
        );
        let migrations = Migrations::new()
            .step(step.batch_size(size))
            .collection(format!("records_{size}"));
        let report = migrations.run(db).await.unwrap();
        assert_eq!(report.steps[0].changed, ids.len() as u64, "{size}");
    }
    assert_eq!(raw.count(doc! { "n": 5 }).await.unwrap(), ids.len() as u64);
}

async fn strings_are_told_apart_by_their_bytes(db: &Db) {
    let strength = doc! { "locale": "en", "strength": 1 };
    db.create_collection("migrated_anything")
        .collation(strength)
        .await
        .unwrap();
    let raw = db.raw_collection("migrated_anything");
    raw.insert_many([
        doc! { "_id": "a", "text": "x" },
        doc! { "_id": "B", "text": "x" },
        doc! { "_id": "c", "text": "x" },
    ])
    .await
    .unwrap();
    let change = |document: &mut Document| {
        let text = document.get_str("text")?.to_owned();
        document.insert("copy", text);
        Ok(())
    };
    let step = || {
        Step::each::<Anything>("1", |_| Filter::all(), change)
            .batch_size(1)
            .concurrency(1)
    };
    // Somebody changes the case, which the collation does not tell apart.
    let other = raw.clone();
    let action = async move {
        other
            .update_one(doc! { "_id": "a" }, doc! { "$set": { "text": "X" } })
            .await
            .unwrap();
    };
    let (slow, moment) = interrupted(db, 7, action);
    let report = Migrations::new().step(step()).run(&slow).await.unwrap();
    assert!(moment.has_come());
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (3, 3));
    assert_eq!(
        raw.get("a").required().await.unwrap().get_str("copy").unwrap(),
        "X"
    );
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_animals", kind = "cat")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    lives: i32,
    #[odm(soft_delete)]
    gone: Option<DateTime>,
    #[odm(updated)]
    at: DateTime,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_animals", kind = "dog")]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(default)]
    lives: i32,
}

async fn kinds_and_deleted_documents(db: &Db) {
    let then = DateTime::from_millis(5);
    let old = db.with_clock(move || then);
    for id in 1..=2 {
        let cat = Cat {
            id,
            lives: 0,
            gone: None,
            at: then,
        };
        old.collection::<Cat>().insert(cat).await.unwrap();
    }
    old.collection::<Cat>().delete(2).await.unwrap();
    db.collection::<Dog>()
        .insert(Dog { id: 3, lives: 0 })
        .await
        .unwrap();
    let nine = |document: &mut Document| {
        document.insert("lives", 9);
        Ok(())
    };
    let step = Step::each::<Cat>("1", |_| Filter::all(), nine).without_timestamps();
    let migrations = Migrations::new().step(step);
    assert_eq!(migrations.plan(db).await.unwrap()[0].documents, Some(2));
    assert_eq!(migrations.run(db).await.unwrap().steps[0].changed, 2);
    assert_eq!(db.collection::<Dog>().get(3).required().await.unwrap().lives, 0);
    let deleted = db
        .collection::<Cat>()
        .get(2)
        .with_deleted()
        .required()
        .await
        .unwrap();
    assert_eq!((deleted.lives, deleted.at), (9, then));
    let eight = |document: &mut Document| {
        document.insert("lives", 8);
        Ok(())
    };
    let migrations = migrations.step(Step::each::<Cat>("2", |c| c.id.eq(1), eight));
    assert_eq!(migrations.run(db).await.unwrap().steps[0].changed, 1);
    assert!(db.collection::<Cat>().get(1).required().await.unwrap().at > then);
}

async fn another_collection_can_be_changed(db: &Db) {
    let other = db.raw_collection("migrated_people_2025");
    other.insert(doc! { "_id": 1, "name": "Ann Lee" }).await.unwrap();
    people(db, 1).await;
    let migrations = Migrations::new().step(names(9).in_collection("migrated_people_2025"));
    assert_eq!(migrations.plan(db).await.unwrap()[0].documents, Some(1));
    assert_eq!(migrations.run(db).await.unwrap().steps[0].changed, 1);
    assert_eq!(
        other
            .get(Bson::Int32(1))
            .required()
            .await
            .unwrap()
            .get_str("first")
            .unwrap(),
        "Ann"
    );
    assert!(stored(db, 0).await.contains_key("name"));
}

async fn large_documents_and_none(db: &Db) {
    // No collection is no document.
    let migrations = Migrations::new().step(names(9)).collection("none");
    let report = migrations.run(db).await.unwrap();
    assert_eq!((report.steps[0].examined, report.steps[0].changed), (0, 0));
    let raw = db.collection::<Person>().raw();
    let large = "x".repeat(4_000_000);
    for id in 0..5 {
        raw.insert(doc! { "_id": id, "name": "Ann Lee", "large": &large })
            .await
            .unwrap();
    }
    let report = Migrations::new().step(names(2)).run(db).await.unwrap();
    assert_eq!(report.steps[0].changed, 5);
    assert_eq!(stored(db, 4).await.get_str("large").unwrap().len(), large.len());
}

async fn what_no_update_can_say_is_refused(db: &Db) {
    people(db, 1).await;
    for name in ["a.b", "$a", ""] {
        let step = Step::each::<Person>(
            "1",
            |_| Filter::all(),
            move |person| {
                person.insert(name, 1);
                Ok(())
            },
        );
        let error = Migrations::new().step(step).run(db).await.unwrap_err();
        let error = odm::Error::from(error);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(stored(db, 0).await.len(), 3);
    // A filter that cannot be said fails too, and a wrong one is the database's error.
    let wrong = Step::each::<Person>("1", |_| Filter::raw(doc! { "$odd": 1 }), split);
    let migrations = Migrations::new().step(wrong);
    assert!(migrations.plan(db).await.is_err());
    assert!(migrations.run(db).await.is_err());
}
