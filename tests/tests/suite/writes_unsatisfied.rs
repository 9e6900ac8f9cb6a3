//! Writes that take effect where they are made, and not on as many members as their concern wants.

use bson::{Bson, doc};
use odm::backend::WriteConcern;
use odm::{Collection, Db, Error, ErrorKind, Id, Model, PartialWrite};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_single_write_says_what_it_did,
    a_batch_of_inserts_says_what_it_did,
    duplicates_that_are_ignored_hide_no_concern,
    a_batch_of_updates_says_what_it_did,
    a_batch_of_several_kinds_is_made_whole,
    an_ordered_batch_still_stops_at_a_failed_write,
    models_say_what_was_done,
}

/// The same database by a handle whose write concern nobody can meet; `None` where it cannot be asked for.
fn unsatisfiable(db: &Db) -> Option<Db> {
    let several = db.with_write_concern(WriteConcern::members(50));
    match db.backend_name() {
        "mongodb" => Some(several.unwrap()),
        _ => {
            assert_eq!(several.unwrap_err().kind(), ErrorKind::Unsupported);
            None
        }
    }
}

/// What happened, of an error that is about the concern alone.
fn unsatisfied(error: &Error) -> &PartialWrite {
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::InDoubt, Some(100)),
        "{error:?}"
    );
    let partial = error.partial_write().expect("what was done");
    assert!(partial.errors.is_empty(), "{partial:?}");
    assert_eq!(error.write_concern_error().and_then(Error::code), Some(100));
    assert_eq!(error.backend(), Some("mongodb"));
    assert!(
        error.operation().is_some() && error.namespace().is_some(),
        "{error}"
    );
    partial
}

fn items(db: &Db) -> Collection<odm::bson::Document> {
    db.raw_collection("items")
}

async fn a_single_write_says_what_it_did(db: &Db) {
    let Some(safe) = unsatisfiable(db) else {
        return;
    };
    let error = items(&safe).insert(doc! {"_id": 1}).await.unwrap_err();
    assert_eq!(unsatisfied(&error).summary.inserted, 1);
    let error = items(&safe)
        .update_one(doc! {"_id": 1}, doc! {"$set": {"a": 1}})
        .await
        .unwrap_err();
    let summary = unsatisfied(&error).summary;
    assert_eq!((summary.matched, summary.modified), (1, 1));
    let error = items(&safe)
        .update_one(doc! {"_id": 2}, doc! {"$set": {"a": 1}})
        .upsert()
        .await
        .unwrap_err();
    let partial = unsatisfied(&error);
    assert_eq!(partial.upserted, [(0, Bson::Int32(2))]);
    assert_eq!((partial.summary.upserted, partial.summary.matched), (1, 0));
    let error = items(&safe).delete_many(doc! {}).await.unwrap_err();
    assert_eq!(unsatisfied(&error).summary.deleted, 2);
    // One that fails by itself is that failure.
    items(db).insert(doc! {"_id": 1}).await.unwrap();
    let error = items(&safe).insert(doc! {"_id": 1}).await.unwrap_err();
    assert!(error.is_duplicate_key(), "{error:?}");
    let error = items(&safe)
        .update_one(doc! {"_id": 1}, doc! {"$set": {"_id": 2}})
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(66), "{error:?}");
}

async fn a_batch_of_inserts_says_what_it_did(db: &Db) {
    let Some(safe) = unsatisfiable(db) else {
        return;
    };
    let batch = [doc! {"_id": 1}, doc! {"_id": 1}, doc! {"_id": 2}];
    let error = items(&safe)
        .insert_many(batch.clone())
        .unordered()
        .await
        .unwrap_err();
    assert!(error.is_duplicate_key(), "{error:?}");
    let partial = error.partial_write().unwrap();
    assert_eq!(partial.summary.inserted, 2);
    assert_eq!(partial.inserted, [(0, Bson::Int32(1)), (2, Bson::Int32(2))]);
    assert_eq!(partial.errors.len(), 1);
    assert_eq!(partial.errors[0].index, 1);
    assert_eq!(partial.concern.as_ref().and_then(Error::code), Some(100));
    assert_eq!(items(db).count(doc! {}).await.unwrap(), 2);

    let error = items(&safe)
        .insert_many([doc! {"_id": 3}, doc! {"_id": 4}])
        .await
        .unwrap_err();
    let partial = unsatisfied(&error);
    assert_eq!(partial.summary.inserted, 2);
    assert_eq!(partial.inserted, [(0, Bson::Int32(3)), (1, Bson::Int32(4))]);
}

