//! Batches that are larger than a message, and statements that are larger than one.

use bson::{Document, doc};
use odm::{Db, ErrorKind, Filter, Model, Result};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    updates_and_deletions_larger_than_a_message_are_split,
    a_migration_and_a_writing_back_are_split,
    a_document_too_large_to_be_compared_fails_alone,
    a_statement_too_large_fails_alone,
    what_was_stored_before_a_failure_is_told,
    an_ordered_batch_of_many_parts_stops_where_it_fails,
    an_insert_that_is_refused_names_its_id,
}

const MIB: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "pages", schema_version = 2, migrate(same))]
struct Page {
    #[serde(rename = "_id")]
    id: i32,
    text: String,
    #[serde(default)]
    read: i32,
}

fn same(_: &mut Document) -> Result<()> {
    Ok(())
}

fn note(id: i32, text: &str) -> Note {
    Note {
        id,
        text: text.to_owned(),
    }
}

async fn updates_and_deletions_larger_than_a_message_are_split(db: &Db) {
    let notes = db.collection::<Note>();
    notes.insert_many((0..600).map(|id| note(id, "a"))).await.unwrap();
    for (letter, is_ordered) in [("y", true), ("z", false)] {
        let mut batch = notes.bulk_write();
        for id in 0..600 {
            batch = batch.update_one(move |n| n.id.eq(id), |n| n.text.set(letter.repeat(40_000)));
        }
        batch = batch.upsert(|n| n.id.eq(1_000), |n| n.text.set(letter));
        let batch = if is_ordered { batch } else { batch.unordered() };
        let done = batch.await.unwrap();
        let upserted = if is_ordered {
            vec![(600, 1_000)]
        } else {
            Vec::new()
        };
        assert_eq!(
            (done.matched, done.upserted_ids),
            (601 - upserted.len() as u64, upserted)
        );
        let changed = doc! { "text": { "$gte": letter } };
        assert_eq!(notes.raw().count(changed).await.unwrap(), 601);
    }
    let mut batch = notes.bulk_write();
    for id in 0..600 {
        batch = batch.delete_one(move |n| n.id.eq(id) & n.text.ne("x".repeat(40_000)));
    }
    assert_eq!(batch.await.unwrap().deleted, 600);
}

async fn a_migration_and_a_writing_back_are_split(db: &Db) {
    let raw = db.raw_collection("pages");
    let stored = (0..600).map(|id| doc! { "_id": id, "text": "z".repeat(20_000) });
    raw.insert_many(stored).await.unwrap();
    let pages = db.collection::<Page>();
    let done = pages.migrate().await.unwrap();
    assert_eq!((done.migrated, done.raced, done.failed.len()), (600, 0, 0));
    let older = doc! { "$set": { "schema_version": 1 } };
    raw.update_many(doc! {}, older).await.unwrap();
    assert_eq!(pages.find_all().write_back().await.unwrap().len(), 600);
    assert_eq!(raw.count(doc! { "schema_version": 2 }).await.unwrap(), 600);
}

/// A replacement and the condition on what is replaced are one statement on MongoDB, and that holds 16 MiB.
async fn a_document_too_large_to_be_compared_fails_alone(db: &Db) {
    let raw = db.raw_collection("pages");
    for id in 0..4 {
        let length = if id == 1 { 9 * MIB } else { 10 };
        let stored = doc! { "_id": id, "text": "z".repeat(length) };
        raw.insert(stored).await.unwrap();
    }
    let pages = db.collection::<Page>();
    let is_limited = db.backend_name() == "mongodb";
    pages.find_all().write_back().await.unwrap();
    let newer = raw.count(doc! { "schema_version": 2 }).await.unwrap();
    assert_eq!(newer, if is_limited { 3 } else { 4 });
    let older = doc! { "$set": { "schema_version": 1 } };
    raw.update_many(doc! {}, older).await.unwrap();
    let mut page = pages.get(1).tracked().required().await.unwrap();
    page.read = 5;
    let saved = page.save(&pages).await;
    let done = pages.migrate().batch_size(3).await.unwrap();
    if is_limited {
        let error = saved.unwrap_err();
        assert_eq!(
            (error.code(), error.id(), error.model()),
            (Some(10_334), Some(&1.into()), Some("Page"))
        );
        assert_eq!((done.migrated, done.failed.len()), (3, 1));
        let (id, error) = &done.failed[0];
        assert_eq!((id, error.id()), (&1.into(), Some(&1.into())));
        assert_eq!((error.code(), error.model()), (Some(10_334), Some("Page")));
    } else {
        saved.unwrap();
        assert_eq!((done.migrated, done.failed.len()), (3, 0));
    }
}

