//! Checkout and inventory: nobody gets a copy that is not there.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use bson::{DateTime, doc};
use odm::backend::wrap::Fault;
use odm::{Db, Error, ErrorKind, Model};
use odm_patterns::hold::{
    Answered, Checkout, Ending, HoldError, Inventory, Settled, Shelf, StockProblemKind, Stocked,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    sixty_four_want_three,
    sixty_four_hold_three_and_keep_or_release_them,
    the_manuals_documents_are_taken_as_they_are,
    a_name_is_never_an_operator,
    every_operation_is_idempotent_by_the_holds_id,
    expired_holds_make_room_in_the_same_write,
    a_sweep_takes_back_everywhere,
    without_a_count_of_sold_copies_confirming_lends,
    a_part_is_confirmed_and_the_rest_comes_back,
    a_part_is_lent_and_the_rest_comes_back,
    copies_are_added_and_taken_away,
    the_last_endings_are_remembered,
    a_lost_reply_is_answered_when_asked_again,
    holds_are_parts_of_transactions,
    wrong_figures_are_found_and_repaired,
    copies_that_the_fields_cannot_count_are_refused,
    ids_of_holds_are_told_by_their_bytes,
    an_item_that_is_missing_is_named,
    what_is_held_of_a_deleted_item_comes_to_its_end,
}

/// The manual's shape.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "hold_books")]
struct Title {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    available: i32,
    checkout: Vec<Checkout>,
}

impl Stocked for Title {
    fn inventory(t: TitleFields) -> Inventory<Title> {
        Inventory::new(&t.available, &t.checkout)
    }
}

/// With all that an inventory can have.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "hold_tickets")]
struct Ticket {
    #[serde(rename = "_id")]
    id: i32,
    shelf: Inside,
    settled: Vec<Settled>,
}

#[derive(Clone, Debug, Serialize, Deserialize, odm::Embedded)]
struct Inside {
    free: u32,
    out: Vec<Checkout>,
    sold: i64,
    stock: i64,
}

impl Stocked for Ticket {
    fn inventory(t: TicketFields) -> Inventory<Ticket> {
        Inventory::new(&t.shelf.free, &t.shelf.out)
            .sold(&t.shelf.sold)
            .stock(&t.shelf.stock)
            .settled(&t.settled)
    }
}

async fn title(db: &Db, available: i32) -> Shelf<Title> {
    let document = Title {
        id: 1,
        title: "Emma".to_owned(),
        available,
        checkout: Vec::new(),
    };
    db.collection::<Title>().insert(document).await.unwrap();
    Shelf::new(db)
}

async fn ticket(db: &Db, stock: u32) -> Shelf<Ticket> {
    let shelf = Inside {
        free: stock,
        out: Vec::new(),
        sold: 0,
        stock: stock.into(),
    };
    let document = Ticket {
        id: 1,
        shelf,
        settled: Vec::new(),
    };
    db.collection::<Ticket>().insert(document).await.unwrap();
    Shelf::new(db)
}

/// A clock that stands at a second until it is moved.
fn clocked(db: &Db) -> (Db, Arc<AtomicI64>) {
    let seconds = Arc::new(AtomicI64::new(0));
    let hand = seconds.clone();
    (
        db.with_clock(move || second(hand.load(Ordering::SeqCst))),
        seconds,
    )
}

fn second(seconds: i64) -> DateTime {
    DateTime::from_millis(seconds * 1000)
}

