//! Archive: nothing is lost, and nothing is in two places for long.

use std::sync::{Arc, Mutex};

use bson::{Document, doc};
use odm::backend::wrap::Fault;
use odm::{Collection, Db, Error, ErrorKind, Model};
use odm_patterns::archive::{Archive, Moved};
use odm_patterns::outbox::{Delivery, Emit, Message, Outbox, Relay};
use odm_tests::interrupted::interrupted;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_model_that_could_not_be_read_meanwhile_is_refused,
    documents_are_moved_and_come_back_as_they_were,
    time_series_are_refused,
    a_change_between_copy_and_deletion_is_kept,
    a_document_that_is_made_anew_costs_no_archived_one,
    a_crash_at_any_write_is_resumed,
    archivers_at_once_lose_nothing,
    an_older_copy_never_displaces_a_newer_one,
    restoring_leaves_what_is_there,
    it_can_be_part_of_a_transaction,
    both_places_at_once_are_found_and_mended,
    documents_with_events_wait_for_their_relay,
}

/// Without a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "archive_orders")]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    year: i32,
    total: f64,
}

/// With one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "archive_letters")]
struct Letter {
    #[serde(rename = "_id")]
    id: i32,
    year: i32,
    #[odm(version)]
    version: i64,
}

fn orders(count: i32) -> Vec<Order> {
    (0..count)
        .map(|id| Order {
            id,
            year: 2000 + id,
            total: f64::from(id),
        })
        .collect()
}

async fn ids(collection: &Collection<Document>) -> Vec<i32> {
    let all = collection
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 })
        .await
        .unwrap();
    all.iter()
        .map(|document| document.get_i32("_id").unwrap())
        .collect()
}

async fn time_series_are_refused(db: &Db) {
    #[derive(Clone, Debug, Serialize, Deserialize, Model)]
    #[odm(collection = "archive_series", options = series)]
    struct Measured {
        #[serde(rename = "_id")]
        id: i32,
        at: bson::DateTime,
    }
    fn series() -> odm::CollectionDeclaration {
        odm::CollectionDeclaration::new().time_series(&Measured::fields().at)
    }
    #[derive(Clone, Debug, Serialize, Deserialize, Model)]
    #[odm(collection = "archive_series")]
    struct Unsaid {
        #[serde(rename = "_id")]
        id: i32,
        at: bson::DateTime,
    }
    let at = bson::DateTime::from_millis(0);
    db.sync_models(&odm::Models::new().with::<Measured>())
        .await
        .unwrap();
    db.collection::<Measured>()
        .insert(Measured { id: 1, at })
        .await
        .unwrap();
    let said = Archive::<Measured>::new(db, db);
    let unsaid = Archive::<Unsaid>::new(db, db);
    for (refused, model) in [
        (said.store(|m| m.id.gt(0)).await.unwrap_err(), "Measured"),
        (said.restore(|m| m.id.gt(0)).await.unwrap_err(), "Measured"),
        (unsaid.store(|m| m.id.gt(0)).await.unwrap_err(), "Unsaid"),
    ] {
        assert_eq!(
            (refused.kind(), refused.model()),
            (ErrorKind::Unsupported, Some(model))
        );
    }
    assert_eq!(
        db.raw_collection("archive_series")
            .find_all()
            .await
            .unwrap()
            .len(),
        1
    );
    assert!(unsaid.archived().find_all().await.unwrap().is_empty());
}

