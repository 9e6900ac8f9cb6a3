//! What a history does with changes that are refused, numbers that are none, fields that a model does not know, and
//! `_id`s that are spelled in several ways.

use bson::{Bson, DateTime, Document, RawBson, RawDocument, doc};
use odm::backend::wrap::Fault;
use odm::{CollectionDeclaration, Db, Derivation, Derived, HookContext, Hooks, Model};
use odm_patterns::history::{History, HistoryError};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_refused_change_is_in_nobodys_way,
    a_migration_between_copy_and_change_is_no_clash,
    numbers_that_are_none_are_compared_by_their_bits,
    going_back_keeps_fields_that_the_model_does_not_know,
    versions_are_of_the_document_however_its_id_is_spelled,
    restoring_says_what_is_in_the_way,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "exact_records")]
struct Old {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    #[odm(unique)]
    number: i32,
    #[odm(version)]
    version: i64,
}

fn old(id: i32) -> Old {
    Old {
        id,
        name: "Ann".to_owned(),
        number: id,
        version: 0,
    }
}

#[derive(Debug)]
struct Loud;

impl Derivation for Loud {
    type Value = String;

    fn sources() -> Vec<String> {
        vec!["full_name".to_owned()]
    }

    fn derive(document: &RawDocument, _: DateTime) -> odm::Result<RawBson> {
        let name = document.get_str("full_name").unwrap_or_default();
        Ok(RawBson::String(name.to_uppercase()))
    }
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "exact_records", schema_version = 2, migrate(rename))]
struct New {
    #[serde(rename = "_id")]
    id: i32,
    full_name: String,
    loud: Derived<Loud>,
    #[odm(unique)]
    number: i32,
    #[odm(version)]
    version: i64,
}

fn rename(stored: &mut Document) -> odm::Result<()> {
    if let Some(name) = stored.remove("name") {
        stored.insert("full_name", name);
    }
    Ok(())
}

async fn a_refused_change_is_in_nobodys_way(db: &Db) {
    let history = History::<Old>::new(db);
    history.collection().sync_indexes().await.unwrap();
    for id in 1..=2 {
        history.insert(&old(id)).await.unwrap();
    }
    let around = async |name: &str| {
        let raw = history.collection().raw();
        let set = doc! {"$set": {"name": name}};
        raw.update_one(doc! {"_id": 1}, set).await.unwrap();
    };
    let refused = async |change: Result<(), HistoryError>| match change {
        Err(HistoryError::Database(error)) => {
            assert!(error.is_duplicate_key(), "{error}");
            assert_eq!((error.model(), error.id()), (Some("Old"), Some(&Bson::Int32(1))));
        }
        other => panic!("{other:?}"),
    };
    refused(history.update(1, |r| r.number.set(2)).await.map(drop)).await;
    around("Bea").await;
    assert_eq!(history.update(1, |r| r.name.set("Cis")).await.unwrap(), 1);
    assert_eq!(history.get(1, 0).await.unwrap().name, "Bea");
    refused(
        history
            .change(1, |record| {
                record.number = 2;
                Ok(())
            })
            .await,
    )
    .await;
    around("Dan").await;
    history
        .change(1, |record| {
            record.name.push('a');
            Ok(())
        })
        .await
        .unwrap();
    assert_eq!(history.get(1, 1).await.unwrap().name, "Dan");
    // One that was refused, and used by the next, is a version as any other.
    refused(history.update(1, |r| r.number.set(2)).await.map(drop)).await;
    history.update(1, |r| r.name.set("Eve")).await.unwrap();
    assert_eq!(history.get(1, 2).await.unwrap().name, "Dana");
    assert!(history.verify().await.unwrap().is_empty());
}