async fn sixty_four_want_three(db: &Db) {
    for round in 0..5 {
        db.collection::<Title>().drop().await.unwrap();
        let shelf = Arc::new(title(db, 3).await);
        let tasks: Vec<_> = (0..64)
            .map(|n| {
                let shelf = shelf.clone();
                tokio::spawn(async move { shelf.take(1, &format!("patron {n}")).await })
            })
            .collect();
        let mut taken = 0;
        for task in tasks {
            match task.await.unwrap() {
                Ok(()) => taken += 1,
                Err(HoldError::SoldOut { available }) => assert_eq!(available, 0),
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(taken, 3, "round {round}");
        let book = db.collection::<Title>().get(1).required().await.unwrap();
        assert_eq!((book.available, book.checkout.len()), (0, 3));
    }
}

async fn sixty_four_hold_three_and_keep_or_release_them(db: &Db) {
    let (db, _) = clocked(db);
    let shelf = Arc::new(ticket(&db, 3).await.remember(200));
    let tasks: Vec<_> = (0..64)
        .map(|n| {
            let shelf = shelf.clone();
            tokio::spawn(async move {
                let hold = format!("order {n}");
                if shelf.hold(1, &hold, "ann", 1, second(60)).await.is_err() {
                    return 0;
                }
                match n % 2 {
                    0 => shelf.confirm(1, &hold).await.map(|_| 1).unwrap(),
                    _ => shelf.release(1, &hold).await.map(|_| 0).unwrap(),
                }
            })
        })
        .collect();
    let mut sold = 0;
    for task in tasks {
        sold += task.await.unwrap();
    }
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.sold, stock.held), (sold, 0));
    assert_eq!(stock.available, 3 - sold);
    assert!(shelf.verify().await.unwrap().is_empty());
}

async fn the_manuals_documents_are_taken_as_they_are(db: &Db) {
    let (db, log) = db.logged();
    let (db, seconds) = clocked(&db);
    let shelf = title(&db, 2).await;
    let stored = doc! { "by": "old", "date": second(-5) };
    let raw = db.raw_collection("hold_books");
    raw.update_one(doc! {"_id": 1}, doc! {"$push": {"checkout": stored}})
        .await
        .unwrap();
    log.take();
    shelf.take(1, "joe").await.unwrap();
    assert_eq!(log.take().len(), 1);
    seconds.store(1, Ordering::SeqCst);
    shelf.take(1, "joe").await.unwrap();
    let book = raw.find_one(doc! {}).await.unwrap().unwrap();
    let checkout = bson::bson!([
        { "by": "old", "date": second(-5) },
        { "by": "joe", "date": second(0) },
        { "by": "joe", "date": second(1) },
    ]);
    assert_eq!(book.get("checkout"), Some(&checkout));
    assert_eq!(book.get("available"), Some(&bson::Bson::Int32(0)));
    log.take();
    let error = shelf.take(1, "eve").await.unwrap_err();
    assert!(matches!(error, HoldError::SoldOut { available: 0 }), "{error}");
    assert_eq!(log.take().len(), 2);

    // One of his two comes back, the older.
    shelf.give_back(1, "joe").await.unwrap();
    assert_eq!(log.take().len(), 1);
    let book = db.collection::<Title>().get(1).required().await.unwrap();
    assert_eq!((book.available, book.checkout.len()), (1, 2));
    assert_eq!(book.checkout[1].date, second(1));
    shelf.give_back(1, "old").await.unwrap();
    shelf.give_back(1, "joe").await.unwrap();
    let error = shelf.give_back(1, "joe").await.unwrap_err();
    assert!(matches!(error, HoldError::UnknownHold), "{error}");
    let error = shelf.give_back(2, "joe").await.unwrap_err();
    assert!(matches!(error, HoldError::NoItem { .. }), "{error}");
    assert!(matches!(
        shelf.take(2, "joe").await.unwrap_err(),
        HoldError::NoItem { .. }
    ));
    let book = db.collection::<Title>().get(1).required().await.unwrap();
    assert_eq!((book.available, book.checkout.len()), (3, 0));
}

async fn a_name_is_never_an_operator(db: &Db) {
    let shelf = title(db, 2).await;
    for name in ["$available", "$$ROOT", "{\"$gt\": 1}"] {
        shelf.take(1, name).await.unwrap();
        let book = db.collection::<Title>().get(1).required().await.unwrap();
        assert_eq!(book.checkout.last().unwrap().by, name);
        shelf.give_back(1, name).await.unwrap();
        shelf.hold(1, name, name, 1, DateTime::MAX).await.unwrap();
        let book = db.collection::<Title>().get(1).required().await.unwrap();
        assert_eq!(book.checkout.last().unwrap().hold.as_deref(), Some(name));
        shelf.release(1, name).await.unwrap();
    }
    assert_eq!(shelf.stock(1).await.unwrap().available, 2);
}

