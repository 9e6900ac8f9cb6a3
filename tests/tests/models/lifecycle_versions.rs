//! Versions: nobody writes over what they have not seen.

use odm::{Db, ErrorKind};

use super::lifecycle_models::Page;

crate::on_every_backend! {
    every_write_counts,
    a_stale_document_is_a_conflict_with_the_current_one,
    a_stale_document_is_a_conflict_in_a_transaction_too,
    what_was_deleted_is_not_saved_anew,
    a_save_that_inserts_begins_at_0,
    of_two_who_make_one_document_the_insert_refuses,
    documents_from_before_versions_can_be_written,
    of_many_at_once_one_wins_each_version,
}

async fn version(db: &Db, id: i32) -> i64 {
    db.collection::<Page>().get(id).required().await.unwrap().version
}

async fn every_write_counts(db: &Db) {
    let pages = db.collection::<Page>();
    pages
        .insert(Page {
            version: 40,
            ..Page::new(1, "a")
        })
        .await
        .unwrap();
    assert_eq!(version(db, 1).await, 0);
    pages
        .update_one(|p| p.id.eq(1), |p| p.text.set("b"))
        .await
        .unwrap();
    assert_eq!(version(db, 1).await, 1);
    pages
        .update_many(|p| p.id.eq(1), |p| p.text.set("c"))
        .await
        .unwrap();
    let bulk = pages.bulk_write().update_one(|p| p.id.eq(1), |p| p.text.set("d"));
    bulk.await.unwrap();
    pages
        .find_one_and_update(|p| p.id.eq(1), |p| p.text.set("e"))
        .await
        .unwrap();
    let stages = [bson::doc! {"$set": {"text": "f"}}];
    pages
        .update_one(|p| p.id.eq(1), |_| odm::Update::pipeline(stages))
        .await
        .unwrap();
    assert_eq!(version(db, 1).await, 5);
    let mut page = pages.get(1).required().await.unwrap();
    page.text = "g".to_owned();
    pages.save(&page).await.unwrap();
    assert_eq!(version(db, 1).await, 6);
    pages.upsert(|p| p.id.eq(2), |p| p.text.set("a")).await.unwrap();
    assert_eq!(version(db, 2).await, 1);
}

async fn a_stale_document_is_a_conflict_with_the_current_one(db: &Db) {
    let (db, log) = db.logged();
    let pages = db.collection::<Page>();
    let mut mine = Page::new(1, "a");
    pages.insert(&mine).await.unwrap();
    pages
        .update_one(|p| p.id.eq(1), |p| p.text.set("theirs"))
        .await
        .unwrap();
    mine.text = "mine".to_owned();
    log.take();
    for error in [
        pages.replace(&mine).await.unwrap_err(),
        pages.save(&mine).await.unwrap_err(),
        pages.replace_one(|p| p.id.eq(1), &mine).await.unwrap_err(),
        pages
            .find_one_and_replace(|p| p.id.eq(1), &mine)
            .await
            .unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert_eq!(error.id(), Some(&bson::Bson::Int32(1)));
        let current = error.current::<Page>().unwrap().unwrap();
        assert_eq!((current.text.as_str(), current.version), ("theirs", 1));
    }
    assert_eq!(log.entries().len(), 8);
    let bulk = pages.bulk_write().save(&mine).await.unwrap_err();
    assert_eq!(bulk.write_errors()[0].error.kind(), ErrorKind::Conflict);
    // A batch of one is told what the write is told; one of several, how many matched.
    let bulk = pages.bulk_write().replace_one(|p| p.id.eq(1), &mine);
    assert_eq!(bulk.await.unwrap_err().kind(), ErrorKind::Conflict);
    let bulk = pages
        .bulk_write()
        .replace_one(|p| p.id.eq(1), &mine)
        .delete_one(|p| p.id.eq(99));
    assert_eq!(bulk.await.unwrap().matched, 0);
    // Seen, it can be written.
    mine.version = 1;
    log.take();
    pages.save(&mine).await.unwrap();
    assert_eq!(log.entries().len(), 1);
    assert_eq!(version(&db, 1).await, 2);
    // What is not there is not a conflict.
    assert_eq!(pages.replace(Page::new(7, "x")).await.unwrap().matched, 0);
    let saved = pages.save(Page::new(7, "x")).await.unwrap();
    assert_eq!(saved.upserted_id, Some(7));
}

