//! Copies of other models' fields, kept by every write of what they are copies of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bson::{DateTime, doc};
use futures_util::future::BoxFuture;
use odm::backend::{Backend, Capabilities, Operation, Response, Transaction, TransactionOptions};
use odm::{CopyOf, Db, Error, ErrorKind, Ref};

use super::consistency_copies_models::*;
use odm_tests::plain::Plain;

crate::on_every_backend! {
    copies_of_every_shape_follow,
    every_way_to_write_is_followed,
    an_upsert_that_inserts_is_followed,
    what_is_not_copied_is_not_followed,
    holders_see_a_write_like_any_other,
    a_change_and_its_copies_are_one_transaction,
    eventual_copies_wait,
    a_late_propagation_changes_nothing_back,
    racing_changes_end_with_the_newest,
    a_source_without_a_version_is_stamped,
    the_number_of_round_trips_of_a_change_does_not_grow,
    a_batch_is_propagated_or_not_as_a_whole,
    other_collections_of_the_model_have_no_copies,
    what_waits_has_an_index,
    pipelines_that_make_another_document_go_on_counting,
    duplicates_are_left_out_where_copies_are_made_too,
}

async fn copies_of_every_shape_follow(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        presses(&db).await;
        let collection = db.collection::<Press>();
        collection
            .update_one(|p| p.id.eq(1), |p| p.name.set("new") & p.seat.city.set("there"))
            .await
            .unwrap();
        assert_copies(&db, "new", "there", Some("motto"), 1).await;
        // What is not there in the source goes from the copies.
        collection
            .update_one(|p| p.id.eq(1), |p| p.motto.unset())
            .await
            .unwrap();
        assert_copies(&db, "new", "there", None, 2).await;
        db.drop().await.unwrap();
    }
}

async fn every_way_to_write_is_followed(db: &Db) {
    presses(db).await;
    let collection = db.collection::<Press>();
    let mut now = collection.get(1).required().await.unwrap();
    now.name = "saved".into();
    collection.replace(&now).await.unwrap();
    assert_copies(db, "saved", "city 1", Some("motto"), 1).await;

    let mut now = collection.get(1).tracked().required().await.unwrap();
    now.seat.city = "tracked".into();
    now.save(&collection).await.unwrap();
    assert_copies(db, "saved", "tracked", Some("motto"), 2).await;

    collection
        .update_many(|p| p.staff.eq(1) & p.id.lt(2), |p| p.name.set("many"))
        .await
        .unwrap();
    assert_copies(db, "many", "tracked", Some("motto"), 3).await;

    let bulk = collection
        .bulk_write()
        .insert(press(3))
        .update_one(|p| p.id.eq(1), |p| p.name.set("bulk"))
        .update_one(|p| p.id.eq(3), |p| p.name.set("third"));
    bulk.await.unwrap();
    assert_copies(db, "bulk", "tracked", Some("motto"), 4).await;

    let seen = collection
        .find_one_and_update(|p| p.id.lte(1), |p| p.name.set("found"))
        .await
        .unwrap();
    assert_eq!(seen.unwrap().id, 1);
    assert_copies(db, "found", "tracked", Some("motto"), 5).await;

    let mut now = collection.get(1).required().await.unwrap();
    now.name = "exchanged".into();
    collection
        .find_one_and_replace(|p| p.id.eq(1), &now)
        .await
        .unwrap();
    assert_copies(db, "exchanged", "tracked", Some("motto"), 6).await;

    collection
        .update_one(|p| p.id.eq(1), |p| p.name.set("upserted"))
        .upsert()
        .await
        .unwrap();
    assert_copies(db, "upserted", "tracked", Some("motto"), 7).await;

    let stages = [doc! { "$set": { "fullName": { "$concat": ["$fullName", "!"] } } }];
    collection
        .update_one(|p| p.id.eq(1), |_| odm::Update::pipeline(stages))
        .await
        .unwrap();
    assert_copies(db, "upserted!", "tracked", Some("motto"), 8).await;

    collection
        .update_one(
            |p| p.id.eq(1),
            |_| odm::Update::raw(doc! { "$set": { "seat.city": "raw" } }),
        )
        .await
        .unwrap();
    assert_copies(db, "upserted!", "raw", Some("motto"), 9).await;
}