async fn every_operation_is_idempotent_by_the_holds_id(db: &Db) {
    let (db, log) = db.logged();
    let (db, _) = clocked(&db);
    let shelf = ticket(&db, 5).await;
    log.take();
    assert_eq!(
        shelf.hold(1, "a", "ann", 2, second(10)).await.unwrap(),
        Answered::Now
    );
    assert_eq!(log.take().len(), 1);
    assert_eq!(
        shelf.hold(1, "a", "ann", 2, second(10)).await.unwrap(),
        Answered::Before
    );
    assert_eq!(log.take().len(), 2);
    for (by, quantity) in [("joe", 2), ("ann", 1)] {
        let error = shelf.hold(1, "a", by, quantity, second(10)).await.unwrap_err();
        assert!(matches!(error, HoldError::OtherHold), "{error}");
    }
    log.take();
    assert_eq!(shelf.confirm(1, "a").await.unwrap(), Answered::Now);
    assert_eq!(log.take().len(), 1);
    assert_eq!(shelf.confirm(1, "a").await.unwrap(), Answered::Before);
    assert_eq!(log.take().len(), 2);
    let again = [
        shelf.hold(1, "a", "ann", 2, second(10)).await.unwrap_err(),
        shelf.release(1, "a").await.unwrap_err(),
        shelf.extend(1, "a", second(20)).await.unwrap_err(),
    ];
    assert!(
        again
            .iter()
            .all(|error| matches!(error, HoldError::AlreadyConfirmed)),
        "{again:?}"
    );

    shelf.hold(1, "b", "joe", 1, second(10)).await.unwrap();
    log.take();
    assert_eq!(shelf.release(1, "b").await.unwrap(), Answered::Now);
    assert_eq!(log.take().len(), 1);
    assert_eq!(shelf.release(1, "b").await.unwrap(), Answered::Before);
    assert_eq!(log.take().len(), 2);
    let again = [
        shelf.hold(1, "b", "joe", 1, second(10)).await.unwrap_err(),
        shelf.confirm(1, "b").await.unwrap_err(),
        shelf.extend(1, "b", second(20)).await.unwrap_err(),
    ];
    assert!(
        again
            .iter()
            .all(|error| matches!(error, HoldError::AlreadyReleased)),
        "{again:?}"
    );

    assert_eq!(
        shelf.hold_for_good(1, "c", "eve", 1).await.unwrap(),
        Answered::Now
    );
    assert_eq!(
        shelf.hold_for_good(1, "c", "eve", 1).await.unwrap(),
        Answered::Before
    );
    shelf.release(1, "c").await.unwrap();

    for error in [
        shelf.confirm(1, "x").await.unwrap_err(),
        shelf.release(1, "x").await.unwrap_err(),
        shelf.extend(1, "x", second(20)).await.unwrap_err(),
    ] {
        assert!(matches!(error, HoldError::UnknownHold), "{error}");
    }
    for error in [
        shelf.hold(9, "x", "ann", 1, second(10)).await.unwrap_err(),
        shelf.confirm(9, "x").await.unwrap_err(),
        shelf.release(9, "x").await.unwrap_err(),
        shelf.extend(9, "x", second(20)).await.unwrap_err(),
        shelf.restock(9, 1).await.unwrap_err(),
        shelf.stock(9).await.unwrap_err(),
    ] {
        assert!(matches!(error, HoldError::NoItem { .. }), "{error}");
    }
    let error = Error::from(shelf.hold(1, "x", "ann", 0, second(10)).await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!(
        (stock.available, stock.held, stock.sold, stock.stock),
        (3, 0, 2, Some(5))
    );
    assert!(shelf.verify().await.unwrap().is_empty());
}

async fn expired_holds_make_room_in_the_same_write(db: &Db) {
    let (db, log) = db.logged();
    let (db, seconds) = clocked(&db);
    let shelf = ticket(&db, 3).await;
    shelf.hold(1, "a", "ann", 2, second(10)).await.unwrap();
    shelf.hold(1, "b", "joe", 1, second(20)).await.unwrap();
    log.take();
    shelf.extend(1, "b", second(15)).await.unwrap();
    assert_eq!(log.take().len(), 1);
    let error = shelf.hold(1, "c", "eve", 1, second(30)).await.unwrap_err();
    assert!(matches!(error, HoldError::SoldOut { available: 0 }), "{error}");

    seconds.store(10, Ordering::SeqCst);
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held, stock.expired), (0, 3, 2));
    let error = shelf.hold(1, "c", "eve", 3, second(30)).await.unwrap_err();
    assert!(matches!(error, HoldError::SoldOut { available: 2 }), "{error}");
    for error in [
        shelf.confirm(1, "a").await.unwrap_err(),
        shelf.extend(1, "a", second(40)).await.unwrap_err(),
        shelf.hold(1, "a", "ann", 2, second(40)).await.unwrap_err(),
    ] {
        assert!(matches!(error, HoldError::Expired), "{error}");
    }
    log.take();
    shelf.hold(1, "c", "eve", 1, second(30)).await.unwrap();
    assert_eq!(log.take().len(), 1);
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held, stock.expired), (1, 2, 0));
    // What has expired is remembered as such.
    assert!(matches!(
        shelf.confirm(1, "a").await.unwrap_err(),
        HoldError::Expired
    ));
    assert_eq!(shelf.release(1, "a").await.unwrap(), Answered::Before);
    let document = db.collection::<Ticket>().get(1).required().await.unwrap();
    assert_eq!(
        (document.settled.len(), document.settled[0].ending),
        (1, Ending::Expired)
    );

    // Somebody who releases too late gives back all the same.
    seconds.store(15, Ordering::SeqCst);
    assert_eq!(shelf.release(1, "b").await.unwrap(), Answered::Now);
    assert_eq!(shelf.stock(1).await.unwrap().available, 2);
    assert!(!shelf.expire(1).await.unwrap());
    seconds.store(30, Ordering::SeqCst);
    log.take();
    assert!(shelf.expire(1).await.unwrap());
    assert_eq!(log.take().len(), 1);
    assert_eq!(shelf.stock(1).await.unwrap().available, 3);
    assert!(shelf.verify().await.unwrap().is_empty());
}