async fn a_stale_document_is_a_conflict_in_a_transaction_too(db: &Db) {
    let pages = db.collection::<Page>();
    let mine = Page::new(1, "mine");
    pages.insert(&mine).await.unwrap();
    pages
        .update_one(|p| p.id.eq(1), |p| p.text.set("theirs"))
        .await
        .unwrap();
    for way in 0..5 {
        let written = db.transaction(async |tx| {
            let pages = tx.collection::<Page>();
            match way {
                0 => pages.save(&mine).await.map(drop),
                1 => pages.replace(&mine).await.map(drop),
                2 => pages
                    .find_one_and_replace(|p| p.id.eq(1), &mine)
                    .upsert()
                    .await
                    .map(drop),
                3 => pages.bulk_write().save(&mine).await.map(drop),
                _ => pages
                    .bulk_write()
                    .save(Page::new(5, "x"))
                    .save(&mine)
                    .await
                    .map(drop),
            }
        });
        let error = written.await.unwrap_err();
        let kind = error
            .write_errors()
            .first()
            .map_or(error.kind(), |first| first.error.kind());
        assert_eq!(kind, ErrorKind::Conflict, "{way}: {error}");
        if way < 3 {
            let current = error.current::<Page>().unwrap().unwrap();
            assert_eq!((current.text.as_str(), current.version), ("theirs", 1));
        }
    }
    assert_eq!(version(db, 1).await, 1);
    // What is not there is stored, and what was seen is changed.
    let seen = pages.get(1).required().await.unwrap();
    db.transaction(async |tx| {
        let pages = tx.collection::<Page>();
        let saved = pages.save(Page::new(7, "x")).await?;
        assert_eq!(saved.upserted_id, Some(7));
        pages.save(&seen).await
    })
    .await
    .unwrap();
    pages.save(Page::new(8, "x")).await.unwrap();
    assert_eq!(version(db, 1).await, 2);
    assert_eq!(version(db, 7).await, version(db, 8).await);
}

async fn what_was_deleted_is_not_saved_anew(db: &Db) {
    let (db, log) = db.logged();
    let pages = db.collection::<Page>();
    let seen = async |id| {
        pages.insert(Page::new(id, "a")).await.unwrap();
        pages
            .update_one(|p| p.id.eq(id), |p| p.text.set("b"))
            .await
            .unwrap();
        pages.get(id).required().await.unwrap()
    };
    let (mine, other) = (seen(1).await, seen(2).await);
    pages.delete(1).await.unwrap();
    log.take();
    for error in [
        pages.save(&mine).await.unwrap_err(),
        pages.bulk_write().save(&mine).await.unwrap_err(),
        pages
            .replace_one(|p| p.id.eq(1), &mine)
            .upsert()
            .await
            .unwrap_err(),
        pages
            .find_one_and_replace(|p| p.id.eq(1), &mine)
            .upsert()
            .return_new()
            .await
            .unwrap_err(),
    ] {
        assert_eq!(
            (error.kind(), error.id(), error.model()),
            (ErrorKind::Conflict, Some(&bson::Bson::Int32(1)), Some("Page")),
            "{error}"
        );
        assert_eq!(error.current::<Page>().unwrap(), None);
    }
    assert_eq!(log.take().len(), 8);
    // In a batch the others are made, and those that are stale are told apart.
    let stale = Page {
        version: 7,
        ..other.clone()
    };
    let batch = pages
        .bulk_write()
        .save(&mine)
        .save(&stale)
        .save(&other)
        .save(Page::new(3, "new"))
        .unordered();
    let error = batch.await.unwrap_err();
    let kinds: Vec<_> = error
        .write_errors()
        .iter()
        .map(|failed| {
            let current = failed.error.current::<Page>().unwrap();
            (failed.index, failed.error.kind(), current.map(|page| page.id))
        })
        .collect();
    assert_eq!(
        kinds,
        [(0, ErrorKind::Conflict, None), (1, ErrorKind::Conflict, Some(2))],
        "{error}"
    );
    assert_eq!(pages.get(1).await.unwrap(), None);
    assert_eq!(
        (version(&db, 2).await, pages.exists(|p| p.id.eq(3)).await.unwrap()),
        (2, true)
    );
    let fresh = pages.get(2).required().await.unwrap();
    for several in [false, true] {
        let saved = db.transaction(async |tx| {
            let pages = tx.collection::<Page>();
            match several {
                false => pages.save(&mine).await.map(drop),
                true => pages.bulk_write().save(&fresh).save(&mine).await.map(drop),
            }
        });
        let error = saved.await.unwrap_err();
        let kind = error
            .write_errors()
            .first()
            .map_or(error.kind(), |first| first.error.kind());
        assert_eq!(kind, ErrorKind::Conflict, "{error}");
    }
    assert_eq!((version(&db, 2).await, pages.get(1).await.unwrap()), (2, None));
    // Stored anew, it is a new document.
    pages.insert(&mine).await.unwrap();
    assert_eq!(version(&db, 1).await, 0);
}

