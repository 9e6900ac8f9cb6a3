//! Outliers: an array that goes on elsewhere loses nothing on the way there and back.

use std::sync::atomic::{AtomicUsize, Ordering};

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Embedded, Error, ErrorKind, Model};
use odm_patterns::outlier::{Outlier, OutlierProblemKind, Overflow};
use odm_tests::interrupted::interrupted;
use odm_tests::plain::Plain;
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    an_outlier_goes_beside_and_comes_back,
    outliers_lose_nothing_at_once,
    outliers_lose_nothing_to_who_is_held_up,
    a_crash_at_any_write_of_an_outlier_is_mended,
    outliers_are_part_of_a_transaction,
    outliers_lose_nothing_to_a_transaction_that_is_held_up,
    what_is_wrong_with_outliers_is_found,
    lists_with_their_own_codec_are_no_outliers,
    elements_that_hold_numbers_for_keys_are_counted,
}

#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_books")]
pub(super) struct Book {
    #[serde(rename = "_id")]
    id: i32,
    buyers: Vec<i64>,
    #[serde(default)]
    overflow: Overflow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_devices")]
struct Device {
    #[serde(rename = "_id", with = "odm::as_bson")]
    id: uuid::Uuid,
    #[serde(with = "odm::as_bson")]
    peers: Vec<uuid::Uuid>,
    links: Vec<Link>,
    #[serde(default)]
    overflow: Overflow,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Link {
    #[serde(with = "odm::as_bson")]
    to: uuid::Uuid,
}

/// The elements beside would not be stored as those in the list are.
async fn lists_with_their_own_codec_are_no_outliers(db: &Db) {
    let id = uuid::Uuid::from_u128;
    let device = Device {
        id: id(1),
        peers: vec![id(2)],
        links: vec![],
        overflow: Overflow::default(),
    };
    db.collection::<Device>().insert(&device).await.unwrap();
    let peers = Outlier::<Device, uuid::Uuid>::new(db, |d| d.peers, |d| d.overflow.path().clone());
    for refused in [
        peers.add(id(1), &id(3)).await.unwrap_err(),
        peers.remove(id(1), &id(2)).await.unwrap_err(),
        peers.items(id(1)).await.unwrap_err(),
        peers.settle(id(1)).await.unwrap_err(),
    ] {
        assert_eq!(
            (refused.kind(), refused.model(), refused.path()),
            (ErrorKind::Unsupported, Some("Device"), Some("peers"))
        );
    }
    assert_eq!(
        db.collection::<Device>().get(id(1)).required().await.unwrap(),
        device
    );
    // In an element it can be.
    let links = Outlier::<Device, Link>::new(db, |d| d.links, |d| d.overflow.path().clone())
        .threshold(2)
        .low(1);
    for n in 0..5 {
        links.add(id(1), &Link { to: id(n) }).await.unwrap();
    }
    assert!(links.remove(id(1), &Link { to: id(4) }).await.unwrap());
    let items = links.items(id(1)).await.unwrap();
    assert_eq!(items, [0, 1, 2, 3].map(|n| Link { to: id(n) }));
    let stored = db.collection::<Device>().get(id(1)).required().await.unwrap();
    assert_eq!((stored.links.len(), stored.overflow.is), (2, true));
}

fn lost() -> Error {
    Error::new(ErrorKind::Network, "connection reset (injected)")
}

pub(super) fn buyers(db: &Db) -> Outlier<Book, i64> {
    Outlier::<Book, i64>::new(db, |b| b.buyers, |b| b.overflow.path().clone())
        .threshold(4)
        .low(2)
        .page(3)
}

pub(super) async fn book(db: &Db) -> Outlier<Book, i64> {
    let book = Book {
        id: 1,
        buyers: vec![],
        overflow: Overflow::default(),
    };
    db.collection::<Book>().insert(book).await.unwrap();
    buyers(db)
}

async fn an_outlier_goes_beside_and_comes_back(db: &Db) {
    let (db, log) = db.logged();
    let buyers = book(&db).await;
    log.take();
    for n in 0..4 {
        buyers.add(1, &n).await.unwrap();
    }
    assert_eq!(log.take().len(), 4);
    assert_eq!(buyers.items(1).await.unwrap(), [0, 1, 2, 3]);
    assert_eq!(log.take().len(), 1);
    for n in 4..12 {
        buyers.add(1, &n).await.unwrap();
        assert_eq!(log.take().len(), 4, "{n}");
    }
    assert_eq!(buyers.items(1).await.unwrap(), (0..12).collect::<Vec<_>>());
    assert_eq!(log.take().len(), 2);
    let stored = db.collection::<Book>().get(1).required().await.unwrap();
    assert_eq!((stored.buyers.len(), stored.overflow.is), (4, true));
    assert_eq!(buyers.overflow().count(doc! {}).await.unwrap(), 3);
    // Between low and threshold nothing happens.
    for n in 2..9 {
        assert!(buyers.remove(1, &n).await.unwrap());
        assert!(!buyers.settle(1).await.unwrap());
    }
    assert!(!buyers.remove(1, &5).await.unwrap());
    assert_eq!(buyers.items(1).await.unwrap(), [0, 1, 9, 10, 11]);
    for n in [0, 10, 11] {
        assert!(buyers.remove(1, &n).await.unwrap());
    }
    log.take();
    assert!(buyers.settle(1).await.unwrap());
    assert_eq!(log.take().len(), 10);
    assert!(!buyers.settle(1).await.unwrap());
    assert_eq!(log.take().len(), 1);
    let stored = db.collection::<Book>().get(1).required().await.unwrap();
    assert_eq!(
        (stored.buyers, stored.overflow.is, stored.overflow.epoch),
        (vec![1, 9], false, 1)
    );
    assert!(buyers.verify().await.unwrap().is_empty());
    // And again.
    for n in 20..30 {
        buyers.add(1, &n).await.unwrap();
    }
    assert_eq!(buyers.items(1).await.unwrap().len(), 12);
    let far = DateTime::from_millis(db.now().timestamp_millis() + 60_000);
    assert_eq!(buyers.sweep(far).await.unwrap(), 1);
    assert_eq!(buyers.items(1).await.unwrap().len(), 12);
    assert_eq!(buyers.add(7, &1).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(buyers.items(7).await.unwrap_err().kind(), ErrorKind::NotFound);
}

async fn outliers_lose_nothing_at_once(db: &Db) {
    for db in [db.clone(), Plain::db(db)] {
        db.drop_collection("outlier_books").await.ok();
        db.drop_collection("outlier_books_overflow").await.ok();
        // Low as the threshold, so that it goes to and fro all the time.
        let buyers = book(&db).await.low(4);
        let adders = (0..8_i64).map(|task| {
            let buyers = buyers.clone();
            tokio::spawn(async move {
                for n in 0..6 {
                    let item = task * 100 + n;
                    buyers.add(1, &item).await.unwrap();
                    if n % 3 != 0 {
                        assert!(buyers.remove(1, &item).await.unwrap(), "{item}");
                    }
                    let items = buyers.items(1).await.unwrap();
                    assert_eq!(items.contains(&item), n % 3 == 0, "{item} {items:?}");
                }
            })
        });
        let settlers = (0..2).map(|_| {
            let buyers = buyers.clone();
            tokio::spawn(async move {
                for _ in 0..20 {
                    buyers.settle(1).await.unwrap();
                }
            })
        });
        for task in adders.chain(settlers).collect::<Vec<_>>() {
            task.await.unwrap();
        }
        let mut items = buyers.items(1).await.unwrap();
        items.sort_unstable();
        let expected: Vec<i64> = (0..8).flat_map(|task| [task * 100, task * 100 + 3]).collect();
        assert_eq!(items, expected);
        assert!(buyers.repair().await.unwrap().is_empty());
        assert!(buyers.verify().await.unwrap().is_empty());
    }
}

/// A new book with the first four of so many buyers, the others of which were there; low as the threshold, so that it comes
/// back.
async fn with_room_behind(db: &Db, before: i64) -> Outlier<Book, i64> {
    db.drop_collection("outlier_books").await.ok();
    db.drop_collection("outlier_books_overflow").await.ok();
    db.create_collection("outlier_books_overflow").await.unwrap();
    let buyers = book(db).await.low(4);
    for item in 0..before {
        buyers.add(1, &item).await.unwrap();
    }
    for item in 4..before {
        buyers.remove(1, &item).await.unwrap();
    }
    buyers
}

/// Goes beside and comes back, twice, so that a whole epoch passes whatever it began with.
async fn there_and_back_twice(buyers: &Outlier<Book, i64>) {
    for round in 0..2 {
        let items: Vec<i64> = (0..9).map(|n| 1000 + 100 * round + n).collect();
        for item in &items {
            buyers.add(1, item).await.unwrap();
        }
        for item in &items {
            assert!(buyers.remove(1, item).await.unwrap(), "{item}");
        }
        buyers.settle(1).await.unwrap();
    }
}

async fn outliers_lose_nothing_to_who_is_held_up(db: &Db) {
    #[derive(Clone, Copy, Debug)]
    enum Work {
        Add,
        Remove(i64),
        Items,
        Settle,
    }
    let works = [
        Work::Add,
        Work::Remove(0),
        Work::Remove(77),
        Work::Items,
        Work::Settle,
    ];
    for (work, before) in works
        .into_iter()
        .flat_map(|work| [2, 4, 5, 8].map(|before| (work, before)))
    {
        for nth in 1.. {
            let buyers = with_room_behind(db, before).await;
            let mut expected = buyers.items(1).await.unwrap();
            expected.sort_unstable();
            let other = buyers.clone();
            let (held, moment) = interrupted(db, nth, async move { there_and_back_twice(&other).await });
            let held = self::buyers(&held).low(4);
            let context = format!("{work:?} of {before}, held up at {nth}");
            match work {
                Work::Add => {
                    held.add(1, &77).await.unwrap();
                    expected.push(77);
                }
                Work::Remove(item) => {
                    let is_there = expected.contains(&item);
                    assert_eq!(held.remove(1, &item).await.unwrap(), is_there, "{context}");
                    expected.retain(|other| *other != item);
                }
                Work::Items => {
                    let mut items = held.items(1).await.unwrap();
                    items.sort_unstable();
                    assert_eq!(items, expected, "{context}");
                }
                Work::Settle => drop(held.settle(1).await.unwrap()),
            }
            let mut items = buyers.items(1).await.unwrap();
            items.sort_unstable();
            assert_eq!(items, expected, "{context}");
            assert!(buyers.verify().await.unwrap().is_empty(), "{context}");
            if !moment.has_come() {
                break;
            }
        }
    }
}

async fn a_crash_at_any_write_of_an_outlier_is_mended(db: &Db) {
    let mut crashes = 0;
    for after in [false, true] {
        for n in 1.. {
            db.drop().await.unwrap();
            let whole = book(db).await;
            let (faulty, faults) = db.faulty();
            match after {
                false => faults.add(Fault::nth_write(n).crash()),
                true => {
                    faults.add(Fault::nth_write(n).after(lost()));
                    faults.add(Fault::nth_write(n + 1).crash());
                }
            }
            let dying = buyers(&faulty);
            let (mut there, mut doubt) = (Vec::new(), Vec::new());
            'work: {
                for item in 0..6 {
                    match dying.add(1, &item).await {
                        Ok(()) => there.push(item),
                        Err(_) => {
                            doubt.push(item);
                            break 'work;
                        }
                    }
                }
                for item in [0, 1, 2, 4] {
                    there.retain(|other| *other != item);
                    if dying.remove(1, &item).await.is_err() {
                        doubt.push(item);
                        break 'work;
                    }
                }
                dying.settle(1).await.ok();
            }
            let check = async || {
                let mut items = whole.items(1).await.unwrap();
                items.retain(|item| !doubt.contains(item));
                assert_eq!(items, there, "write {n}");
            };
            check().await;
            whole.repair().await.unwrap();
            assert!(whole.verify().await.unwrap().is_empty(), "write {n}");
            check().await;
            whole.add(1, &77).await.unwrap();
            assert!(whole.items(1).await.unwrap().contains(&77));
            if faults.failures() == 0 {
                break;
            }
            crashes += 1;
        }
    }
    assert!(crashes >= 2 * 15, "{crashes}");
}

async fn outliers_are_part_of_a_transaction(db: &Db) {
    book(db).await;
    db.create_collection("outlier_books_overflow").await.unwrap();
    for commits in [false, true] {
        let outcome = db
            .transaction(async |tx| {
                let inside = buyers(&tx);
                for n in 0..9 {
                    inside.add(1, &n).await?;
                }
                for n in 0..7 {
                    inside.remove(1, &n).await?;
                }
                assert!(inside.settle(1).await?);
                assert_eq!(inside.items(1).await?, [7, 8]);
                match commits {
                    true => Ok(()),
                    false => Err(Error::new(ErrorKind::Validation, "no")),
                }
            })
            .await;
        assert_eq!(outcome.is_ok(), commits);
        assert_eq!(
            buyers(db).items(1).await.unwrap().len(),
            if commits { 2 } else { 0 }
        );
    }
    assert!(buyers(db).verify().await.unwrap().is_empty());
}

async fn outliers_lose_nothing_to_a_transaction_that_is_held_up(db: &Db) {
    for before in [4, 5, 8] {
        for adds in [false, true] {
            let outside = with_room_behind(db, before).await;
            let tries = AtomicUsize::new(0);
            let outcome = db.transaction(async |tx| {
                let inside = buyers(&tx).low(4);
                assert_eq!(inside.items(1).await?, [0, 1, 2, 3]);
                if tries.fetch_add(1, Ordering::Relaxed) == 0 {
                    there_and_back_twice(&outside).await;
                }
                match adds {
                    true => inside.add(1, &77).await,
                    false => inside.remove(1, &0).await.map(|removed| assert!(removed)),
                }
            });
            outcome.await.unwrap();
            let expected: &[i64] = if adds { &[0, 1, 2, 3, 77] } else { &[1, 2, 3] };
            assert_eq!(outside.items(1).await.unwrap(), expected, "{before} {adds}");
            assert!(outside.verify().await.unwrap().is_empty());
        }
    }
}

async fn what_is_wrong_with_outliers_is_found(db: &Db) {
    let buyers = book(db).await;
    for n in 0..9 {
        buyers.add(1, &n).await.unwrap();
    }
    let books = db.raw_collection("outlier_books");
    books
        .update_one(doc! {"_id": 1}, doc! {"$set": {"overflow.is": false}})
        .await
        .unwrap();
    let kinds = async || {
        let problems = buyers.verify().await.unwrap();
        problems
            .into_iter()
            .map(|problem| problem.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds().await, [OutlierProblemKind::Unsaid]);
    assert!(buyers.repair().await.unwrap().is_empty());
    assert_eq!(buyers.items(1).await.unwrap().len(), 9);
    books
        .update_one(doc! {"_id": 1}, doc! {"$set": {"overflow.epoch": 1_i64}})
        .await
        .unwrap();
    assert_eq!(kinds().await, [OutlierProblemKind::Leftover { epoch: 0 }]);
    assert!(buyers.repair().await.unwrap().is_empty());
    assert!(kinds().await.is_empty());
    buyers.add(1, &1).await.unwrap();
    books.delete_one(doc! {"_id": 1}).await.unwrap();
    books
        .insert(doc! {"_id": 2, "buyers": [1, 2, 3, 4, 5]})
        .await
        .unwrap();
    let expected = [
        OutlierProblemKind::Orphaned,
        OutlierProblemKind::TooLong { embedded: 5 },
    ];
    assert_eq!(kinds().await, expected);
    // Whether the document is archived is not for it to say.
    assert_eq!(buyers.repair().await.unwrap().len(), 2);
    assert_eq!(buyers.forget_orphans().await.unwrap(), 3);
    assert_eq!(kinds().await, [OutlierProblemKind::TooLong { embedded: 5 }]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "outlier_charts")]
struct Chart {
    #[serde(rename = "_id")]
    id: i32,
    days: Vec<std::collections::BTreeMap<String, i32>>,
    #[serde(default)]
    overflow: Overflow,
}

/// Places in the list are none of the keys in its elements.
async fn elements_that_hold_numbers_for_keys_are_counted(db: &Db) {
    let charts = db.collection::<Chart>();
    let (days, overflow) = (vec![], Overflow::default());
    charts
        .insert(Chart {
            id: 1,
            days,
            overflow,
        })
        .await
        .unwrap();
    let days = Outlier::<Chart, _>::new(db, |c| c.days, |c| c.overflow.path().clone());
    let days = days.threshold(4).low(2).page(3);
    let day = |n: i32| -> std::collections::BTreeMap<String, i32> {
        (0..6).map(|key: i32| (key.to_string(), n)).collect()
    };
    for n in 0..4 {
        days.add(1, &day(n)).await.unwrap();
    }
    assert_eq!(charts.get(1).required().await.unwrap().days.len(), 4);
    assert!(days.verify().await.unwrap().is_empty());
    for n in 4..12 {
        days.add(1, &day(n)).await.unwrap();
    }
    assert_eq!(days.items(1).await.unwrap(), (0..12).map(day).collect::<Vec<_>>());
    assert!(days.overflow().count(doc! {}).await.unwrap() <= 5);
    assert!(days.verify().await.unwrap().is_empty());
}