async fn a_sweep_takes_back_everywhere(db: &Db) {
    let (db, log) = db.logged();
    let (db, seconds) = clocked(&db);
    let shelf = title(&db, 9).await;
    let books = db.collection::<Title>();
    let book = books.get(1).required().await.unwrap();
    for id in 2..=5 {
        books.insert(Title { id, ..book.clone() }).await.unwrap();
        shelf.hold(id, "a", "ann", 4, second(id.into())).await.unwrap();
        shelf.hold(id, "b", "ann", 1, second(1)).await.unwrap();
        shelf.take(id, "joe").await.unwrap();
    }
    assert_eq!(shelf.sweep().await.unwrap(), 0);
    seconds.store(3, Ordering::SeqCst);
    log.take();
    assert_eq!(shelf.sweep().await.unwrap(), 4);
    assert_eq!(log.take().len(), 1);
    let left: Vec<i64> = {
        let mut left = Vec::new();
        for id in 1..=5 {
            left.push(shelf.stock(id).await.unwrap().available);
        }
        left
    };
    assert_eq!(left, [9, 8, 8, 4, 4]);
}

async fn without_a_count_of_sold_copies_confirming_lends(db: &Db) {
    let (db, seconds) = clocked(db);
    let shelf = title(&db, 1).await;
    shelf.hold(1, "a", "ann", 1, second(10)).await.unwrap();
    assert_eq!(shelf.confirm(1, "a").await.unwrap(), Answered::Now);
    assert_eq!(shelf.confirm(1, "a").await.unwrap(), Answered::Before);
    assert!(matches!(
        shelf.extend(1, "a", second(9)).await.unwrap_err(),
        HoldError::AlreadyConfirmed
    ));
    seconds.store(100, Ordering::SeqCst);
    assert_eq!(shelf.sweep().await.unwrap(), 0);
    assert_eq!(
        shelf.hold(1, "a", "ann", 1, second(10)).await.unwrap(),
        Answered::Before
    );
    shelf.give_back(1, "ann").await.unwrap();
    assert_eq!(shelf.stock(1).await.unwrap().available, 1);
    // Nothing is remembered here.
    assert!(matches!(
        shelf.confirm(1, "a").await.unwrap_err(),
        HoldError::UnknownHold
    ));
}

