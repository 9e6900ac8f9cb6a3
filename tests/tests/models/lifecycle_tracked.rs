//! Tracked documents: saved by what was changed.

use bson::doc;
use odm::{Db, ErrorKind};

use super::lifecycle_models::{Address, Bin, File, Note, Page, Profile};

crate::on_every_backend! {
    only_what_was_changed_is_sent,
    arrays_and_numbers_are_saved_as_declared,
    a_stale_tracked_document_is_a_conflict,
    a_tracked_save_goes_through_the_pipeline,
    what_was_loaded_as_deleted_is_saved_as_deleted,
    what_writes_set_themselves_cannot_be_changed,
    a_version_from_outside_is_asked_for,
    errors_say_where_they_are,
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

async fn what_was_loaded_as_deleted_is_saved_as_deleted(db: &Db) {
    let files = db.collection::<File>();
    files.insert(File::new(1, "a")).await.unwrap();
    files.delete(1).await.unwrap();
    let mut file = files.get(1).with_deleted().tracked().required().await.unwrap();
    file.name = "b".to_owned();
    assert!(file.save(&files).await.unwrap());
    assert!(file.deleted.is_some());
    assert_eq!(files.get(1).await.unwrap(), None);
    // Back among the living.
    file.deleted = None;
    file.save(&files).await.unwrap();
    assert_eq!(files.get(1).required().await.unwrap().name, "b");
    // What was loaded as a living one is not changed behind its deletion.
    let mut living = files.get(1).with_deleted().tracked().required().await.unwrap();
    files.delete(1).await.unwrap();
    living.name = "c".to_owned();
    let error = living.save(&files).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.current::<File>().unwrap().unwrap().deleted.is_some());
}

async fn what_writes_set_themselves_cannot_be_changed(db: &Db) {
    let (logged, log) = db.logged();
    let notes = logged.collection::<Note>();
    notes.insert(Note::new(1, "a")).await.unwrap();
    let pages = logged.collection::<Page>();
    pages.insert(Page::new(1, "a")).await.unwrap();
    let mut note = notes.get(1).tracked().required().await.unwrap();
    let mut page = pages.get(1).tracked().required().await.unwrap();
    log.take();
    let refused = |error: odm::Error, field: &str| {
        assert_eq!(
            (error.kind(), error.path(), error.id()),
            (
                ErrorKind::InvalidArgument,
                Some(field),
                Some(&bson::Bson::Int32(1))
            )
        );
    };
    let loaded = (*note).clone();
    note.created = bson::DateTime::from_millis(7);
    assert!(note.is_changed().unwrap());
    refused(note.save(&notes).await.unwrap_err(), "created");
    *note = loaded;
    note.updated = None;
    refused(note.save(&notes).await.unwrap_err(), "updated");
    (page.version, page.text) = (7, "b".to_owned());
    refused(page.save(&pages).await.unwrap_err(), "version");
    assert_eq!(log.entries().len(), 0);
}

async fn a_version_from_outside_is_asked_for(db: &Db) {
    let (logged, log) = db.logged();
    let pages = logged.collection::<Page>();
    pages.insert(Page::new(1, "a")).await.unwrap();
    pages
        .update_one(|p| p.id.eq(1), |p| p.text.set("b"))
        .await
        .unwrap();
    let mut page = pages.get(1).tracked().required().await.unwrap();
    page.text = "mine".to_owned();
    log.take();
    for other in [0, 2] {
        let error = page.save_if(other, &pages).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.id(), error.model()),
            (ErrorKind::Conflict, Some(&bson::Bson::Int32(1)), Some("Page"))
        );
        let current = error.current::<Page>().unwrap().unwrap();
        assert_eq!((current.text.as_str(), current.version), ("b", 1));
    }
    assert_eq!(log.entries().len(), 0);
    assert!(page.save_if(1, &pages).await.unwrap());
    assert_eq!((page.text.as_str(), page.version), ("mine", 2));
    assert!(!page.save_if(2, &pages).await.unwrap());
    page.text = "late".to_owned();
    pages
        .update_one(|p| p.id.eq(1), |p| p.text.set("b"))
        .await
        .unwrap();
    assert!(page.save_if(2, &pages).await.unwrap_err().is_conflict());
    let notes = logged.collection::<Note>();
    notes.insert(Note::new(1, "a")).await.unwrap();
    let mut note = notes.get(1).tracked().required().await.unwrap();
    let error = note.save_if(0, &notes).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn errors_say_where_they_are(db: &Db) {
    let profiles = db.collection::<Profile>();
    profiles.insert(Profile::new(1)).await.unwrap();
    let mut profile = profiles.get(1).tracked().required().await.unwrap();
    profile.home = Address::new("");
    let error = profile.save(&profiles).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.id(), error.model()),
        (
            ErrorKind::Validation,
            Some(&bson::Bson::Int32(1)),
            Some("Profile")
        )
    );
    let bins = db.collection::<Bin>();
    bins.insert(Bin::new(1, &[1, 2])).await.unwrap();
    let push = bins.update_one(|b| b.id.eq(1), |b| b.items.push_each([3, 4]));
    let error = push.await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`items` must have at most 3 elements, and would have 4"),
        "{error}"
    );
    assert_eq!(error.id(), Some(&bson::Bson::Int32(1)));
}

/// What crosses threads.
fn sends<T: Send>(_: &T) {}
