//! Copies that are made anew later: beside a change of the same version, by another program, and of keys of many types.

use bson::oid::ObjectId;
use bson::{Bson, DateTime, Document, RawBson, RawDocument, doc};
use odm::{CopyOf, Db, Derivation, Derived, Embedded, ErrorKind, Filter, Model, Ref};
use odm_tests::interleavings::every_interleaving_of;
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    sources_of_later_versions_wait_for_a_program_that_knows_them,
    holders_and_sources_of_ids_of_all_types_are_propagated,
}

#[derive(Debug)]
struct Label;

impl Derivation for Label {
    type Value = String;

    fn sources() -> Vec<String> {
        vec!["text".into()]
    }

    fn derive(document: &RawDocument, _: DateTime) -> odm::Result<RawBson> {
        let text = document.get_str("text").unwrap_or_default();
        Ok(RawBson::String(text.to_uppercase()))
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "signs", copied_to(Wall), schema_version = 2, migrate(lengthen))]
struct Sign {
    #[serde(rename = "_id")]
    id: Bson,
    text: String,
    label: Derived<Label>,
    #[odm(version)]
    version: i64,
}

fn lengthen(document: &mut Document) -> odm::Result<()> {
    let text = format!("{}!", document.get_str("text").unwrap_or_default());
    document.insert("text", text);
    Ok(())
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
#[odm(copy_of(Sign))]
struct SignCopy {
    #[odm(source)]
    id: Ref<Sign>,
    label: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "walls", index(keys(sign.id)))]
struct Wall {
    #[serde(rename = "_id")]
    id: Bson,
    sign: SignCopy,
}

fn sign(id: impl Into<Bson>, text: &str) -> Sign {
    Sign {
        id: id.into(),
        text: text.to_owned(),
        label: Derived::default(),
        version: 0,
    }
}

/// Signs, and walls with these `_id`s that hold copies of the first one.
async fn signs(db: &Db, signs: &[Bson], walls: &[Bson]) {
    let collection = db.collection::<Sign>();
    let all = signs.iter().map(|id| sign(id.clone(), "first"));
    collection.insert_many(all).await.unwrap();
    let first = collection.get(signs[0].clone()).required().await.unwrap();
    for id in walls {
        let wall = Wall {
            id: id.clone(),
            sign: SignCopy::copy_of(&first).unwrap(),
        };
        db.collection::<Wall>().insert(wall).await.unwrap();
    }
    collection.propagate_pending().await.unwrap();
}

async fn pending(db: &Db) -> Vec<Bson> {
    let marked = doc! { "copies_pending": { "$exists": true } };
    let found = db
        .raw_collection("signs")
        .find(marked)
        .sort_raw(doc! { "_id": 1 });
    let found = found.await.unwrap();
    found
        .iter()
        .map(|sign| sign.get("_id").unwrap().clone())
        .collect()
}

async fn is_in_step(db: &Db, context: &str) {
    let walls = db.collection::<Wall>().stale_copies().await.unwrap();
    assert_eq!(walls, [], "{context}");
}

async fn sources_of_later_versions_wait_for_a_program_that_knows_them(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        signs(&db, &[1, 2, 3].map(Bson::from), &[Bson::from(1)]).await;
        let copy = SignCopy {
            id: Ref::new(Bson::from(2)),
            label: "FIRST".to_owned(),
            version: 0,
        };
        let wall = Wall {
            id: Bson::from(2),
            sign: copy,
        };
        db.collection::<Wall>().insert(wall).await.unwrap();
        let raw = db.raw_collection("signs");
        let later = doc! { "$set": { "schema_version": 9 } };
        raw.update_one(doc! { "_id": 1 }, later).await.unwrap();
        // A change of both is none of the later one's copies, and takes place.
        let collection = db.collection::<Sign>();
        let change = collection.update_many(|_| Filter::all(), |s| s.text.set("second"));
        assert_eq!(change.await.unwrap().modified, 3);
        let label = async |id: i32| {
            let wall = db.collection::<Wall>().get(Bson::from(id));
            wall.required().await.unwrap().sign.label
        };
        assert_eq!(
            (label(1).await.as_str(), label(2).await.as_str()),
            ("FIRST", "SECOND")
        );
        assert_eq!(pending(&db).await, [Bson::from(1)]);
        let mark = doc! { "$set": { "label": "RAW", "copies_pending": ObjectId::new() }, "$inc": { "version": 1_i64 } };
        raw.update_one(doc! { "_id": 2 }, mark).await.unwrap();
        let report = collection.propagate_pending().await.unwrap();
        assert_eq!((report.sources, report.holders), (1, 1));
        assert_eq!(label(2).await, "RAW");
        let failed: Vec<_> = report
            .failed
            .iter()
            .map(|(id, error)| (id.clone(), error.kind()))
            .collect();
        assert_eq!(failed, [(Bson::from(1), ErrorKind::NewerVersion)]);
        assert_eq!(pending(&db).await, [Bson::from(1)]);
        // A program that knows the version.
        let known = doc! { "$set": { "schema_version": 2 } };
        raw.update_one(doc! { "_id": 1 }, known).await.unwrap();
        let report = collection.propagate_pending().await.unwrap();
        assert_eq!((report.sources, report.failed.len()), (1, 0));
        is_in_step(&db, "").await;
        assert_eq!(pending(&db).await, []);
        db.drop().await.unwrap();
    }
}