async fn a_part_is_confirmed_and_the_rest_comes_back(db: &Db) {
    let (db, seconds) = clocked(db);
    let shelf = ticket(&db, 150).await;
    shelf.hold(1, "a", "ann", 100, second(10)).await.unwrap();
    let more = shelf.confirm_part(1, "a", 101).await.unwrap_err();
    assert!(matches!(more, HoldError::MoreThanHeld { held: 100 }), "{more}");
    let none = Error::from(shelf.confirm_part(1, "a", 0).await.unwrap_err());
    assert_eq!(none.kind(), ErrorKind::InvalidArgument);
    let all = shelf.confirm_part(1, "a", u32::MAX).await.unwrap_err();
    assert!(matches!(all, HoldError::MoreThanHeld { held: 100 }), "{all}");
    assert_eq!(shelf.stock(1).await.unwrap().held, 100);

    assert_eq!(shelf.confirm_part(1, "a", 80).await.unwrap(), Answered::Now);
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held, stock.sold), (70, 0, 80));
    assert_eq!(shelf.confirm_part(1, "a", 80).await.unwrap(), Answered::Before);
    for other in [
        shelf.confirm_part(1, "a", 20).await,
        shelf.confirm(1, "a").await,
        shelf.release(1, "a").await,
    ] {
        assert!(matches!(other, Err(HoldError::AlreadyConfirmed)), "{other:?}");
    }
    // All of a hold is a part as well, and one that is over is none.
    shelf.hold(1, "b", "ann", 1, second(10)).await.unwrap();
    assert_eq!(shelf.confirm_part(1, "b", 1).await.unwrap(), Answered::Now);
    shelf.hold(1, "c", "ann", 5, second(10)).await.unwrap();
    seconds.store(10, Ordering::SeqCst);
    let late = shelf.confirm_part(1, "c", 4).await.unwrap_err();
    assert!(matches!(late, HoldError::Expired), "{late}");
    let unknown = shelf.confirm_part(1, "d", 4).await.unwrap_err();
    assert!(matches!(unknown, HoldError::UnknownHold), "{unknown}");
    shelf.sweep().await.unwrap();
    let stored = db.collection::<Ticket>().get(1).required().await.unwrap();
    let parts: Vec<_> = stored
        .settled
        .iter()
        .map(|end| (end.hold.as_str(), end.quantity))
        .collect();
    assert_eq!(parts, [("a", Some(80)), ("b", Some(1)), ("c", None)]);
    assert!(shelf.verify().await.unwrap().is_empty());
}

async fn a_part_is_lent_and_the_rest_comes_back(db: &Db) {
    let (db, seconds) = clocked(db);
    let shelf = title(&db, 5).await;
    shelf.hold(1, "a", "ann", 4, second(10)).await.unwrap();
    shelf.hold(1, "b", "joe", 1, second(10)).await.unwrap();
    assert_eq!(shelf.confirm_part(1, "a", 3).await.unwrap(), Answered::Now);
    assert_eq!(shelf.confirm_part(1, "a", 3).await.unwrap(), Answered::Before);
    let other = shelf.confirm_part(1, "a", 2).await;
    assert!(matches!(other, Err(HoldError::AlreadyConfirmed)), "{other:?}");
    seconds.store(10, Ordering::SeqCst);
    shelf.sweep().await.unwrap();
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held), (2, 3));
    shelf.give_back(1, "ann").await.unwrap();
    assert_eq!(shelf.stock(1).await.unwrap().available, 5);
}

async fn copies_are_added_and_taken_away(db: &Db) {
    let (db, log) = db.logged();
    let shelf = ticket(&db, 2).await;
    log.take();
    shelf.restock(1, 3).await.unwrap();
    shelf.stock(1).await.unwrap();
    assert_eq!(log.take().len(), 2);
    shelf.hold_for_good(1, "a", "ann", 4).await.unwrap();
    let error = shelf.restock(1, -2).await.unwrap_err();
    assert!(matches!(error, HoldError::SoldOut { available: 1 }), "{error}");
    shelf.restock(1, -1).await.unwrap();
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held, stock.stock), (0, 4, Some(4)));
}