async fn documents_are_moved_and_come_back_as_they_were(db: &Db) {
    let (db, log) = db.logged();
    let live = db.collection::<Order>();
    live.insert_many(orders(10)).await.unwrap();
    // With a field that the model does not know, and a number of another type.
    live.raw()
        .update_one(
            doc! { "_id": 3 },
            doc! { "$set": { "note": "kept", "total": 3_i64 } },
        )
        .await
        .unwrap();
    let before = live
        .raw()
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 })
        .await
        .unwrap();
    let other = db.database(&format!("{}_old", db.name())).unwrap();
    let archive = Archive::<Order>::new(&db, &other);
    let seen: Arc<Mutex<Vec<u64>>> = Arc::default();
    log.take();
    let told = seen.clone();
    let moved = archive
        .store(|o| o.year.lt(2007))
        .batch(3)
        .progress(move |so_far: &Moved| told.lock().unwrap().push(so_far.moved))
        .await
        .unwrap();
    assert_eq!((moved.moved, moved.kept), (7, 0));
    assert_eq!(*seen.lock().unwrap(), [3, 6, 7]);
    assert_eq!(log.take().len(), 1 + 3 * 5);
    assert_eq!(ids(&live.raw()).await, [7, 8, 9]);
    assert_eq!(ids(&archive.archived().raw()).await, [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(archive.store(|o| o.year.lt(2007)).await.unwrap().moved, 0);
    assert!(archive.verify().await.unwrap().is_empty());

    let back = archive.restore(|o| o.year.gte(2000)).batch(4).await.unwrap();
    assert_eq!((back.moved, back.kept), (7, 0));
    let after = live
        .raw()
        .find(doc! {})
        .sort_raw(doc! { "_id": 1 })
        .await
        .unwrap();
    assert_eq!(after, before);
    assert_eq!(archive.archived().count(|_| odm::Filter::all()).await.unwrap(), 0);
    other.drop().await.unwrap();

    // In the same database it has another name.
    let beside = Archive::<Order>::new(&db, &db);
    assert_eq!(beside.archived().name(), "archive_orders_archive");
}

/// Changes a document at the moment when its copy was made: the copy is the third operation.
async fn a_change_between_copy_and_deletion_is_kept(db: &Db) {
    db.collection::<Order>().insert_many(orders(4)).await.unwrap();
    let letters: Vec<Letter> = (0..4)
        .map(|id| Letter {
            id,
            year: 2000,
            version: 0,
        })
        .collect();
    db.collection::<Letter>().insert_many(letters).await.unwrap();
    let (faulty, faults) = db.faulty();
    // Copied, and then the archiver dies.
    faults.add(Fault::nth_write(3).crash());
    Archive::<Order>::new(&faulty, &faulty)
        .store(|o| o.year.lt(3000))
        .await
        .unwrap_err();
    Archive::<Letter>::new(&faulty, &faulty)
        .store(|l| l.year.lt(3000))
        .await
        .unwrap_err();
    faults.clear();
    faults.add(Fault::nth_write(3).crash());
    Archive::<Letter>::new(&faulty, &faulty)
        .store(|l| l.year.lt(3000))
        .await
        .unwrap_err();
    let archive = Archive::<Order>::new(db, db);
    assert_eq!(archive.verify().await.unwrap().len(), 4);
    // Changed since, so that it does not match the predicate any more; changed, so that it does; deleted.
    let live = archive.live();
    live.update_one(|o| o.id.eq(0), |o| o.year.set(3000))
        .await
        .unwrap();
    live.update_one(|o| o.id.eq(1), |o| o.total.set(77.0))
        .await
        .unwrap();
    live.delete(2).await.unwrap();
    let moved = archive.store(|o| o.year.lt(3000)).await.unwrap();
    assert_eq!((moved.moved, moved.kept), (2, 0));
    assert_eq!(archive.archived().get(1).required().await.unwrap().total, 77.0);
    assert_eq!(ids(&live.raw()).await, [0]);
    let problems = archive.verify().await.unwrap();
    assert_eq!((problems.len(), problems[0].is_same), (1, false));
    assert_eq!(archive.repair().await.unwrap(), problems);
    assert_eq!(ids(&archive.archived().raw()).await, [1, 2, 3]);

    let letters = Archive::<Letter>::new(db, db);
    letters
        .live()
        .update_one(|l| l.id.eq(0), |l| l.year.set(1999))
        .await
        .unwrap();
    assert_eq!(letters.store(|l| l.year.lt(3000)).await.unwrap().moved, 4);
    let changed = letters.archived().get(0).required().await.unwrap();
    assert_eq!((changed.year, changed.version), (1999, 1));
}

/// Another one of its batch was changed, so that copies were taken back: the one of the new document too, which was all
/// that there was of the old one.
async fn a_document_that_is_made_anew_costs_no_archived_one(db: &Db) {
    let live = db.collection::<Order>();
    live.insert_many(orders(2)).await.unwrap();
    let (changing, making) = (live.clone(), live.clone());
    // Found, marked, looked up and copied; then deleted.
    let (changed, first) = interrupted(db, 5, async move {
        let change = changing.update_one(|o| o.id.eq(1), |o| o.total.set(77.0));
        assert_eq!(change.await.unwrap().modified, 1);
    });
    let (both, second) = interrupted(&changed, 6, async move {
        let order = Order {
            id: 0,
            year: 2024,
            total: 5.0,
        };
        making.insert(order).await.unwrap();
    });
    let archive = Archive::<Order>::new(&both, &both);
    let moved = archive.store(|o| o.year.lt(3000)).await.unwrap();
    assert_eq!((moved.moved, moved.kept), (1, 1));
    assert!(first.has_come() && second.has_come());

    let archive = Archive::<Order>::new(db, db);
    assert_eq!(archive.archived().find_all().await.unwrap(), orders(1));
    assert_eq!(ids(&live.raw()).await, [0, 1]);
    assert_eq!(live.get(0).required().await.unwrap().year, 2024);
    assert_eq!(live.get(1).required().await.unwrap().total, 77.0);
    let problems = archive.verify().await.unwrap();
    assert_eq!((problems.len(), problems[0].is_same), (1, false));
    for stored in live.raw().find(doc! {}).await.unwrap() {
        assert_eq!(stored.len(), 3, "{stored}");
    }
}

async fn a_crash_at_any_write_is_resumed(db: &Db) {
    let lost = || Error::new(ErrorKind::Network, "connection reset (injected)");
    let mut crashes = 0;
    for restores in [false, true] {
        for after in [false, true] {
            for n in 1.. {
                db.drop().await.unwrap();
                let archive = Archive::<Order>::new(db, db);
                let from = if restores {
                    archive.archived()
                } else {
                    archive.live()
                };
                from.insert_many(orders(7)).await.unwrap();
                let (faulty, faults) = db.faulty();
                match after {
                    false => faults.add(Fault::nth_write(n).crash()),
                    true => {
                        faults.add(Fault::nth_write(n).after(lost()));
                        faults.add(Fault::nth_write(n + 1).crash());
                    }
                }
                let dying = Archive::<Order>::new(&faulty, &faulty);
                let run = |archive: &Archive<Order>| match restores {
                    false => archive.store(|o| o.year.lt(2005)).batch(2),
                    true => archive.restore(|o| o.year.lt(2005)).batch(2),
                };
                let outcome = run(&dying).await;
                // Everything is somewhere, as it was, and nothing is in neither place.
                let mut all = archive.live().find_all().await.unwrap();
                all.extend(archive.archived().find_all().await.unwrap());
                all.sort_by_key(|order| order.id);
                all.dedup();
                assert_eq!(all, orders(7), "write {n}");
                if outcome.is_ok() {
                    assert_eq!(faults.failures(), 0);
                    break;
                }
                crashes += 1;
                run(&archive).await.unwrap();
                assert!(archive.verify().await.unwrap().is_empty());
                let (gone, left) = match restores {
                    false => (archive.archived(), archive.live()),
                    true => (archive.live(), archive.archived()),
                };
                assert_eq!(ids(&gone.raw()).await, [0, 1, 2, 3, 4]);
                assert_eq!(ids(&left.raw()).await, [5, 6]);
            }
        }
    }
    assert!(crashes >= 4 * 6, "{crashes}");
}

async fn archivers_at_once_lose_nothing(db: &Db) {
    let archive = Archive::<Letter>::new(db, db);
    archive.live().create().await.unwrap();
    archive.archived().create().await.unwrap();
    let letters = (0..60).map(|id| Letter {
        id,
        year: 2000,
        version: 0,
    });
    archive.live().insert_many(letters).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..3 {
        let archive = archive.clone();
        tasks.push(tokio::spawn(async move {
            archive.store(|l| l.year.lt(2100)).batch(5).await.unwrap();
        }));
    }
    let writer = archive.clone();
    tasks.push(tokio::spawn(async move {
        for id in (0..60).rev() {
            writer
                .live()
                .update_one(|l| l.id.eq(id), |l| l.year.inc(1))
                .await
                .unwrap();
        }
    }));
    for task in tasks {
        task.await.unwrap();
    }
    archive.store(|l| l.year.lt(2100)).await.unwrap();
    assert!(archive.verify().await.unwrap().is_empty());
    assert_eq!(archive.live().count(|_| odm::Filter::all()).await.unwrap(), 0);
    let archived = archive.archived().find_all().await.unwrap();
    assert_eq!(archived.len(), 60);
    // A change is in the archive, or it found nothing to change: never was one made and lost.
    assert!(
        archived
            .iter()
            .all(|letter| i64::from(letter.year - 2000) == letter.version)
    );
}

async fn an_older_copy_never_displaces_a_newer_one(db: &Db) {
    let archive = Archive::<Order>::new(db, db);
    let order = |total| Order {
        id: 1,
        year: 2000,
        total,
    };
    // A leftover makes room for what is here now.
    archive.archived().insert(order(1.0)).await.unwrap();
    archive.live().insert(order(2.0)).await.unwrap();
    assert_eq!(archive.store(|o| o.id.eq(1)).await.unwrap().moved, 1);
    assert_eq!(archive.archived().get(1).required().await.unwrap().total, 2.0);
    // A slow archiver has read what has been changed, archived and deleted since: nothing is here that could be moved.
    assert_eq!(archive.store(|o| o.id.eq(1)).await.unwrap(), Moved::default());
    assert_eq!(archive.archived().get(1).required().await.unwrap().total, 2.0);
}

async fn restoring_leaves_what_is_there(db: &Db) {
    let archive = Archive::<Order>::new(db, db);
    archive.archived().insert_many(orders(3)).await.unwrap();
    let newer = Order {
        id: 1,
        year: 2026,
        total: 0.0,
    };
    archive.live().insert(&newer).await.unwrap();
    let back = archive.restore(|o| o.year.lt(2010)).await.unwrap();
    assert_eq!((back.moved, back.kept), (2, 1));
    assert_eq!(archive.live().get(1).required().await.unwrap(), newer);
    assert_eq!(ids(&archive.archived().raw()).await, [1]);
}

async fn it_can_be_part_of_a_transaction(db: &Db) {
    let archive = Archive::<Order>::new(db, db);
    archive.live().insert_many(orders(5)).await.unwrap();
    archive
        .archived()
        .insert(Order {
            id: 2,
            year: 0,
            total: 9.0,
        })
        .await
        .unwrap();
    for commits in [false, true] {
        let outcome = db
            .transaction(async |tx| {
                let moved = Archive::<Order>::new(&tx, &tx).store(|o| o.id.lt(4)).await?;
                assert_eq!(moved.moved, 4);
                match commits {
                    true => Ok(()),
                    false => Err(Error::new(ErrorKind::Validation, "no")),
                }
            })
            .await;
        assert_eq!(outcome.is_ok(), commits);
        let expected = if commits { 1 } else { 5 };
        assert_eq!(archive.live().find_all().await.unwrap().len(), expected);
    }
    assert_eq!(archive.archived().find_all().await.unwrap().len(), 4);
}

async fn both_places_at_once_are_found_and_mended(db: &Db) {
    let archive = Archive::<Order>::new(db, db);
    archive.live().insert_many(orders(250)).await.unwrap();
    archive.archived().insert_many(orders(120)).await.unwrap();
    archive
        .archived()
        .update_one(|o| o.id.eq(5), |o| o.total.set(-1.0))
        .await
        .unwrap();
    let problems = archive.verify().await.unwrap();
    assert_eq!(problems.len(), 120);
    assert_eq!(problems.iter().filter(|problem| !problem.is_same).count(), 1);
    assert_eq!(archive.repair().await.unwrap().len(), 120);
    assert!(archive.verify().await.unwrap().is_empty());
    assert_eq!(archive.live().find_all().await.unwrap().len(), 250);
    assert_eq!(archive.archived().find_all().await.unwrap().len(), 0);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[serde(deny_unknown_fields)]
struct Strict {
    #[serde(rename = "_id")]
    id: i32,
}

async fn a_model_that_could_not_be_read_meanwhile_is_refused(db: &Db) {
    let archive = Archive::<Strict>::new(db, db);
    db.collection::<Strict>().insert(Strict { id: 1 }).await.unwrap();
    let stored = archive.store(|s| s.id.eq(1)).await.unwrap_err();
    let restored = archive.restore(|s| s.id.eq(1)).await.unwrap_err();
    for refused in [stored, restored] {
        assert_eq!(refused.kind(), ErrorKind::Schema, "{refused}");
        assert_eq!(refused.model(), Some("Strict"));
    }
    assert_eq!(
        db.collection::<Strict>().get(1).await.unwrap(),
        Some(Strict { id: 1 })
    );
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "archive_told")]
struct Told {
    #[serde(rename = "_id")]
    id: i32,
    outbox: Outbox,
}

/// Nobody publishes what is in an archive.
async fn documents_with_events_wait_for_their_relay(db: &Db) {
    let told = db.collection::<Told>();
    let documents = (0..3).map(|id| Told {
        id,
        outbox: Outbox::default(),
    });
    told.insert_many(documents).await.unwrap();
    let message = Message::new(db, "told", &1).unwrap();
    told.update_one(|t| t.id.eq(1), |t| t.outbox.emit(message))
        .await
        .unwrap();
    let archive = Archive::<Told>::new(db, db);
    let counts = |moved: Moved| (moved.moved, moved.kept, moved.waiting);
    let all = |_| odm::Filter::all();
    assert_eq!(counts(archive.store(all).batch(2).await.unwrap()), (2, 0, 1));
    assert_eq!(counts(archive.store(all).await.unwrap()), (0, 0, 1));
    let relay = Relay::new(db, told.clone(), |t| t.outbox);
    let sent = relay.run(async |_: Delivery| Ok::<(), Error>(())).await.unwrap();
    assert_eq!(sent.delivered, 1);
    assert_eq!(counts(archive.store(all).await.unwrap()), (1, 0, 0));
    assert_eq!(counts(archive.restore(all).await.unwrap()), (3, 0, 0));
    assert_eq!(told.get(1).required().await.unwrap().outbox.pruned, 1);
}