async fn holders_and_sources_of_ids_of_all_types_are_propagated(db: &Db) {
    let id = ObjectId::new();
    let ids = [
        Bson::from(1),
        Bson::from(2.5),
        "a".into(),
        doc! { "a": 1 }.into(),
        id.into(),
        true.into(),
    ];
    signs(db, &ids, &ids).await;
    let raw = db.raw_collection("signs");
    let change =
        doc! { "$set": { "label": "RAW", "copies_pending": ObjectId::new() }, "$inc": { "version": 1_i64 } };
    raw.update_many(doc! {}, change).await.unwrap();
    let collection = db.collection::<Sign>();
    let report = collection.propagate_pending().batch_size(1).await.unwrap();
    assert_eq!((report.sources, report.holders), (6, 6));
    is_in_step(db, "").await;
    // More sources than are read together, with an `_id` of another type behind them.
    let many = (100..250).map(|id| sign(id, "many"));
    collection.insert_many(many).await.unwrap();
    collection.propagate_pending().await.unwrap();
    let marked = doc! { "$set": { "copies_pending": ObjectId::new() } };
    raw.update_many(doc! {}, marked).await.unwrap();
    assert_eq!(collection.propagate_pending().await.unwrap().sources, 156);
}

#[derive(Clone, Copy, Debug)]
enum Work {
    Rederive,
    Migrate,
    Propagate,
    Change,
}

async fn work(db: &Db, work: Work, n: usize) {
    let signs = db.collection::<Sign>();
    match work {
        Work::Rederive => drop(signs.rederive(|_| Filter::all()).await.unwrap()),
        Work::Migrate => drop(signs.migrate().await.unwrap()),
        Work::Propagate => drop(signs.propagate_pending().await.unwrap()),
        Work::Change => {
            let text = format!("by {n}");
            let change = signs.update_many(|_| Filter::all(), |s| s.text.set(text));
            drop(change.await.unwrap());
        }
    }
}

#[tokio::test]
async fn copies_are_those_of_the_last_change_of_the_same_version_in_every_order() {
    let works = [Work::Rederive, Work::Migrate, Work::Propagate, Work::Change];
    let mut orders = 0;
    for has_transactions in [true, false] {
        for (first, second) in (0..4).flat_map(|first| (first..4).map(move |second| (first, second))) {
            let pair = [works[first], works[second]];
            orders += every_interleaving_of(
                2,
                async || {
                    let db = Db::open("memory:").await.unwrap();
                    for name in ["signs", "walls"] {
                        db.create_collection(name).await.unwrap();
                    }
                    let db = if has_transactions { db } else { Plain::db(&db) };
                    let ids = [Bson::from(1)];
                    signs(&db, &ids, &ids).await;
                    // Not in step with its text, of an older shape, and waiting.
                    let left = doc! {
                        "$set": { "text": "raw", "label": "LEFT", "copies_pending": ObjectId::new() },
                        "$unset": { "schema_version": "" },
                    };
                    db.raw_collection("signs")
                        .update_many(doc! {}, left)
                        .await
                        .unwrap();
                    db
                },
                |db, n| Box::pin(async move { work(db, pair[n], n).await }),
                async |db, order| {
                    let context = format!("{pair:?} {has_transactions} as {order:?}");
                    if pending(db).await.is_empty() {
                        is_in_step(db, &context).await;
                    }
                    db.collection::<Sign>().propagate_pending().await.unwrap();
                    assert_eq!(pending(db).await, [], "{context}");
                    is_in_step(db, &context).await;
                },
            )
            .await;
        }
    }
    assert!(orders > 200, "{orders}");
}