async fn a_statement_too_large_fails_alone(db: &Db) {
    let notes = db.collection::<Note>();
    notes.insert_many((0..3).map(|id| note(id, "a"))).await.unwrap();
    for length in [16 * MIB - 20, 17 * MIB, 50 * MIB] {
        let batch = notes
            .bulk_write()
            .update_one(|n| n.id.eq(0), |n| n.text.set("b"))
            .update_one(|n| n.id.eq(1), |n| n.text.set("z".repeat(length)))
            .update_one(|n| n.id.eq(2), |n| n.text.set("b"));
        let error = batch.unordered().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let partial = error.partial_write().unwrap();
        assert_eq!((partial.errors.len(), partial.errors[0].index), (1, 1));
        assert_eq!(partial.summary.matched, 2);
        let alone = notes.update_one(|n| n.id.eq(1), |n| n.text.set("z".repeat(length)));
        let error = alone.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let found = notes.find_one_and_update(|n| n.id.eq(1), |n| n.text.set("z".repeat(length)));
        let error = found.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    }
    let deletion = notes.delete_one(|n| n.text.ne("z".repeat(50 * MIB)));
    let error = deletion.await.unwrap_err();
    assert_eq!(error.code(), Some(10_334));
    assert_eq!(notes.count(|_| Filter::all()).await.unwrap(), 3);
}

async fn what_was_stored_before_a_failure_is_told(db: &Db) {
    let notes = db.collection::<Note>();
    let batch = notes
        .bulk_write()
        .insert(note(5, "a"))
        .update_one(|n| n.id.eq(5), |n| n.text.set("x".repeat(17 * MIB)))
        .insert(note(6, "a"));
    let error = batch.await.unwrap_err();
    let partial = error.partial_write().unwrap();
    assert_eq!(partial.summary.inserted, 1);
    assert_eq!(partial.inserted, [(0, 5.into())]);
    assert_eq!((partial.errors.len(), partial.errors[0].index), (1, 1));
    // A command whose own form is wrong fails as a whole.
    let wrong = notes
        .raw()
        .bulk_write()
        .insert(doc! { "_id": 7 })
        .update_one(doc! { "$no": 1 }, doc! { "$set": { "text": "b" } })
        .insert(doc! { "_id": 8 });
    let error = wrong.await.unwrap_err();
    let partial = error.partial_write().unwrap();
    assert_eq!((partial.summary.inserted, partial.errors[0].index), (1, 1));
    assert_eq!(notes.count(|_| Filter::all()).await.unwrap(), 2);
}

async fn an_ordered_batch_of_many_parts_stops_where_it_fails(db: &Db) {
    let notes = db.collection::<Note>();
    let held = note(9, "a");
    notes.insert(&held).await.unwrap();
    let index = doc! { "key": { "text": 1 }, "name": "text_1", "unique": true };
    let raw = odm_tests::raw::RawCollection::new(db, "notes");
    raw.create_index(&index).await.unwrap();
    for is_ordered in [true, false] {
        let mut batch = notes.bulk_write();
        for id in 0..600 {
            let text = if id == 500 {
                "a".to_owned()
            } else {
                format!("{id}")
            };
            batch = batch.upsert(
                move |n| n.id.eq(id + 1_000) & n.text.ne("z".repeat(60_000)),
                |n| n.text.set(text),
            );
        }
        let batch = if is_ordered { batch } else { batch.unordered() };
        let error = batch.await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DuplicateKey);
        let partial = error.partial_write().unwrap();
        assert_eq!((partial.errors.len(), partial.errors[0].index), (1, 500));
        let upserted = if is_ordered { 500 } else { 99 };
        assert_eq!(partial.upserted.len(), upserted);
        let last = if is_ordered {
            (499, 1_499.into())
        } else {
            (599, 1_599.into())
        };
        assert_eq!(partial.upserted.last(), Some(&last));
    }
}

async fn an_insert_that_is_refused_names_its_id(db: &Db) {
    let notes = db.collection::<Note>();
    notes.insert(note(2, "a")).await.unwrap();
    for refused in [note(2, "b"), note(7, &"z".repeat(17 * MIB))] {
        let id = Some(refused.id.into());
        let error = notes.insert(&refused).await.unwrap_err();
        assert_eq!(error.id().cloned(), id);
        let batch = notes.insert_many([note(refused.id + 20, "b"), refused.clone()]);
        let error = batch.await.unwrap_err();
        assert_eq!(
            (error.id().cloned(), error.write_errors()[0].error.id().cloned()),
            (id.clone(), id.clone())
        );
        let batch = notes
            .bulk_write()
            .delete_many(|n| n.id.eq(refused.id + 20))
            .insert(&refused);
        let error = batch.await.unwrap_err();
        assert_eq!((error.id().cloned(), error.write_errors()[0].index), (id, 1));
    }
}