async fn a_save_that_inserts_begins_at_0(db: &Db) {
    let (db, log) = db.logged();
    let pages = db.collection::<Page>();
    for id in 1..=6 {
        let page = Page::new(id, "a");
        log.take();
        match id {
            1 => drop(pages.save(&page).await.unwrap()),
            2 => drop(pages.bulk_write().save(&page).await.unwrap()),
            3 => drop(
                pages
                    .find_one_and_replace(|p| p.id.eq(3), &page)
                    .upsert()
                    .return_new()
                    .await
                    .unwrap(),
            ),
            4 => drop(
                pages
                    .bulk_write()
                    .save(&page)
                    .delete_one(|p| p.id.eq(99))
                    .await
                    .unwrap(),
            ),
            5 => drop(
                db.transaction(async |tx| tx.collection::<Page>().save(&page).await)
                    .await
                    .unwrap(),
            ),
            // It was stored before there were versions, and is no more than its `_id`.
            _ => {
                pages.raw().insert(bson::doc! {"_id": 6}).await.unwrap();
                pages.save(&page).await.unwrap();
                let stored = pages
                    .raw()
                    .find_one(bson::doc! {"_id": 6})
                    .await
                    .unwrap()
                    .unwrap();
                assert_eq!(stored, bson::doc! {"_id": 6, "text": "a", "version": 1_i64});
                assert!(pages.save(&page).await.unwrap_err().is_conflict());
                continue;
            }
        }
        if id < 4 {
            assert_eq!(log.take().len(), 1);
        }
        let stored = pages
            .raw()
            .find_one(bson::doc! {"_id": id})
            .await
            .unwrap()
            .unwrap();
        assert_eq!(stored, bson::doc! {"_id": id, "text": "a", "version": 0_i64});
        // What was saved is what is stored, and can be saved again.
        pages.save(&page).await.unwrap();
        assert_eq!(version(&db, id).await, 1);
        assert!(pages.save(&page).await.unwrap_err().is_conflict());
    }
}

async fn documents_from_before_versions_can_be_written(db: &Db) {
    let pages = db.collection::<Page>();
    let old = bson::doc! {"_id": 1, "text": "old"};
    pages.raw().insert(old).await.unwrap();
    let mut page = pages.get(1).required().await.unwrap();
    assert_eq!(page.version, 0);
    page.text = "new".to_owned();
    pages.replace(&page).await.unwrap();
    assert_eq!(version(db, 1).await, 1);
    pages
        .update_one(|p| p.id.eq(1), |p| p.text.set("newer"))
        .await
        .unwrap();
    assert_eq!(version(db, 1).await, 2);
}

async fn of_many_at_once_one_wins_each_version(db: &Db) {
    let pages = db.collection::<Page>();
    pages.insert(Page::new(1, "a")).await.unwrap();
    let loaded = pages.get(1).required().await.unwrap();
    let (one, two) = (
        Page {
            text: "one".to_owned(),
            ..loaded.clone()
        },
        Page {
            text: "two".to_owned(),
            ..loaded
        },
    );
    let (one, two) = futures_util::join!(pages.save(one).into_future(), pages.save(two).into_future());
    assert!(one.is_ok() != two.is_ok());
    assert_eq!(version(db, 1).await, 1);
}

async fn of_two_who_make_one_document_the_insert_refuses(db: &Db) {
    let pages = db.collection::<Page>();
    pages.insert(Page::new(1, "theirs")).await.unwrap();
    let error = pages.insert(Page::new(1, "mine")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    // A save cannot tell one that it has made from one that was loaded at 0.
    let saved = pages.save(Page::new(1, "mine")).await.unwrap();
    assert_eq!((saved.matched, saved.upserted_id), (1, None));
    let stored = pages.get(1).required().await.unwrap();
    assert_eq!((stored.text.as_str(), stored.version), ("mine", 1));
    // From then on it is one that somebody else has changed.
    assert!(
        pages
            .save(Page::new(1, "theirs"))
            .await
            .unwrap_err()
            .is_conflict()
    );
}
