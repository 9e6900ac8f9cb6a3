//! Tracked documents: saved by what was changed.

use bson::doc;
use odm::{Db, ErrorKind};

use super::lifecycle_models::{Address, Note, Profile};

crate::on_every_backend! {
    only_what_was_changed_is_sent,
    arrays_and_numbers_are_saved_as_declared,
    a_stale_tracked_document_is_a_conflict,
    a_tracked_save_goes_through_the_pipeline,
}

async fn only_what_was_changed_is_sent(db: &Db) {
    let (db, log) = db.logged();
    let profiles = db.collection::<Profile>();
    profiles.insert(Profile::new(1)).await.unwrap();
    let mut profile = profiles.get(1).tracked().required().await.unwrap();
    // Others write siblings, and a field that the model does not know.
    let more = doc! {"$set": {"home.number": 7, "unknown": true, "name": "bob"}};
    profiles.raw().update_one(doc! {"_id": 1}, more).await.unwrap();
    log.take();
    assert!(!profile.is_changed().unwrap());
    assert!(!profile.save(&profiles).await.unwrap());
    assert_eq!(log.entries().len(), 0);
    profile.home.city = "Rome".to_owned();
    profile.note = Some("hi".to_owned());
    profile.counts.insert("a".to_owned(), 1);
    assert!(profile.is_changed().unwrap());
    assert!(profile.save(&profiles).await.unwrap());
    assert_eq!(log.entries().len(), 1);
    assert_eq!(
        (profile.name.as_str(), profile.home.number, profile.version),
        ("bob", Some(7), 1)
    );
    let stored = profiles.raw().find_one(doc! {"_id": 1}).await.unwrap().unwrap();
    assert_eq!(
        stored.get_document("home").unwrap(),
        &doc! {"city": "Rome", "number": 7}
    );
    assert!(stored.get_bool("unknown").unwrap());
    assert!(!profile.is_changed().unwrap());
    profile.counts.remove("a");
    profile.list = vec![9];
    profile.save(&profiles).await.unwrap();
    let stored = profiles.get(1).required().await.unwrap();
    assert_eq!(stored, profile.into_inner());
    assert_eq!((stored.counts.len(), stored.list), (0, vec![9]));
}

async fn arrays_and_numbers_are_saved_as_declared(db: &Db) {
    let profiles = db.collection::<Profile>();
    let mut bare = Profile::new(1);
    bare.version = 0;
    profiles.insert(&bare).await.unwrap();
    let mut profile = profiles.get(1).tracked().required().await.unwrap();
    // By somebody who does not count versions.
    let theirs = doc! {"$push": {"log": "theirs", "tags": "theirs"}, "$inc": {"visits": 10}};
    profiles.raw().update_one(doc! {"_id": 1}, theirs).await.unwrap();
    profile.log.push("mine".to_owned());
    profile.tags.push("mine".to_owned());
    profile.visits += 1;
    profile.save(&profiles).await.unwrap();
    assert_eq!(profile.log, ["a", "theirs", "mine"]);
    assert_eq!(profile.tags, ["x", "theirs", "mine"]);
    assert_eq!(profile.visits, 12);
    profile.log.remove(0);
    profile.tags.remove(0);
    profile.save(&profiles).await.unwrap();
    let stored = profiles.get(1).required().await.unwrap();
    assert_eq!(stored.log, ["theirs", "mine"]);
    assert_eq!(stored.tags, ["theirs", "mine"]);
    profile.tags.reverse();
    assert!(!profile.save(&profiles).await.unwrap());
}

async fn a_stale_tracked_document_is_a_conflict(db: &Db) {
    let profiles = db.collection::<Profile>();
    profiles.insert(Profile::new(1)).await.unwrap();
    let mut mine = profiles.find(|p| p.id.eq(1)).tracked().await.unwrap().remove(0);
    let mut theirs = profiles.get(1).tracked().required().await.unwrap();
    theirs.name = "theirs".to_owned();
    theirs.save(&profiles).await.unwrap();
    mine.name = "mine".to_owned();
    let saving = mine.save(&profiles);
    sends(&saving);
    let error = saving.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(error.current::<Profile>().unwrap().unwrap().name, "theirs");
    profiles.delete(1).await.unwrap();
    assert_eq!(
        mine.save(&profiles).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
    mine.id = 2;
    let error = mine.save(&profiles).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::InvalidArgument, Some("_id"))
    );
}

async fn a_tracked_save_goes_through_the_pipeline(db: &Db) {
    let profiles = db.collection::<Profile>();
    profiles.insert(Profile::new(1)).await.unwrap();
    let (logged, log) = db.logged();
    let mut profile = profiles.get(1).tracked().required().await.unwrap();
    profile.home = Address::new("");
    let error = profile.save(&logged.collection()).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (ErrorKind::Validation, Some("home.city"))
    );
    assert_eq!(log.entries().len(), 0);
    let db = db.with_clock(|| bson::DateTime::from_millis(3));
    let notes = db.collection::<Note>();
    notes.insert(Note::new(1, "a")).await.unwrap();
    let db = db.with_clock(|| bson::DateTime::from_millis(4));
    let mut note = notes.get(1).tracked().required().await.unwrap();
    note.text = "b".to_owned();
    note.save(&db.collection()).await.unwrap();
    let times = (note.created, note.updated);
    let at = bson::DateTime::from_millis;
    assert_eq!(times, (at(3), Some(at(4))));
}

/// What crosses threads.
fn sends<T: Send>(_: &T) {}
