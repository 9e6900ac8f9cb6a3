//! **Problem.** A publisher has thousands of books, of which more come every year. A book is shown with its publisher's
//! name; a publisher's page lists the newest books and says how many there are.
//!
//! **Stored shape.** `books: {_id, title, year, publisher: ObjectId}`, `publishers: {_id, name, founded}`, with an index on
//! `{publisher: 1, year: -1}`
//!
//! **Why.** A list of books in the publisher would grow without end, and a publisher in each book would be stored a
//! thousand times. The reference stands on the side of the many. One query for each relation, however many books are
//! shown, makes up for what a join would do; the index gives a publisher's newest without reading the others.

use odm::{Db, Id, Model, Ref, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "publishers", referred_by(Book))]
struct Publisher {
    #[serde(rename = "_id")]
    id: Id<Publisher>,
    name: String,
    founded: i32,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(collection = "published_books", index(keys(publisher, desc(year))))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    year: i32,
    #[odm(inverse = by_publisher, on_delete = deny)]
    publisher: Ref<Publisher>,
}

pub async fn story(db: &Db) -> Result<String> {
    let (publishers, books) = (db.collection::<Publisher>(), db.collection::<Book>());
    books.delete_many(|_| odm::Filter::all()).await?;
    publishers.delete_many(|_| odm::Filter::all()).await?;
    books.create_indexes().await?;

    let house = |name: &str, founded| Publisher {
        id: Id::new(),
        name: name.to_owned(),
        founded,
    };
    let houses = [house("O'Reilly Media", 1980), house("Penguin", 1935)];
    publishers.insert_many(&houses).await?;
    let book = |id: i32| Book {
        id,
        title: format!("Volume {id}"),
        year: 1990 + id % 30,
        publisher: Ref::to(&houses[(id % 2) as usize]),
    };
    books.insert_many((0..200).map(book)).await?;

    // A page of books with their publishers: two round trips, whatever the size of the page.
    let (watched, log) = db.logged();
    let page = watched
        .collection::<Book>()
        .find_all()
        .sort(|b| b.id.asc())
        .page(50)
        .load(|b| b.publisher)
        .await?;
    assert_eq!(
        (page.items.len(), page.has_more, log.round_trips()),
        (50, true, 2)
    );
    let (book, publisher) = &page.items[1];
    assert_eq!(
        publisher.as_ref().map(|publisher| publisher.name.as_str()),
        Some("Penguin")
    );
    assert_eq!(book.id, 1);

    // The publisher's page: the newest three, and how many there are in all.
    let shown = publishers
        .find(|p| p.founded.lt(1950))
        .with(Book::by_publisher().sort(|b| b.year.desc() & b.id.asc()).limit(3))
        .with(Book::by_publisher().count())
        .await?;
    let (penguin, newest, count) = &shown[0];
    assert!(newest.iter().all(|book| book.year == 2019));
    assert_eq!((newest.len(), *count), (3, 100));

    // A publisher that still has books stays.
    assert!(publishers.delete(penguin.id).await.is_err());
    Ok(format!(
        "{} has {count} books, the newest of {}",
        penguin.name, newest[0].year
    ))
}