async fn duplicates_that_are_ignored_hide_no_concern(db: &Db) {
    let Some(safe) = unsatisfiable(db) else {
        return;
    };
    let batch = [doc! {"_id": 1}, doc! {"_id": 1}, doc! {"_id": 2}];
    let error = items(&safe)
        .insert_many(batch)
        .ignore_duplicates()
        .await
        .unwrap_err();
    let partial = unsatisfied(&error);
    assert_eq!(partial.summary.inserted, 2);
    assert_eq!(partial.inserted, [(0, Bson::Int32(1)), (2, Bson::Int32(2))]);
}

async fn a_batch_of_updates_says_what_it_did(db: &Db) {
    let Some(safe) = unsatisfiable(db) else {
        return;
    };
    items(db).insert(doc! {"_id": 1}).await.unwrap();
    let error = items(&safe)
        .bulk_write()
        .update_one(doc! {"_id": 1}, doc! {"$set": {"a": 1}})
        .update_one(doc! {"_id": 1}, doc! {"$set": {"_id": 2}})
        .upsert(doc! {"_id": 3}, doc! {"$set": {"a": 1}})
        .unordered()
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(66), "{error:?}");
    let partial = error.partial_write().unwrap();
    let summary = partial.summary;
    assert_eq!((summary.matched, summary.modified, summary.upserted), (1, 1, 1));
    assert_eq!(partial.upserted, [(2, Bson::Int32(3))]);
    assert_eq!(partial.errors.len(), 1);
    assert_eq!(partial.errors[0].index, 1);
    assert_eq!(partial.concern.as_ref().and_then(Error::code), Some(100));
}

async fn a_batch_of_several_kinds_is_made_whole(db: &Db) {
    let Some(safe) = unsatisfiable(db) else {
        return;
    };
    items(db).insert(doc! {"_id": 9}).await.unwrap();
    let error = items(&safe)
        .bulk_write()
        .insert(doc! {"_id": 1})
        .upsert(doc! {"_id": 2}, doc! {"$set": {"a": 1}})
        .delete_one(doc! {"_id": 9})
        .insert(doc! {"_id": 3})
        .await
        .unwrap_err();
    let partial = unsatisfied(&error);
    let summary = partial.summary;
    assert_eq!((summary.inserted, summary.upserted, summary.deleted), (2, 1, 1));
    assert_eq!(partial.inserted, [(0, Bson::Int32(1)), (3, Bson::Int32(3))]);
    assert_eq!(partial.upserted, [(1, Bson::Int32(2))]);
    assert_eq!(items(db).count(doc! {}).await.unwrap(), 3);
}

async fn an_ordered_batch_still_stops_at_a_failed_write(db: &Db) {
    let Some(safe) = unsatisfiable(db) else {
        return;
    };
    let error = items(&safe)
        .bulk_write()
        .insert(doc! {"_id": 1})
        .update_one(doc! {"_id": 1}, doc! {"$set": {"_id": 2}})
        .insert(doc! {"_id": 3})
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(66), "{error:?}");
    let partial = error.partial_write().unwrap();
    assert_eq!(partial.inserted, [(0, Bson::Int32(1))]);
    assert!(partial.concern.is_some());
    assert_eq!(items(db).count(doc! {}).await.unwrap(), 1);
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: Id<Note>,
    text: String,
    #[odm(version)]
    version: i64,
}

async fn models_say_what_was_done(db: &Db) {
    let Some(safe) = unsatisfiable(db) else {
        return;
    };
    let note = |text: &str| Note {
        id: Id::new(),
        text: text.into(),
        version: 0,
    };
    let notes = safe.collection::<Note>();
    let several = [note("a"), note("b")];
    let error = notes.insert_many(&several).await.unwrap_err();
    assert_eq!(unsatisfied(&error).inserted.len(), 2);
    let error = notes
        .update_many(|n| n.text.eq("a"), |n| n.text.set("c"))
        .await
        .unwrap_err();
    assert_eq!(unsatisfied(&error).summary.modified, 1);
    let error = notes.save(note("d")).await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::InDoubt, Some(100)));
    let error = notes.delete_many(|n| n.text.eq("c")).await.unwrap_err();
    assert_eq!(unsatisfied(&error).summary.deleted, 1);
    assert_eq!(db.collection::<Note>().find_all().await.unwrap().len(), 2);
}