async fn an_upsert_that_inserts_is_followed(db: &Db) {
    let orphan = Volume {
        press: PressCopy {
            version: -1,
            ..copy(7)
        },
        ..volume(1, 1)
    };
    db.collection::<Volume>().insert(orphan).await.unwrap();
    let update = db.collection::<Press>().update_one(
        |p| p.id.eq(7),
        |p| p.name.set("seven") & p.seat.city.set("x") & p.seat.street.set("y") & p.staff.set(0),
    );
    update.upsert().await.unwrap();
    let volume = db.collection::<Volume>().get(1).required().await.unwrap();
    assert_eq!(
        (volume.press.name.as_str(), volume.press.city.as_str()),
        ("seven", "x")
    );

    // An insert too.
    let orphan = Volume {
        press: PressCopy {
            version: -1,
            name: String::new(),
            ..copy(8)
        },
        ..volume_of_nobody(2)
    };
    db.collection::<Volume>().insert(orphan).await.unwrap();
    db.collection::<Press>().insert(press(8)).await.unwrap();
    let volume = db.collection::<Volume>().get(2).required().await.unwrap();
    assert_eq!(volume.press, copy(8));
}

async fn what_is_not_copied_is_not_followed(db: &Db) {
    presses(db).await;
    let (logged, log) = db.logged();
    logged
        .collection::<Press>()
        .update_one(|p| p.id.eq(1), |p| p.staff.inc(1))
        .await
        .unwrap();
    assert_eq!(log.round_trips(), 1);
    assert_eq!(pending(db).await, 0);
    let volume = db.collection::<Volume>().get(1).required().await.unwrap();
    assert_eq!(volume.press.version, 0);
    is_clean(db).await;
    // A part of something that is copied as a whole is.
    db.collection::<Press>()
        .update_one(
            |p| p.id.eq(1),
            |p| {
                p.seat.set(Seat {
                    city: "c".into(),
                    street: "s".into(),
                })
            },
        )
        .await
        .unwrap();
    let volume = db.collection::<Volume>().get(1).required().await.unwrap();
    assert_eq!((volume.press.city.as_str(), volume.press.version), ("c", 2));
}