async fn the_last_endings_are_remembered(db: &Db) {
    let (db, _) = clocked(db);
    let shelf = ticket(&db, 9).await.remember(2);
    for hold in ["a", "b", "c"] {
        shelf.hold(1, hold, "ann", 1, second(10)).await.unwrap();
        shelf.confirm(1, hold).await.unwrap();
    }
    assert!(matches!(
        shelf.confirm(1, "a").await.unwrap_err(),
        HoldError::UnknownHold
    ));
    assert_eq!(shelf.confirm(1, "b").await.unwrap(), Answered::Before);
    assert_eq!(shelf.stock(1).await.unwrap().sold, 3);
}

async fn a_lost_reply_is_answered_when_asked_again(db: &Db) {
    let (db, _) = clocked(db);
    ticket(&db, 2).await;
    let (faulty, faults) = db.faulty();
    let shelf = Shelf::<Ticket>::new(&faulty);
    let lost = || Fault::nth_write(1).after(Error::new(ErrorKind::Network, "connection reset"));
    faults.add(lost());
    let error = shelf.hold(1, "a", "ann", 1, second(10)).await.unwrap_err();
    assert_eq!(Error::from(error).kind(), ErrorKind::Network);
    assert_eq!(
        shelf.hold(1, "a", "ann", 1, second(10)).await.unwrap(),
        Answered::Before
    );
    faults.add(lost());
    assert!(shelf.confirm(1, "a").await.is_err());
    assert_eq!(shelf.confirm(1, "a").await.unwrap(), Answered::Before);
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.sold), (1, 1));
}

async fn holds_are_parts_of_transactions(db: &Db) {
    let (db, _) = clocked(db);
    let shelf = ticket(&db, 2).await;
    let outcome: Result<(), Error> = db
        .transaction(async |tx| {
            let shelf = Shelf::<Ticket>::new(&tx);
            shelf.hold(1, "a", "ann", 1, second(10)).await?;
            shelf.hold(1, "b", "ann", 2, second(10)).await?;
            Ok(())
        })
        .await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Validation);
    let source = std::error::Error::source(&error).unwrap();
    assert!(matches!(
        source.downcast_ref(),
        Some(HoldError::SoldOut { available: 1 })
    ));
    assert_eq!(shelf.stock(1).await.unwrap().held, 0);
}

async fn wrong_figures_are_found_and_repaired(db: &Db) {
    let shelf = ticket(db, 4).await;
    shelf.hold_for_good(1, "a", "ann", 3).await.unwrap();
    let raw = db.raw_collection("hold_tickets");
    raw.update_one(doc! {"_id": 1}, doc! {"$set": {"shelf.free": 7}})
        .await
        .unwrap();
    let entry =
        |hold: &str, quantity: i32| doc! {"by": "x", "date": second(0), "hold": hold, "quantity": quantity};
    raw.insert(doc! {
        "_id": 2,
        "shelf": {"free": -1, "out": [entry("h", 2), entry("h", 0)], "sold": 0, "stock": 1},
        "settled": [],
    })
    .await
    .unwrap();
    let kinds = |problems: Vec<odm_patterns::hold::StockProblem>| -> Vec<(i32, StockProblemKind)> {
        problems
            .into_iter()
            .map(|problem| (problem.id.as_i32().unwrap(), problem.kind))
            .collect()
    };
    let expected = [
        (1, StockProblemKind::Unbalanced),
        (2, StockProblemKind::Negative),
        (2, StockProblemKind::DuplicateHold("h".to_owned())),
        (2, StockProblemKind::BadQuantity(0)),
    ];
    assert_eq!(kinds(shelf.verify().await.unwrap()), expected);
    let report = shelf.repair().await.unwrap();
    assert_eq!(report.repaired, [bson::Bson::Int32(1)]);
    assert_eq!(kinds(report.left), expected[1..]);
    assert_eq!(shelf.stock(1).await.unwrap().available, 1);
}