async fn a_migration_between_copy_and_change_is_no_clash(db: &Db) {
    let (before, after) = (History::<Old>::new(db), History::<New>::new(db));
    before.collection().sync_indexes().await.unwrap();
    let (faulty, faults) = db.faulty();
    for id in 1..=4 {
        before.insert(&old(id)).await.unwrap();
    }
    // Its writer died, or was refused: the copy of the current version is in the history.
    for id in 1..=3 {
        faults.add(Fault::nth_write(2).crash());
        let dies = History::<Old>::new(&faulty).update(id, |r| r.name.set("x")).await;
        dies.unwrap_err();
        faults.clear();
    }
    before.update(4, |r| r.number.set(1)).await.unwrap_err();
    let read = after
        .collection()
        .find(|r| r.id.eq(1))
        .write_back()
        .await
        .unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(after.collection().migrate().await.unwrap().migrated, 3);
    assert!(after.verify().await.unwrap().is_empty());
    assert_eq!(after.update(1, |r| r.full_name.set("Bea")).await.unwrap(), 1);
    after
        .change(2, |record| {
            record.full_name.push('a');
            Ok(())
        })
        .await
        .unwrap();
    after.delete(3).await.unwrap();
    assert_eq!(after.update(4, |r| r.full_name.set("Bea")).await.unwrap(), 1);
    assert_eq!(after.get(4, 0).await.unwrap().full_name, "Ann");
    assert_eq!(after.restore(3).await.unwrap(), 1);
    assert!(after.verify().await.unwrap().is_empty());
    // The schema version is no difference of what a document says.
    let paths = after.diff(1, 0, 1).await.unwrap();
    let paths: Vec<&str> = paths.iter().map(|difference| difference.path.as_str()).collect();
    assert_eq!(paths, ["name", "full_name", "loud"]);
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "exact_readings")]
struct Reading {
    #[serde(rename = "_id")]
    id: i32,
    value: f64,
    count: i32,
    #[odm(version)]
    version: i64,
}

async fn numbers_that_are_none_are_compared_by_their_bits(db: &Db) {
    let history = History::<Reading>::new(db);
    let value = f64::NAN;
    let reading = Reading {
        id: 1,
        value,
        count: 0,
        version: 0,
    };
    history.insert(&reading).await.unwrap();
    let strange = doc! {"$set": {"strange": {"list": [f64::NAN, 1]}}};
    history
        .collection()
        .raw()
        .update_one(doc! {"_id": 1}, strange)
        .await
        .unwrap();
    assert_eq!(history.update(1, |r| r.count.inc(1)).await.unwrap(), 1);
    assert_eq!(history.update(1, |r| r.value.set(1.5)).await.unwrap(), 2);
    assert_eq!(history.revert(1, 0).await.unwrap(), 3);
    assert!(history.get(1, 3).await.unwrap().value.is_nan());
    history
        .change(1, |reading| {
            reading.count += 1;
            Ok(())
        })
        .await
        .unwrap();
    history.delete(1).await.unwrap();
    assert_eq!(history.restore(1).await.unwrap(), 5);
    assert!(history.verify().await.unwrap().is_empty());
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "exact_hooked", hooks)]
struct Hooked {
    #[serde(rename = "_id")]
    id: i32,
    count: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[odm(version)]
    version: i64,
}

impl Hooks for Hooked {
    async fn before_replace(hooked: &mut Hooked, _: &HookContext) -> odm::Result<()> {
        hooked.count += 100;
        hooked.note = None;
        Ok(())
    }
}

