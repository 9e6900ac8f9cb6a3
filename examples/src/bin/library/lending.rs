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
    // One more than there are copies.
    let queue: Vec<String> = (0..=book.available)
        .map(|n| {
            if n == 0 {
                "joe".to_owned()
            } else {
                format!("guest {n}")
            }
        })
        .collect();
    let mut rows = Vec::new();
    for patron in &queue {
        rows.push(match lend(&books, &book.id, patron).await? {
            Some(book) => vec![
                book.title,
                format!("lent to {patron}"),
                book.available.to_string(),
            ],
            None => vec![
                book.title.clone(),
                format!("nothing left for {patron}"),
                "0".to_owned(),
            ],
        });
    }
    for patron in &queue {
        if let Some(book) = take_back(&books, &book.id, patron).await? {
            rows.push(vec![
                book.title,
                format!("back from {patron}"),
                book.available.to_string(),
            ]);
        }
    }
    show.step("lending", start);
    table("At the desk", &["book", "what happened", "on the shelf"], rows);

    let start = Instant::now();
    let wrong = books.count(|b| b.available.lt(0)).await?;
    show.step("audit", start);
    println!("Books with less than nothing on the shelf: {wrong}\n");
    Ok(())
}

/// Lends a copy, if one is there and the patron has none: condition and change are one atomic step, so that the last
/// copy is never lent twice.
async fn lend(books: &Collection<Book>, book: &str, patron: &str) -> Result<Option<Book>> {
    let loan = Checkout {
        by: patron.to_owned(),
        date: DateTime::now(),
    };
    books
        .find_one_and_update(
            |b| b.id.eq(book) & b.available.gt(0) & b.checkout.any().by.ne(patron),
            |b| b.available.inc(-1) & b.checkout.push(loan),
        )
        .return_new()
        .await
}

/// Takes back the copy that a patron has, if there is one; asking twice changes nothing.
async fn take_back(books: &Collection<Book>, book: &str, patron: &str) -> Result<Option<Book>> {
    books
        .find_one_and_update(
            |b| b.id.eq(book) & b.checkout.any().by.eq(patron),
            |b| b.available.inc(1) & b.checkout.pull_where(|loan| loan.by.eq(patron)),
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