async fn copies_that_the_fields_cannot_count_are_refused(db: &Db) {
    // Clones are the same shelf.
    let shelf = title(db, 2).await.clone();
    for more in [i32::MAX, i32::MAX - 1] {
        let error = shelf.restock(1, more).await.unwrap_err();
        assert!(
            matches!(error, HoldError::DoesNotFit { ref id } if *id == 1.into()),
            "{error}"
        );
    }
    shelf.restock(1, i32::MAX - 2).await.unwrap();
    assert_eq!(
        db.collection::<Title>()
            .get(1)
            .required()
            .await
            .unwrap()
            .available,
        i32::MAX
    );
    let error = Error::from(shelf.restock(1, 1).await.unwrap_err());
    assert_eq!(
        (error.kind(), error.id()),
        (ErrorKind::Validation, Some(&1.into()))
    );
    shelf.restock(1, 0).await.unwrap();
    shelf.restock(1, -i32::MAX).await.unwrap();
    let error = shelf.restock(1, i32::MIN).await.unwrap_err();
    assert!(matches!(error, HoldError::SoldOut { available: 0 }), "{error}");
    // A wider number goes on.
    let wide = doc! { "_id": 5, "title": "", "available": i64::from(i32::MAX), "checkout": [] };
    db.raw_collection("hold_books").insert(wide).await.unwrap();
    shelf.restock(5, 1).await.unwrap();
    assert_eq!(shelf.stock(5).await.unwrap().available, 1 << 31);
}

async fn an_item_that_is_missing_is_named(db: &Db) {
    let shelf = title(db, 2).await;
    let error = shelf.take(9, "joe").await.unwrap_err();
    assert_eq!(error.to_string(), "there is no such item (model: Title, _id: 9)");
    let outcome: odm::Result<()> = db
        .transaction(async |tx| Ok(Shelf::<Title>::new(&tx).take(9, "joe").await?))
        .await;
    let error = outcome.unwrap_err();
    assert_eq!(
        (error.kind(), error.model(), error.id()),
        (ErrorKind::NotFound, Some("Title"), Some(&9.into()))
    );
    drop(shelf);
}

/// With what makes it go out of sale, which deletes it softly.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "hold_withdrawn")]
struct Withdrawn {
    #[serde(rename = "_id")]
    id: i32,
    available: i64,
    checkout: Vec<Checkout>,
    sold: i64,
    stock: i64,
    settled: Vec<Settled>,
    #[odm(soft_delete)]
    gone: Option<DateTime>,
}

impl Stocked for Withdrawn {
    fn inventory(w: WithdrawnFields) -> Inventory<Withdrawn> {
        Inventory::new(&w.available, &w.checkout)
            .sold(&w.sold)
            .stock(&w.stock)
            .settled(&w.settled)
    }
}

