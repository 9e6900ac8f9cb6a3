//! Dates of creation and change: every way to write sets them.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bson::DateTime;
use odm::{Db, Update};

use super::lifecycle_models::Note;

crate::on_every_backend! {
    an_insert_sets_both_dates,
    every_update_sets_the_date_of_change,
    an_upsert_sets_the_date_of_creation_only_when_it_inserts,
    a_replacement_keeps_the_date_of_creation,
    dates_are_left_alone_on_demand,
}

/// The database with a clock that the case sets.
fn clocked(db: &Db) -> (Db, Arc<AtomicI64>) {
    let clock = Arc::new(AtomicI64::new(1));
    let time = clock.clone();
    let db = db.with_clock(move || DateTime::from_millis(time.load(Ordering::SeqCst)));
    (db, clock)
}

async fn times(db: &Db, id: i32) -> (i64, Option<i64>) {
    let note = db.collection::<Note>().get(id).required().await.unwrap();
    (
        note.created.timestamp_millis(),
        note.updated.map(DateTime::timestamp_millis),
    )
}

async fn an_insert_sets_both_dates(db: &Db) {
    let (db, clock) = clocked(db);
    let notes = db.collection::<Note>();
    notes.insert(Note::new(1, "a")).await.unwrap();
    clock.store(2, Ordering::SeqCst);
    notes
        .insert_many([Note::new(2, "b"), Note::new(3, "c")])
        .await
        .unwrap();
    clock.store(3, Ordering::SeqCst);
    notes.bulk_write().insert(Note::new(4, "d")).await.unwrap();
    assert_eq!(times(&db, 1).await, (1, Some(1)));
    assert_eq!(times(&db, 2).await, (2, Some(2)));
    assert_eq!(times(&db, 3).await, (2, Some(2)));
    assert_eq!(times(&db, 4).await, (3, Some(3)));
}

async fn every_update_sets_the_date_of_change(db: &Db) {
    let (db, clock) = clocked(db);
    let notes = db.collection::<Note>();
    for id in 1..=6 {
        notes.insert(Note::new(id, "a")).await.unwrap();
    }
    clock.store(5, Ordering::SeqCst);
    let (db, log) = db.logged();
    let notes = db.collection::<Note>();
    notes
        .update_one(|n| n.id.eq(1), |n| n.text.set("b"))
        .await
        .unwrap();
    notes
        .update_many(|n| n.id.eq(2), |n| n.text.set("b"))
        .await
        .unwrap();
    notes
        .find_one_and_update(|n| n.id.eq(3), |n| n.text.set("b"))
        .await
        .unwrap();
    let bulk = notes.bulk_write().update_one(|n| n.id.eq(4), |n| n.text.set("b"));
    bulk.await.unwrap();
    let stages = [bson::doc! {"$set": {"text": "b"}}];
    notes
        .update_one(|n| n.id.eq(5), |_| Update::pipeline(stages))
        .await
        .unwrap();
    notes.upsert(|n| n.id.eq(6), |n| n.text.set("b")).await.unwrap();
    assert_eq!(log.entries().len(), 6);
    for id in 1..=6 {
        assert_eq!(times(&db, id).await, (1, Some(5)), "{id}");
    }
}

async fn an_upsert_sets_the_date_of_creation_only_when_it_inserts(db: &Db) {
    let (db, clock) = clocked(db);
    let notes = db.collection::<Note>();
    notes.upsert(|n| n.id.eq(1), |n| n.text.set("a")).await.unwrap();
    notes
        .find_one_and_update(|n| n.id.eq(2), |n| n.text.set("a"))
        .upsert()
        .await
        .unwrap();
    let bulk = notes.bulk_write().upsert(|n| n.id.eq(3), |n| n.text.set("a"));
    bulk.await.unwrap();
    let stages = [bson::doc! {"$set": {"text": "a"}}];
    notes
        .upsert(|n| n.id.eq(4), |_| Update::pipeline(stages))
        .await
        .unwrap();
    clock.store(7, Ordering::SeqCst);
    for id in 1..=4 {
        assert_eq!(times(&db, id).await, (1, Some(1)), "{id}");
        notes.upsert(|n| n.id.eq(id), |n| n.text.set("b")).await.unwrap();
        assert_eq!(times(&db, id).await, (1, Some(7)), "{id}");
    }
}

async fn a_replacement_keeps_the_date_of_creation(db: &Db) {
    let (db, clock) = clocked(db);
    let notes = db.collection::<Note>();
    notes.save(Note::new(1, "a")).await.unwrap();
    assert_eq!(times(&db, 1).await, (1, Some(1)));
    clock.store(9, Ordering::SeqCst);
    let (db, log) = db.logged();
    let notes = db.collection::<Note>();
    let result = notes.replace(Note::new(1, "$b")).await.unwrap();
    assert_eq!((result.matched, result.modified), (1, 1));
    assert_eq!(log.entries().len(), 1);
    assert_eq!(times(&db, 1).await, (1, Some(9)));
    clock.store(10, Ordering::SeqCst);
    notes.save(Note::new(1, "c")).await.unwrap();
    assert_eq!(times(&db, 1).await, (1, Some(10)));
    clock.store(11, Ordering::SeqCst);
    let old = notes
        .find_one_and_replace(|n| n.id.eq(1), Note::new(1, "d"))
        .await
        .unwrap();
    assert_eq!(old.map(|note| note.text).as_deref(), Some("c"));
    let bulk = notes.bulk_write().save(Note::new(1, "e")).save(Note::new(2, "f"));
    bulk.await.unwrap();
    assert_eq!(times(&db, 1).await, (1, Some(11)));
    assert_eq!(times(&db, 2).await, (11, Some(11)));
    assert_eq!(notes.replace(Note::new(3, "g")).await.unwrap().matched, 0);
}

async fn dates_are_left_alone_on_demand(db: &Db) {
    let (db, _) = clocked(db);
    let notes = db.collection::<Note>();
    notes
        .insert(Note::new(1, "a"))
        .without_timestamps()
        .await
        .unwrap();
    assert_eq!(times(&db, 1).await, (-1, None));
    notes
        .update_one(|n| n.id.eq(1), |n| n.text.set("b"))
        .without_timestamps()
        .await
        .unwrap();
    assert_eq!(times(&db, 1).await, (-1, None));
    notes
        .replace(Note::new(1, "c"))
        .without_timestamps()
        .await
        .unwrap();
    assert_eq!(times(&db, 1).await, (-1, None));
    // What the update itself says wins.
    let then = DateTime::from_millis(77);
    notes
        .update_one(|n| n.id.eq(1), |n| n.updated.set(Some(then)))
        .await
        .unwrap();
    assert_eq!(times(&db, 1).await, (-1, Some(77)));
}