async fn holders_see_a_write_like_any_other(db: &Db) {
    let db = db.with_clock(|| DateTime::from_millis(9));
    presses(&db).await;
    db.collection::<Press>()
        .update_one(|p| p.id.eq(1), |p| p.name.set("new"))
        .await
        .unwrap();
    let volumes = db
        .collection::<Volume>()
        .find_all()
        .sort(|v| v.id.asc())
        .await
        .unwrap();
    let times: Vec<_> = volumes
        .iter()
        .map(|volume| volume.updated.timestamp_millis())
        .collect();
    assert_eq!(times, [9, 9, 0]);
    // Whoever loaded the holder before cannot write the old copy over the new one.
    let stale = parcel(1);
    let error = db.collection::<Parcel>().replace(&stale).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

async fn a_change_and_its_copies_are_one_transaction(db: &Db) {
    presses(db).await;
    let failed = db.transaction(async |tx| {
        tx.collection::<Press>()
            .update_one(|p| p.id.eq(1), |p| p.name.set("never"))
            .await?;
        assert_copies(&tx, "never", "city 1", Some("motto"), 1).await;
        Err::<(), _>(Error::new(ErrorKind::InvalidArgument, "no"))
    });
    assert_eq!(failed.await.unwrap_err().message(), "no");
    assert_copies(db, "press 1", "city 1", Some("motto"), 0).await;
    assert_eq!(pending(db).await, 0);
}

async fn eventual_copies_wait(db: &Db) {
    presses(db).await;
    let (presses, diaries) = (db.collection::<Press>(), db.collection::<Diary>());
    presses
        .update_many(|p| p.id.gt(0), |p| p.name.set("late"))
        .await
        .unwrap();
    assert_eq!(pending(db).await, 2);
    let stale = diaries.stale_copies().await.unwrap();
    assert_eq!(stale.len(), 5);
    assert_eq!(
        (
            stale[0].path.as_str(),
            stale[0].source,
            stale[0].copy_version,
            stale[0].source_version
        ),
        ("press", "Press", Some(0), Some(1))
    );
    assert_eq!(stale[0].fields, ["name"]);
    let report = presses.propagate_pending().batch_size(2).await.unwrap();
    assert_eq!((report.sources, report.holders), (2, 5));
    is_clean(db).await;
    let diary = diaries.get(3).required().await.unwrap();
    assert_eq!(
        (diary.press.name.as_deref(), diary.press.version),
        (Some("late"), Some(1))
    );
    assert_eq!(diary.press.note, "note 3");
    let report = presses.propagate_pending().await.unwrap();
    assert_eq!((report.sources, report.holders), (0, 0));
    let error = presses.propagate_pending().batch_size(0).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
}

async fn a_late_propagation_changes_nothing_back(db: &Db) {
    let plain = &Plain::db(db);
    presses(plain).await;
    let held = Arc::new(Held {
        inner: plain.backend().clone(),
        is_used: AtomicBool::new(false),
        has_reached: AtomicBool::new(false),
        may_go: AtomicBool::new(false),
    });
    let slow = Db::from_backend(held.clone(), db.name().to_owned());
    let slowly = async {
        let presses = slow.collection::<Press>();
        presses
            .update_one(|p| p.id.eq(1), |p| p.name.set("older"))
            .await
            .unwrap();
    };
    let meanwhile = async {
        // The older change is written, read, and on its way to the copies.
        until(&held.has_reached).await;
        let presses = plain.collection::<Press>();
        presses
            .update_one(|p| p.id.eq(1), |p| p.name.set("newer"))
            .await
            .unwrap();
        assert_copies(plain, "newer", "city 1", Some("motto"), 2).await;
        held.may_go.store(true, Ordering::Release);
    };
    futures_util::join!(slowly, meanwhile);
    assert_copies(plain, "newer", "city 1", Some("motto"), 2).await;
    plain.collection::<Press>().propagate_pending().await.unwrap();
    is_clean(plain).await;
}

/// A backend that holds the first update of volumes until it is let go.
#[derive(Debug)]
struct Held {
    inner: Arc<dyn Backend>,
    is_used: AtomicBool,
    has_reached: AtomicBool,
    may_go: AtomicBool,
}

async fn until(is_so: &AtomicBool) {
    while !is_so.load(Ordering::Acquire) {
        tokio::task::yield_now().await;
    }
}

impl Backend for Held {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, odm::Result<Response>> {
        Box::pin(async move {
            let is_of_copies = matches!(&operation, Operation::Update(update)
                if update.namespace.collection == "volumes");
            if is_of_copies && !self.is_used.swap(true, Ordering::AcqRel) {
                self.has_reached.store(true, Ordering::Release);
                until(&self.may_go).await;
            }
            self.inner.execute(operation).await
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, odm::Result<Arc<dyn Transaction>>> {
        self.inner.begin(options)
    }
}

async fn racing_changes_end_with_the_newest(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        presses(&db).await;
        let write = |who: &'static str| {
            let collection = db.collection::<Press>();
            async move {
                for n in 0..8 {
                    collection
                        .update_one(|p| p.id.eq(1), |p| p.name.set(format!("{who} {n}")))
                        .await
                        .unwrap();
                }
            }
        };
        let propagate = async {
            for _ in 0..4 {
                db.collection::<Press>().propagate_pending().await.unwrap();
            }
        };
        futures_util::join!(write("a"), write("b"), propagate);
        db.collection::<Press>().propagate_pending().await.unwrap();
        let source = db.collection::<Press>().get(1).required().await.unwrap();
        assert_eq!(source.version, 16);
        assert_copies(&db, &source.name, "city 1", Some("motto"), 16).await;
        is_clean(&db).await;
        db.drop().await.unwrap();
    }
}

async fn a_source_without_a_version_is_stamped(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        let ware = |name: &str| Ware {
            id: 1,
            number: "n1".into(),
            name: name.into(),
        };
        let (wares, baskets) = (db.collection::<Ware>(), db.collection::<Basket>());
        wares.insert(ware("one")).await.unwrap();
        let made = WareCopy::copy_of(&ware("one")).unwrap();
        assert_eq!((made.name.as_deref(), made.version), (Some("one"), Some(-1)));
        let unfilled = WareCopy {
            number: Ref::keyed("n1".into()),
            name: None,
            version: None,
        };
        baskets
            .insert_many([(1, made), (2, unfilled)].map(|(id, ware)| Basket { id, ware, version: 0 }))
            .await
            .unwrap();
        let basket = BasketCopy {
            id: Ref::new(1),
            ware: None,
            version: -1,
        };
        db.collection::<Cart>()
            .insert(Cart { id: 1, basket })
            .await
            .unwrap();

        wares
            .update_one(|w| w.id.eq(1), |w| w.name.set("two"))
            .await
            .unwrap();
        wares.replace(ware("three")).await.unwrap();
        wares
            .find_one_and_replace(|w| w.id.eq(1), ware("four"))
            .await
            .unwrap();
        for id in [1, 2] {
            let basket = baskets.get(id).required().await.unwrap();
            assert_eq!(
                (basket.ware.name.as_deref(), basket.ware.version),
                (Some("four"), Some(3))
            );
        }
        // The copy of a copy follows too.
        let cart = db.collection::<Cart>().get(1).required().await.unwrap();
        assert_eq!(
            (cart.basket.ware.as_deref(), cart.basket.version),
            (Some("four"), 3)
        );
        let problems = db.verify_relations::<Cart>().await.unwrap();
        assert_eq!(problems, []);
        db.drop().await.unwrap();
    }
}

async fn the_number_of_round_trips_of_a_change_does_not_grow(db: &Db) {
    let mut trips = Vec::new();
    for count in [1, 600] {
        presses(db).await;
        let volumes = (0..count).map(|n| volume_of_nobody(1000 + n));
        db.collection::<Volume>().insert_many(volumes).await.unwrap();
        let (logged, log) = db.logged();
        logged
            .collection::<Press>()
            .update_one(|p| p.id.eq(1), |p| p.name.set("new"))
            .await
            .unwrap();
        trips.push(log.round_trips());
        is_without_stale_volumes(db).await;
        db.drop().await.unwrap();
    }
    assert_eq!(trips[0], trips[1]);
}

async fn is_without_stale_volumes(db: &Db) {
    assert_eq!(db.collection::<Volume>().stale_copies().await.unwrap(), []);
}

async fn a_batch_is_propagated_or_not_as_a_whole(db: &Db) {
    presses(db).await;
    let batch = |db: &Db| {
        db.collection::<Press>()
            .bulk_write()
            .update_one(|p| p.id.eq(1), |p| p.name.set("first"))
            .insert(press(2))
            .update_one(|p| p.id.eq(2), |p| p.name.set("second"))
    };
    let error = batch(db).await.unwrap_err();
    assert_eq!(error.write_errors()[0].index, 1);
    assert_copies(db, "press 1", "city 1", Some("motto"), 0).await;
    let plain = Plain::db(db);
    let error = batch(&plain).await.unwrap_err();
    assert_eq!(error.write_errors()[0].index, 1);
    assert_copies(db, "first", "city 1", Some("motto"), 1).await;
}

async fn other_collections_of_the_model_have_no_copies(db: &Db) {
    presses(db).await;
    let old = db.collection_named::<Press>("old_presses");
    old.insert(press(1)).await.unwrap();
    old.update_one(|p| p.id.eq(1), |p| p.name.set("old"))
        .await
        .unwrap();
    assert_copies(db, "press 1", "city 1", Some("motto"), 0).await;
    let stored = db
        .raw_collection("old_presses")
        .find_one(doc! {})
        .await
        .unwrap()
        .unwrap();
    assert!(!stored.contains_key("copies_pending"));
}

async fn what_waits_has_an_index(db: &Db) {
    let presses = db.collection::<Press>();
    presses.create_indexes().await.unwrap();
    let indexes = presses.list_indexes().await.unwrap();
    assert!(
        indexes.iter().any(|index| index.name == "copies_pending_1"),
        "{indexes:?}"
    );
}

async fn pipelines_that_make_another_document_go_on_counting(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        let ware = |name: &str| Ware {
            id: 1,
            number: "n1".into(),
            name: name.into(),
        };
        let (wares, baskets) = (db.collection::<Ware>(), db.collection::<Basket>());
        wares.insert(ware("one")).await.unwrap();
        let made = WareCopy::copy_of(&ware("one")).unwrap();
        baskets
            .insert(Basket {
                id: 1,
                ware: made,
                version: 0,
            })
            .await
            .unwrap();
        for n in 0..3 {
            wares
                .update_one(|w| w.id.eq(1), |w| w.name.set(format!("{n}")))
                .await
                .unwrap();
        }
        let whole = doc! { "_id": "$_id", "number": "$number", "name": "replaced" };
        let stages = [
            doc! { "$replaceWith": whole.clone() },
            doc! { "$replaceRoot": { "newRoot": { "$mergeObjects": [whole, { "name": "root" }] } } },
            doc! { "$project": { "number": 1, "name": "projected" } },
            doc! { "$project": { "other": 0 } },
            doc! { "$set": { "name": { "$concat": ["$name", "!"] } } },
        ];
        let names = ["replaced", "root", "projected", "projected", "projected!"];
        for (n, (stage, name)) in stages.into_iter().zip(names).enumerate() {
            wares
                .update_one(|w| w.id.eq(1), |_| odm::Update::pipeline([stage.clone()]))
                .await
                .unwrap();
            let basket = baskets.get(1).required().await.unwrap();
            let copied = (basket.ware.name.as_deref(), basket.ware.version);
            assert_eq!(copied, (Some(name), Some(4 + n as i64)), "{stage}");
        }
        // The version of a model that has one goes on too.
        let stages = [doc! { "$replaceWith": { "_id": "$_id", "ware": "$ware", "version": 0 } }];
        let before = baskets.get(1).required().await.unwrap().version;
        baskets
            .update_one(|b| b.id.eq(1), |_| odm::Update::pipeline(stages))
            .await
            .unwrap();
        assert_eq!(baskets.get(1).required().await.unwrap().version, before + 1);
        // What makes no document is the error that it was.
        let error = wares
            .update_one(
                |w| w.id.eq(1),
                |_| odm::Update::pipeline([doc! { "$replaceWith": "$missing" }]),
            )
            .await
            .unwrap_err();
        assert_eq!(error.code(), Some(40228), "{error}");
        db.drop().await.unwrap();
    }
}

