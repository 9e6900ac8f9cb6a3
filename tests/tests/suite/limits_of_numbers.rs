//! Limits of time, places and sizes as they come from outside: the same on every backend, however small or large.

use std::time::Duration;

use bson::doc;
use odm::{Db, Error, ErrorKind, Filter, Model};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    no_time_is_over_before_anything_is_sent,
    short_and_long_times_are_taken,
    places_beyond_all_documents_have_none,
    pages_and_batches_are_as_large_as_they_like,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "notes")]
struct Note {
    #[serde(rename = "_id")]
    id: i32,
    n: i32,
}

async fn three(db: &Db) -> odm::Collection<Note> {
    let notes = db.collection::<Note>();
    notes
        .insert_many((0..3).map(|id| Note { id, n: 0 }))
        .await
        .unwrap();
    notes
}

async fn no_time_is_over_before_anything_is_sent(db: &Db) {
    three(db).await;
    let (logged, log) = db.logged();
    let notes = logged.collection::<Note>();
    let none = Duration::ZERO;
    let check = |outcome: Result<(), Error>| {
        let error = outcome.unwrap_err();
        assert_eq!((error.kind(), error.code()), (ErrorKind::Timeout, Some(50)));
        assert_eq!(error.model(), Some("Note"));
    };
    check(notes.find_all().max_time(none).await.map(drop));
    check(notes.get(1).max_time(none).await.map(drop));
    check(notes.count(|_| Filter::all()).max_time(none).await.map(drop));
    check(notes.exists(|n| n.id.eq(1)).max_time(none).await.map(drop));
    check(notes.distinct(|n| n.n).max_time(none).await.map(drop));
    check(
        notes
            .aggregate_raw([doc! { "$match": {} }])
            .max_time(none)
            .await
            .map(drop),
    );
    let update = notes.update_one(|n| n.id.eq(1), |n| n.n.inc(1));
    check(update.max_time(none).await.map(drop));
    let update = notes.find_one_and_update(|n| n.id.eq(1), |n| n.n.inc(1));
    check(update.max_time(none).await.map(drop));
    let batch = notes.bulk_write().update_one(|n| n.id.eq(1), |n| n.n.inc(1));
    check(batch.max_time(none).await.map(drop));
    check(notes.delete(1).max_time(none).await.map(drop));
    assert_eq!(log.round_trips(), 0);
    assert_eq!(notes.get(1).await.unwrap(), Some(Note { id: 1, n: 0 }));
}

async fn short_and_long_times_are_taken(db: &Db) {
    let notes = three(db).await;
    let day = Duration::from_secs(86_400);
    for time in [day, day * 30, Duration::MAX] {
        assert_eq!(notes.find_all().max_time(time).await.unwrap().len(), 3);
        assert_eq!(notes.count(|_| Filter::all()).max_time(time).await.unwrap(), 3);
        let update = notes.update_one(|n| n.id.eq(1), |n| n.n.inc(1)).max_time(time);
        assert_eq!(update.await.unwrap().modified, 1);
        let update = notes.find_one_and_update(|n| n.id.eq(1), |n| n.n.inc(1));
        assert!(update.max_time(time).await.unwrap().is_some());
        let batch = notes.bulk_write().update_one(|n| n.id.eq(1), |n| n.n.inc(1));
        assert_eq!(batch.max_time(time).await.unwrap().modified, 1);
    }
    for time in [Duration::from_nanos(1), Duration::from_micros(999)] {
        // A whole millisecond, which may be enough or not, but is no wrong argument and not without end.
        match notes.find_all().max_time(time).await {
            Ok(found) => assert_eq!(found.len(), 3),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Timeout),
        }
    }
}

async fn places_beyond_all_documents_have_none(db: &Db) {
    let notes = three(db).await;
    for place in [3, u64::MAX >> 1, 1 << 63, u64::MAX] {
        assert_eq!(notes.find_all().skip(place).await.unwrap(), []);
        assert_eq!(notes.find_all().skip(place).limit(u64::MAX).await.unwrap(), []);
        let sorted = notes.find_all().sort(|n| n.n.asc()).skip(place).limit(5);
        assert_eq!(sorted.await.unwrap(), []);
        assert_eq!(notes.count(|_| Filter::all()).skip(place).await.unwrap(), 0);
    }
    for most in [3, u64::MAX >> 1, 1 << 63, u64::MAX] {
        assert_eq!(notes.find_all().limit(most).await.unwrap().len(), 3);
        assert_eq!(notes.count(|_| Filter::all()).limit(most).await.unwrap(), 3);
    }
    let page = notes.find_all().page_number(u64::MAX, 10).await.unwrap();
    assert_eq!((page.items.len(), page.total), (0, 3));
}

async fn pages_and_batches_are_as_large_as_they_like(db: &Db) {
    let notes = three(db).await;
    for size in [3, i32::MAX.unsigned_abs() - 1, i32::MAX.unsigned_abs(), u32::MAX] {
        assert_eq!(notes.find_all().page(size).await.unwrap().items.len(), 3);
        let page = notes.find_all().page_number(1, size).await.unwrap();
        assert_eq!((page.items.len(), page.total), (3, 3));
        assert_eq!(notes.find_all().batch_size(size).await.unwrap().len(), 3);
        let mut found = notes.find_all().batch_size(size).stream();
        assert!(found.try_next().await.unwrap().is_some());
        let all = notes.aggregate_raw([doc! { "$match": {} }]).batch_size(size);
        assert_eq!(all.await.unwrap().len(), 3);
    }
}