/// Nobody gets a copy of an item that was withdrawn; who has one keeps it, or gives it back.
async fn ids_of_holds_are_told_by_their_bytes(db: &Db) {
    let caseless = doc! {"locale": "en", "strength": 2};
    for name in ["hold_books", "hold_tickets"] {
        db.create_collection(name)
            .collation(caseless.clone())
            .await
            .unwrap();
    }
    let end = DateTime::from_millis(4_000_000_000_000);
    let tickets = db.collection::<Ticket>();
    let shelf = Inside {
        free: 9,
        out: vec![],
        sold: 0,
        stock: 9,
    };
    tickets
        .insert(Ticket {
            id: 1,
            shelf,
            settled: vec![],
        })
        .await
        .unwrap();
    let shelf = Shelf::<Ticket>::new(db);
    for (hold, quantity) in [("o1", 1), ("O1", 2), ("q", 3)] {
        assert_eq!(
            shelf.hold(1, hold, "ann", quantity, end).await.unwrap(),
            Answered::Now
        );
        assert_eq!(
            shelf.hold(1, hold, "ann", quantity, end).await.unwrap(),
            Answered::Before
        );
    }
    shelf
        .extend(1, "O1", DateTime::from_millis(4_100_000_000_000))
        .await
        .unwrap();
    assert_eq!(
        tickets.get(1).required().await.unwrap().shelf.out[0].until,
        Some(end)
    );
    assert_eq!(shelf.release(1, "O1").await.unwrap(), Answered::Now);
    assert_eq!(shelf.release(1, "O1").await.unwrap(), Answered::Before);
    assert!(matches!(shelf.confirm(1, "Q").await, Err(HoldError::UnknownHold)));
    assert_eq!(shelf.confirm(1, "o1").await.unwrap(), Answered::Now);
    assert_eq!(shelf.confirm_part(1, "q", 2).await.unwrap(), Answered::Now);
    // The ends of others are not its own.
    assert_eq!(shelf.hold(1, "Q", "ann", 1, end).await.unwrap(), Answered::Now);
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held, stock.sold), (5, 1, 3));
    assert!(shelf.verify().await.unwrap().is_empty());

    let titles = db.collection::<Title>();
    titles
        .insert(Title {
            id: 1,
            title: "Emma".into(),
            available: 4,
            checkout: vec![],
        })
        .await
        .unwrap();
    let shelf = Shelf::<Title>::new(db);
    shelf.take(1, "ann").await.unwrap();
    shelf.take(1, "Ann").await.unwrap();
    assert!(shelf.give_back(1, "ANN").await.is_err());
    shelf.give_back(1, "Ann").await.unwrap();
    assert_eq!(titles.get(1).required().await.unwrap().checkout[0].by, "ann");
    shelf.hold(1, "h", "ann", 2, end).await.unwrap();
    shelf.hold(1, "H", "joe", 1, end).await.unwrap();
    assert_eq!(shelf.confirm_part(1, "h", 1).await.unwrap(), Answered::Now);
    let out = titles.get(1).required().await.unwrap().checkout;
    let out: Vec<_> = out
        .iter()
        .map(|own| (own.by.as_str(), own.until.is_some()))
        .collect();
    assert_eq!(out, [("ann", false), ("ann", false), ("joe", true)]);
}

async fn what_is_held_of_a_deleted_item_comes_to_its_end(db: &Db) {
    let items = db.collection::<Withdrawn>();
    let item = Withdrawn {
        id: 1,
        available: 5,
        checkout: vec![],
        sold: 0,
        stock: 5,
        settled: vec![],
        gone: None,
    };
    items.insert(item).await.unwrap();
    let (now, later) = (DateTime::from_millis(1_000_000), DateTime::from_millis(2_000_000));
    let shelf = Shelf::<Withdrawn>::new(&db.with_clock(move || now));
    for hold in ["kept", "back", "over"] {
        shelf.hold(1, hold, "ann", 1, later).await.unwrap();
    }
    shelf.take(1, "joe").await.unwrap();
    items.delete(1).await.unwrap();

    let no_item = |result: Result<Answered, HoldError>| matches!(result, Err(HoldError::NoItem { .. }));
    assert!(no_item(shelf.hold(1, "new", "ann", 1, later).await));
    assert!(matches!(
        shelf.take(1, "ann").await,
        Err(HoldError::NoItem { .. })
    ));
    assert!(matches!(shelf.restock(1, 1).await, Err(HoldError::NoItem { .. })));
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held), (1, 4));
    // A lost reply is answered as it was.
    let again = shelf.hold(1, "kept", "ann", 1, later).await.unwrap();
    assert_eq!(again, Answered::Before);

    assert_eq!(shelf.confirm(1, "kept").await.unwrap(), Answered::Now);
    assert_eq!(shelf.confirm(1, "kept").await.unwrap(), Answered::Before);
    assert_eq!(shelf.release(1, "back").await.unwrap(), Answered::Now);
    shelf.give_back(1, "joe").await.unwrap();
    let after = DateTime::from_millis(3_000_000);
    let late = Shelf::<Withdrawn>::new(&db.with_clock(move || after));
    assert_eq!(late.sweep().await.unwrap(), 1);
    let stored = items.get(1).with_deleted().await.unwrap().unwrap();
    assert_eq!((stored.available, stored.sold, stored.checkout.len()), (4, 1, 0));
    items
        .update_one(|w| w.id.eq(1), |w| w.available.set(3))
        .with_deleted()
        .await
        .unwrap();
    assert_eq!(shelf.repair().await.unwrap().repaired.len(), 1);
    assert!(shelf.verify().await.unwrap().is_empty());
}
