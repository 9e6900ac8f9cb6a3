//! Patrons and loans: one conditional update lends a copy, so that the last one is never lent twice.

use std::time::Instant;

use bson::DateTime;
use odm::{Collection, Db, Result};

use crate::models::{Address, Book, Checkout, Patron};
use crate::show::{Show, table};

/// Lends and takes back.
pub async fn tour(db: &Db, show: &mut Show) -> Result<()> {
    let start = Instant::now();
    let patrons = db.collection::<Patron>();
    patrons.save(joe()).await?;
    let in_massachusetts = patrons.find(|p| p.addresses.any().state.eq("MA")).await?;
    show.step("patrons", start);
    table(
        "Patrons in Massachusetts",
        &["name", "addresses"],
        in_massachusetts.iter().map(|p| {
            let cities: Vec<String> = p
                .addresses
                .iter()
                .map(|a| format!("{}, {}", a.street, a.city))
                .collect();
            vec![p.name.clone(), cities.join("; ")]
        }),
    );

    let start = Instant::now();
    let books = db.collection::<Book>();
    let Some(book) = books
        .find(|b| b.available.gt(0))
        .sort(|b| b.title.asc())
        .first()
        .await?
    else {
        println!("Every copy is out; come back later.\n");
        return Ok(());
    };
    let mut rows = Vec::new();
    // Once more than there are copies.
    for _ in 0..=book.available {
        let lent = lend(&books, &book.id, "joe").await?;
        rows.push(match lent {
            Some(book) => vec![book.title, "lent to joe".to_owned(), book.available.to_string()],
            None => vec![
                book.title.clone(),
                "nothing left to lend".to_owned(),
                "0".to_owned(),
            ],
        });
    }
    while let Some(book) = take_back(&books, &book.id, "joe").await? {
        rows.push(vec![
            book.title,
            "taken back".to_owned(),
            book.available.to_string(),
        ]);
    }
    show.step("lending", start);
    table("At the desk", &["book", "what happened", "on the shelf"], rows);

    let start = Instant::now();
    let wrong: u64 = books.count(|b| b.available.lt(0)).await?;
    show.step("audit", start);
    println!("Books with less than nothing on the shelf: {wrong}\n");
    Ok(())
}

/// Lends a copy if one is there: condition and change are one atomic step.
async fn lend(books: &Collection<Book>, book: &str, patron: &str) -> Result<Option<Book>> {
    let loan = Checkout {
        by: patron.to_owned(),
        date: DateTime::now(),
    };
    books
        .find_one_and_update(
            |b| b.id.eq(book) & b.available.gt(0),
            |b| b.available.inc(-1) & b.checkout.push(loan),
        )
        .return_new()
        .await
}

/// Takes back the copies that a patron has, one at a time.
async fn take_back(books: &Collection<Book>, book: &str, patron: &str) -> Result<Option<Book>> {
    let Some(held) = books
        .find_one(|b| b.id.eq(book) & b.checkout.any().by.eq(patron))
        .await?
    else {
        return Ok(None);
    };
    let Some(loan) = held.checkout.into_iter().find(|loan| loan.by == patron) else {
        return Ok(None);
    };
    books
        .find_one_and_update(
            |b| b.id.eq(book) & b.checkout.elem_match(|c| c.by.eq(patron) & c.date.eq(loan.date)),
            |b| b.available.inc(1) & b.checkout.pull(loan.clone()),
        )
        .return_new()
        .await
}

/// The patron of the MongoDB manual's example.
fn joe() -> Patron {
    let address = |street: &str, city: &str, zip: &str| Address {
        street: street.to_owned(),
        city: city.to_owned(),
        state: "MA".to_owned(),
        zip: zip.to_owned(),
    };
    Patron {
        id: "joe".to_owned(),
        name: "Joe Bookreader".to_owned(),
        addresses: vec![
            address("123 Fake Street", "Faketon", "12345"),
            address("1 Some Other Street", "Boston", "12345"),
        ],
    }
}
