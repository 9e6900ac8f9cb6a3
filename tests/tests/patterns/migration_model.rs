//! The steps of the migration cases.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bson::{Bson, Document, doc};
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::migration::{
    MigrationError, MigrationErrorKind, Migrations, Step, StepError, StepRecord, StepState,
};
use serde::{Deserialize, Serialize};

/// Notes that something happened, in the database.
pub(super) async fn note(db: &Db, what: &str) -> Result<(), StepError> {
    db.raw_collection("notes").insert(doc! { "what": what }).await?;
    Ok(())
}

/// What was noted, in its order.
pub(super) async fn notes(db: &Db) -> Vec<String> {
    let notes = db
        .raw_collection("notes")
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 });
    let text = |note: &Document| note.get_str("what").unwrap().to_owned();
    notes.await.unwrap().iter().map(text).collect()
}

/// A step that notes each of its runs, and each of its reverts.
pub(super) fn noting(id: &'static str) -> Step {
    Step::new(id, move |db: Db| async move { note(&db, id).await })
        .down(move |db: Db| async move { note(&db, &format!("not {id}")).await })
}

/// Steps `1` to `3`.
pub(super) fn three() -> Migrations {
    Migrations::new()
        .step(noting("1"))
        .step(noting("2"))
        .step(noting("3"))
}

/// A step that fails so many times before it notes.
pub(super) fn failing(id: &'static str, times: u32) -> Step {
    let left = Arc::new(AtomicU32::new(times));
    Step::new(id, move |db: Db| {
        let left = left.clone();
        async move {
            let is_left = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            match is_left {
                Ok(_) => Err(StepError::new("not yet")),
                Err(_) => note(&db, id).await,
            }
        }
    })
}

pub(super) async fn record(db: &Db, id: &str) -> StepRecord {
    db.collection::<StepRecord>().get(id).required().await.unwrap()
}

/// The recorded states, by the order of the ids.
pub(super) async fn states(db: &Db) -> Vec<(String, StepState)> {
    let records = db.collection::<StepRecord>().find_all().sort(|r| r.id.asc());
    let records = records.await.unwrap();
    records
        .into_iter()
        .map(|record| (record.id, record.state))
        .collect()
}

/// The kind of the error, and the step that it is of.
pub(super) fn refused<T: std::fmt::Debug>(
    result: Result<T, MigrationError>,
) -> (MigrationErrorKind, Option<String>) {
    let error = result.unwrap_err();
    assert_eq!(error.collection, "migrations");
    assert!(error.to_string().contains("collection: migrations"), "{error}");
    (error.kind, error.step)
}

/// A lost connection.
pub(super) fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "migrated_people")]
pub(super) struct Person {
    #[serde(rename = "_id")]
    pub id: i32,
    #[serde(default)]
    pub first: String,
    #[serde(default)]
    pub last: String,
    #[odm(version)]
    #[serde(default)]
    pub version: i64,
}

/// So many people as they were stored before.
pub(super) async fn people(db: &Db, count: i32) {
    let people = (0..count).map(|id| doc! { "_id": id, "name": format!("Ann Lee{id}"), "note": "kept" });
    let raw = db.collection::<Person>().raw();
    raw.insert_many(people.collect::<Vec<_>>()).await.unwrap();
}

/// Makes first and last names of names: nothing where that was done.
pub(super) fn split(person: &mut Document) -> Result<(), StepError> {
    let Some(name) = person.remove("name") else {
        return Ok(());
    };
    let name = name
        .as_str()
        .ok_or_else(|| StepError::new("the name is no text"))?;
    let (first, last) = name
        .split_once(' ')
        .ok_or_else(|| StepError::new("the name is one word"))?;
    person.insert("first", first);
    person.insert("last", last);
    Ok(())
}

/// Makes names of first and last names.
pub(super) fn join(person: &mut Document) -> Result<(), StepError> {
    let name = format!("{} {}", person.get_str("first")?, person.get_str("last")?);
    person.remove("first");
    person.remove("last");
    person.insert("name", name);
    Ok(())
}

/// A step that splits names, so many people at a time.
pub(super) fn names(size: u32) -> Step {
    Step::each::<Person>("1", |p| p.first.missing(), split).batch_size(size)
}

/// What is stored of a person.
pub(super) async fn stored(db: &Db, id: i32) -> Document {
    db.collection::<Person>()
        .raw()
        .get(Bson::Int32(id))
        .required()
        .await
        .unwrap()
}