async fn duplicates_are_left_out_where_copies_are_made_too(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        let ware = |id: i32| Ware {
            id,
            number: format!("n{id}"),
            name: format!("ware {id}"),
        };
        let wares = db.collection::<Ware>();
        wares.insert(ware(3)).await.unwrap();
        let result = wares
            .insert_many((1..=5).map(ware))
            .ignore_duplicates()
            .await
            .unwrap();
        assert_eq!(result.ids, [1, 2, 4, 5]);
        let stored = wares.find_all().sort(|w| w.id.asc()).await.unwrap();
        assert_eq!(stored, (1..=5).map(ware).collect::<Vec<_>>());
        let none = wares.insert_many((1..=2).map(ware)).ignore_duplicates().await;
        assert!(none.unwrap().ids.is_empty());
        // Without that nothing is said to be stored that was taken back.
        let error = wares
            .insert_many([6, 3, 7].map(ware))
            .unordered()
            .await
            .unwrap_err();
        let partial = error.partial_write().unwrap();
        let stored = wares.find(|w| w.id.gt(5)).sort(|w| w.id.asc()).await.unwrap();
        let stored: Vec<_> = stored.iter().map(|ware| bson::Bson::Int32(ware.id)).collect();
        let said: Vec<_> = partial.inserted.iter().map(|(_, id)| id.clone()).collect();
        assert_eq!(said, stored);
        assert_eq!(partial.summary.inserted, stored.len() as u64);
        db.drop().await.unwrap();
    }
}