async fn going_back_keeps_fields_that_the_model_does_not_know(db: &Db) {
    let history = History::<Reading>::new(db);
    let raw = history.collection().raw();
    let inner = doc! {"a": [1, {"b": 2}]};
    let stored = doc! {"_id": 1, "other": &inner, "value": 1.0, "count": 1, "version": 0_i64};
    raw.insert(stored).await.unwrap();
    history.update(1, |r| r.count.inc(1)).await.unwrap();
    history
        .change(1, |reading| {
            reading.count += 1;
            Ok(())
        })
        .await
        .unwrap();
    // The model stores what it knows.
    let now = raw.find_one(doc! {"_id": 1}).await.unwrap().unwrap();
    assert_eq!(now.get("other"), None);
    assert_eq!(history.revert(1, 0).await.unwrap(), 3);
    let now = raw.find_one(doc! {"_id": 1}).await.unwrap().unwrap();
    assert_eq!(
        now,
        doc! {"_id": 1, "other": inner, "value": 1.0, "count": 1, "version": 3_i64}
    );
    // Hooks change what the model knows.
    let history = History::<Hooked>::new(db);
    let raw = history.collection().raw();
    let stored = doc! {"_id": 1, "other": "kept", "count": 1, "note": "taken", "version": 0_i64};
    raw.insert(stored).await.unwrap();
    history.update(1, |r| r.count.inc(1)).await.unwrap();
    history.revert(1, 0).await.unwrap();
    let now = raw.find_one(doc! {"_id": 1}).await.unwrap().unwrap();
    assert_eq!(
        now,
        doc! {"_id": 1, "other": "kept", "count": 101, "version": 2_i64}
    );
}

fn any_case() -> CollectionDeclaration {
    CollectionDeclaration::new().collation(doc! {"locale": "en", "strength": 2})
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "exact_named", options = any_case)]
struct Named {
    #[serde(rename = "_id")]
    id: String,
    text: String,
    #[odm(version)]
    version: i64,
}

async fn versions_are_of_the_document_however_its_id_is_spelled(db: &Db) {
    let history = History::<Named>::new(db);
    history.collection().create_declared().await.unwrap();
    let (id, text) = ("ann".to_owned(), "0".to_owned());
    let version = 0;
    history.insert(&Named { id, text, version }).await.unwrap();
    for (text, id) in [("1", "ANN"), ("2", "ann"), ("3", "Ann")] {
        history.update(id, |n| n.text.set(text)).await.unwrap();
    }
    for id in ["ann", "ANN"] {
        assert_eq!(history.versions(id).await.unwrap().len(), 4);
        for version in 0..=3 {
            let then = history.get(id, version).await.unwrap();
            assert_eq!((then.id.as_str(), then.text), ("ann", version.to_string()));
        }
        assert_eq!(history.diff(id, 0, 3).await.unwrap().len(), 1);
        assert!(history.as_of(id, db.now()).await.unwrap().is_some());
    }
    assert_eq!(history.revert("ANN", 0).await.unwrap(), 4);
    history
        .change("Ann", |named| {
            named.text.push('z');
            Ok(())
        })
        .await
        .unwrap();
    assert!(history.verify().await.unwrap().is_empty());
    history.delete("ANN").await.unwrap();
    assert_eq!(history.restore("ann").await.unwrap(), 6);
    let keys = history.records().distinct("_id.of").await.unwrap();
    assert_eq!(keys, [Bson::String("ann".to_owned())]);
    assert_eq!(history.forget("ANN").await.unwrap(), 6);
}

async fn restoring_says_what_is_in_the_way(db: &Db) {
    let history = History::<Old>::new(db);
    history.collection().sync_indexes().await.unwrap();
    history.insert(&old(1)).await.unwrap();
    history.delete(1).await.unwrap();
    history.insert(&Old { number: 1, ..old(2) }).await.unwrap();
    match history.restore(1).await {
        Err(HistoryError::Database(error)) => {
            assert!(error.is_duplicate_key(), "{error}");
            assert_eq!((error.model(), error.id()), (Some("Old"), Some(&Bson::Int32(1))));
        }
        other => panic!("{other:?}"),
    }
    assert!(history.collection().get(1).await.unwrap().is_none());
    history.delete(2).await.unwrap();
    assert_eq!(history.restore(1).await.unwrap(), 1);
    let there = history.restore(1).await.unwrap_err();
    assert!(matches!(there, HistoryError::AlreadyThere { .. }), "{there:?}");
}
