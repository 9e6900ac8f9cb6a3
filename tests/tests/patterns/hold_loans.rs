//! Loans that were holds: their ids are remembered when they come back.

use bson::{DateTime, doc};
use odm::{Db, Model};
use odm_patterns::hold::{Answered, Checkout, Ending, HoldError, Inventory, Settled, Shelf, Stocked};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    a_loan_that_came_back_is_not_made_again,
}

/// A library's, which remembers how holds ended.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "loan_books")]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    available: i32,
    checkout: Vec<Checkout>,
    settled: Vec<Settled>,
}

impl Stocked for Book {
    fn inventory(b: BookFields) -> Inventory<Book> {
        Inventory::new(&b.available, &b.checkout).settled(&b.settled)
    }
}

async fn a_loan_that_came_back_is_not_made_again(db: &Db) {
    let db = db.with_clock(|| DateTime::from_millis(1_800_000_000_000));
    let books = db.collection::<Book>();
    let book = Book {
        id: 1,
        available: 2,
        checkout: Vec::new(),
        settled: Vec::new(),
    };
    books.insert(book).await.unwrap();
    let shelf: Shelf<Book> = Shelf::new(&db);
    let until = DateTime::from_millis(1_800_000_060_000);
    assert_eq!(shelf.hold(1, "h1", "ann", 1, until).await.unwrap(), Answered::Now);
    assert_eq!(shelf.confirm(1, "h1").await.unwrap(), Answered::Now);
    shelf.hold_for_good(1, "h2", "joe", 1).await.unwrap();
    shelf.give_back(1, "ann").await.unwrap();
    shelf.give_back(1, "joe").await.unwrap();
    // What is sent again takes nothing.
    for hold in ["h1", "h2"] {
        let by = if hold == "h1" { "ann" } else { "joe" };
        for again in [
            shelf.hold(1, hold, by, 1, until).await,
            shelf.hold_for_good(1, hold, by, 1).await,
            shelf.confirm(1, hold).await,
        ] {
            assert!(matches!(again.unwrap_err(), HoldError::AlreadyReleased));
        }
        assert_eq!(shelf.release(1, hold).await.unwrap(), Answered::Before);
    }
    let stock = shelf.stock(1).await.unwrap();
    assert_eq!((stock.available, stock.held), (2, 0));
    let book = books.get(1).required().await.unwrap();
    let ends: Vec<_> = book
        .settled
        .iter()
        .map(|end| (end.hold.as_str(), end.ending))
        .collect();
    assert_eq!(ends, [("h1", Ending::Released), ("h2", Ending::Released)]);
    // What was taken without an id leaves nothing.
    shelf.take(1, "eve").await.unwrap();
    shelf.give_back(1, "eve").await.unwrap();
    assert_eq!(books.get(1).required().await.unwrap().settled.len(), 2);
    let stored = db
        .raw_collection("loan_books")
        .find_one(doc! { "_id": 1 })
        .await
        .unwrap();
    assert_eq!(stored.unwrap().get_i32("available").ok(), Some(2));
}
