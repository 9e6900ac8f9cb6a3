//! References and what they refer to.

use std::collections::BTreeMap;

use bson::doc;
use odm::{Db, Embedded, Filter, Id, Ref};
use serde::{Deserialize, Serialize};

use super::library::*;

crate::on_every_backend! {
    a_reference_is_stored_as_the_key,
    filters_take_references_ids_and_documents,
    a_load_gives_each_document_its_target,
    lists_sets_and_maps_keep_their_shape,
    loads_nest,
    both_sides_can_be_projected,
    one_document_is_loaded_too,
    a_stream_loads_batch_by_batch,
    documents_in_memory_are_loaded,
    the_number_of_queries_does_not_grow,
    loads_run_inside_transactions,
    a_target_of_another_shape_names_itself,
    a_join_gives_the_same_in_one_round_trip,
}

fn publisher(name: &str, founded: i32, country: Option<&str>) -> Publisher {
    Publisher {
        id: Id::new(),
        name: name.to_owned(),
        founded,
        country: country.map(|code| Ref::new(code.to_owned())),
        parent: None,
    }
}

/// Three publishers of two countries (one country is not there), three authors, six books.
pub(super) async fn library(db: &Db) -> Vec<Publisher> {
    let countries = ["gb", "fr"].map(|code| Country {
        code: code.to_owned(),
        name: code.to_uppercase(),
    });
    db.collection::<Country>().insert_many(&countries).await.unwrap();
    let mut publishers = vec![
        publisher("Penguin", 1935, Some("gb")),
        publisher("Gallimard", 1911, Some("fr")),
        publisher("Atlantis", 1, Some("at")),
    ];
    publishers[1].parent = Some(Ref::to(&publishers[0]));
    db.collection::<Publisher>()
        .insert_many(&publishers)
        .await
        .unwrap();
    let authors = [1, 2, 3].map(|id| Author {
        id,
        name: format!("author {id}"),
    });
    db.collection::<Author>().insert_many(&authors).await.unwrap();
    let gone = Ref::new(Id::new());
    let mut books = vec![
        Book::new(1, Ref::to(&publishers[0]), &[1]),
        Book::new(2, Ref::to(&publishers[0]), &[2, 1]),
        Book::new(3, Ref::to(&publishers[1]), &[]),
        Book::new(4, Ref::to(&publishers[2]), &[3, 9, 3]),
        Book::new(5, gone, &[9]),
        Book::new(6, Ref::to(&publishers[0]), &[1, 2, 3]),
    ];
    books[0].translators.insert("de".to_owned(), Ref::new(2));
    books[0].translators.insert("fr".to_owned(), Ref::new(9));
    books[0].editors = [3, 1].map(Ref::new).into();
    db.collection::<Book>().insert_many(&books).await.unwrap();
    publishers
}

async fn a_reference_is_stored_as_the_key(db: &Db) {
    let publishers = library(db).await;
    let book = db
        .raw_collection("books")
        .find_one(doc! { "_id": 2 })
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        book.get_object_id("publisher").unwrap(),
        publishers[0].id.object_id()
    );
    assert_eq!(
        book.get_array("authors").unwrap(),
        &bson::bson!([2_i64, 1_i64]).as_array().unwrap().clone()
    );
    let stored = db
        .raw_collection("publishers")
        .find_one(doc! { "name": "Penguin" })
        .await
        .unwrap();
    assert_eq!(stored.unwrap().get_str("country").unwrap(), "gb");
}

#[allow(
    clippy::needless_borrows_for_generic_args,
    reason = "a borrowed reference is one of the operands"
)]
async fn filters_take_references_ids_and_documents(db: &Db) {
    let publishers = library(db).await;
    let books = db.collection::<Book>();
    let penguin = &publishers[0];
    let reference = Ref::to(penguin);
    let count = |filter: Filter<Book>| books.count(|_| filter);
    let b = <Book as odm::Model>::fields;
    assert_eq!(count(b().publisher.eq(penguin)).await.unwrap(), 3);
    assert_eq!(count(b().publisher.eq(penguin.id)).await.unwrap(), 3);
    assert_eq!(count(b().publisher.eq(reference)).await.unwrap(), 3);
    assert_eq!(count(b().publisher.eq(&reference)).await.unwrap(), 3);
    assert_eq!(count(b().publisher.is_in(&publishers)).await.unwrap(), 5);
    assert_eq!(count(b().publisher.ne(penguin)).await.unwrap(), 3);
    assert_eq!(count(b().authors.has(1_i64)).await.unwrap(), 3);
    assert_eq!(
        count(b().authors.has_any([Ref::new(3_i64), Ref::new(9)]))
            .await
            .unwrap(),
        3
    );
    assert_eq!(count(b().translators.key("de").eq(2_i64)).await.unwrap(), 1);
    let all = db.collection::<Publisher>();
    assert_eq!(all.count(|p| p.country.eq("gb")).await.unwrap(), 1);
    assert_eq!(all.count(|p| p.parent.eq(penguin)).await.unwrap(), 1);
    assert_eq!(all.count(|p| p.parent.is_null()).await.unwrap(), 2);
    books
        .update_one(
            |b| b.id.eq(3),
            |b| b.publisher.set(penguin) & b.authors.push(2_i64),
        )
        .await
        .unwrap();
    assert_eq!(
        count(b().publisher.eq(penguin) & b().authors.has(2_i64))
            .await
            .unwrap(),
        3
    );
}

async fn a_load_gives_each_document_its_target(db: &Db) {
    let publishers = library(db).await;
    let books = db.collection::<Book>();
    let found = books
        .find_all()
        .sort(|b| b.id.asc())
        .load(|b| b.publisher)
        .await
        .unwrap();
    let names: Vec<_> = found
        .iter()
        .map(|(book, publisher)| {
            (
                book.id,
                publisher.as_ref().map(|publisher| publisher.name.as_str()),
            )
        })
        .collect();
    let expected = [
        (1, Some("Penguin")),
        (2, Some("Penguin")),
        (3, Some("Gallimard")),
        (4, Some("Atlantis")),
        (5, None),
        (6, Some("Penguin")),
    ];
    assert_eq!(names, expected);
    assert_eq!(found[0].1.as_ref(), Some(&publishers[0]));
    let none = books
        .find(|_| Filter::none())
        .load(|b| b.publisher)
        .await
        .unwrap();
    assert!(none.is_empty());
}

async fn lists_sets_and_maps_keep_their_shape(db: &Db) {
    library(db).await;
    let books = db.collection::<Book>();
    let found = books
        .find_all()
        .sort(|b| b.id.asc())
        .load(|b| b.authors)
        .load(|b| (b.translators, b.editors))
        .await
        .unwrap();
    let ids = |authors: &[Option<Author>]| -> Vec<Option<i64>> {
        authors
            .iter()
            .map(|author| author.as_ref().map(|author| author.id))
            .collect()
    };
    assert_eq!(ids(&found[1].1), [Some(2), Some(1)]);
    assert_eq!(ids(&found[2].1), []);
    assert_eq!(ids(&found[3].1), [Some(3), None, Some(3)]);
    assert_eq!(ids(&found[4].1), [None]);
    let (translators, editors) = &found[0].2;
    let names: BTreeMap<&str, Option<&str>> = translators
        .iter()
        .map(|(language, author)| {
            (
                language.as_str(),
                author.as_ref().map(|author| author.name.as_str()),
            )
        })
        .collect();
    assert_eq!(names, BTreeMap::from([("de", Some("author 2")), ("fr", None)]));
    assert_eq!(ids(editors), [Some(1), Some(3)]);
}

async fn loads_nest(db: &Db) {
    library(db).await;
    let (db, log) = db.logged();
    let books = db.collection::<Book>();
    let found = books
        .find_all()
        .sort(|b| b.id.asc())
        .load(|b| b.publisher.load(|p| (p.country, p.parent.load(|p| p.country))))
        .await
        .unwrap();
    assert_eq!(
        log.count("find"),
        5,
        "books, publishers, countries, parents, their countries"
    );
    let (publisher, (country, parent)) = found[2].1.as_ref().unwrap();
    assert_eq!(
        (publisher.name.as_str(), country.as_ref().unwrap().name.as_str()),
        ("Gallimard", "FR")
    );
    let (parent, country) = parent.as_ref().unwrap();
    assert_eq!(
        (parent.name.as_str(), country.as_ref().unwrap().name.as_str()),
        ("Penguin", "GB")
    );
    let (atlantis, (country, parent)) = found[3].1.as_ref().unwrap();
    assert_eq!(
        (atlantis.name.as_str(), country, parent),
        ("Atlantis", &None, &None)
    );
    assert!(found[4].1.is_none());
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Name {
    name: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
struct Title {
    title: String,
}

async fn both_sides_can_be_projected(db: &Db) {
    library(db).await;
    let books = db.collection::<Book>();
    let found = books
        .find(|b| b.id.eq(3))
        .project::<Title>()
        .load(|b| {
            b.publisher
                .project::<Name>()
                .load(|p| p.country.project::<Name>())
        })
        .await
        .unwrap();
    let (title, publisher) = &found[0];
    assert_eq!(title.title, "book 003");
    let (publisher, country) = publisher.as_ref().unwrap();
    assert_eq!(
        (publisher.name.as_str(), country.as_ref().unwrap().name.as_str()),
        ("Gallimard", "FR")
    );
}

async fn one_document_is_loaded_too(db: &Db) {
    library(db).await;
    let books = db.collection::<Book>();
    let (book, publisher) = books.get(1).load(|b| b.publisher).required().await.unwrap();
    assert_eq!((book.id, publisher.unwrap().name.as_str()), (1, "Penguin"));
    let found = books
        .find_one(|b| b.id.eq(5))
        .load(|b| b.publisher)
        .load(|b| b.authors)
        .await
        .unwrap();
    let (book, publisher, authors) = found.unwrap();
    assert_eq!((book.id, publisher, authors), (5, None, vec![None]));
    assert!(books.get(99).load(|b| b.publisher).await.unwrap().is_none());
    let error = books.get(99).load(|b| b.publisher).required().await.unwrap_err();
    assert!(
        error.is_not_found() && error.id() == Some(&bson::Bson::Int32(99)),
        "{error:?}"
    );
}

async fn a_stream_loads_batch_by_batch(db: &Db) {
    let publishers = library(db).await;
    let books = db.collection::<Book>();
    let many = (100..200).map(|id| Book::new(id, Ref::to(&publishers[id as usize % 2]), &[1]));
    books.insert_many(many.collect::<Vec<_>>()).await.unwrap();
    let (db, log) = db.logged();
    let books = db.collection::<Book>();
    let find = books.find(|b| b.id.gte(100)).sort(|b| b.id.asc()).batch_size(30);
    let mut stream = find.load(|b| b.publisher).stream();
    assert_eq!(log.round_trips(), 0);
    let mut seen = 0;
    while let Some((book, publisher)) = stream.try_next().await.unwrap() {
        assert_eq!(book.id, 100 + seen);
        assert_eq!(publisher.unwrap().id, publishers[seen as usize % 2].id);
        seen += 1;
    }
    assert_eq!(seen, 100);
    let batches = log.count("getMore") + 1;
    assert!(batches >= 2, "{:?}", log.counts());
    let entries = log.entries();
    let loads = entries.iter().filter(|entry| {
        entry.operation == "find"
            && entry
                .namespace
                .as_ref()
                .is_some_and(|at| at.collection == "publishers")
    });
    assert!(loads.count() <= batches);
    let all: Vec<_> = books
        .find_all()
        .load(|b| b.authors)
        .stream()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all.len(), 106);
}

async fn documents_in_memory_are_loaded(db: &Db) {
    library(db).await;
    let books = db
        .collection::<Book>()
        .find_all()
        .sort(|b| b.id.asc())
        .await
        .unwrap();
    let publishers = db.load(&books, |b| b.publisher).await.unwrap();
    assert_eq!(publishers.len(), 6);
    assert_eq!(publishers[2].as_ref().unwrap().name, "Gallimard");
    assert_eq!(publishers[4], None);
    let fresh = [Book::new(77, books[0].publisher, &[3])];
    let loaded = db
        .collection::<Book>()
        .load(&fresh, |b| (b.publisher, b.authors))
        .await
        .unwrap();
    assert_eq!(loaded[0].0.as_ref().unwrap().name, "Penguin");
    assert_eq!(loaded[0].1[0].as_ref().unwrap().id, 3);
    assert!(db.load(&[] as &[Book], |b| b.publisher).await.unwrap().is_empty());
}

async fn the_number_of_queries_does_not_grow(db: &Db) {
    let publishers: Vec<Publisher> = (0..10_000)
        .map(|n| publisher(&format!("p{n}"), n, Some("gb")))
        .collect();
    db.collection::<Publisher>()
        .insert_many(&publishers)
        .await
        .unwrap();
    let books: Vec<Book> = publishers
        .iter()
        .enumerate()
        .map(|(n, publisher)| Book::new(n as i32, Ref::to(publisher), &[]))
        .collect();
    db.collection::<Book>().insert_many(&books).await.unwrap();
    db.collection::<Book>().create_indexes().await.unwrap();
    let (db, log) = db.logged();
    for count in [1, 100, 10_000] {
        let shelf = db.collection::<Book>();
        log.take();
        let found = shelf
            .find(|b| b.id.lt(count))
            .load(|b| b.publisher.load(|p| p.country))
            .await
            .unwrap();
        assert_eq!(found.len(), count as usize);
        assert!(found.iter().all(|(book, publisher)| {
            publisher
                .as_ref()
                .is_some_and(|(publisher, _)| book.publisher.is(publisher))
        }));
        assert_eq!(log.count("find"), 3, "{count} books: {:?}", log.counts());
        let of_publishers = |operation: &str| {
            let entries = log.take();
            let about = entries.iter().filter(|entry| {
                entry.operation == operation
                    && entry
                        .namespace
                        .as_ref()
                        .is_some_and(|at| at.collection == "publishers")
            });
            about.count()
        };
        assert_eq!(of_publishers("getMore"), 0);

        let houses = db.collection::<Publisher>();
        let with_books = houses
            .find(|p| p.founded.lt(count))
            .with(Book::by_publisher())
            .await
            .unwrap();
        assert!(with_books.len() == count as usize && with_books.iter().all(|(_, books)| books.len() == 1));
        assert_eq!(log.count("find"), 2, "{:?}", log.counts());
        log.take();
        let counted = houses
            .find(|p| p.founded.lt(count))
            .with(Book::by_publisher().count())
            .await
            .unwrap();
        assert!(counted.len() == count as usize && counted.iter().all(|(_, books)| *books == 1));
        assert_eq!(
            (log.count("find"), log.count("aggregate")),
            (1, 1),
            "{:?}",
            log.counts()
        );
        log.take();
        // One `$lookup` for each parent takes its time.
        let some = count.min(1_000);
        let first = Book::by_publisher().sort(|b| b.title.asc()).limit(1);
        let limited = houses.find(|p| p.founded.lt(some)).with(first).await.unwrap();
        assert!(limited.len() == some as usize && limited.iter().all(|(_, books)| books.len() == 1));
        assert_eq!(
            log.count("find") + log.count("aggregate"),
            2,
            "{:?}",
            log.counts()
        );
    }
}

async fn loads_run_inside_transactions(db: &Db) {
    library(db).await;
    db.transaction(async |tx| {
        let fresh = publisher("Fresh", 2026, Some("fr"));
        tx.collection::<Publisher>().insert(&fresh).await?;
        let books = tx.collection::<Book>();
        books.insert(Book::new(50, Ref::to(&fresh), &[1])).await?;
        let found = books
            .find(|b| b.id.eq(50))
            .load(|b| b.publisher.load(|p| p.country))
            .load(|b| b.authors)
            .await?;
        let (_, publisher, authors) = &found[0];
        let (publisher, country) = publisher.as_ref().expect("seen inside");
        assert_eq!(
            (publisher.name.as_str(), country.as_ref().unwrap().name.as_str()),
            ("Fresh", "FR")
        );
        assert_eq!(authors.len(), 1);
        let inverse = tx
            .collection::<Publisher>()
            .get(fresh.id)
            .with(Book::by_publisher().limit(3))
            .required()
            .await?;
        assert_eq!(inverse.1.len(), 1);
        assert!(db.collection::<Publisher>().get(fresh.id).await?.is_none());
        Ok(())
    })
    .await
    .unwrap();
}

async fn a_target_of_another_shape_names_itself(db: &Db) {
    let publishers = library(db).await;
    let raw = db.raw_collection("publishers");
    let id = publishers[1].id.object_id();
    raw.update_one(doc! { "_id": id }, doc! { "$set": { "founded": "long ago" } })
        .await
        .unwrap();
    let error = db
        .collection::<Book>()
        .find_all()
        .load(|b| b.publisher)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::Decode);
    assert_eq!(
        (error.model(), error.path()),
        (Some("Publisher"), Some("founded"))
    );
    assert_eq!(error.id(), Some(&bson::Bson::ObjectId(id)));
    assert!(error.namespace().unwrap().ends_with(".publishers"), "{error:?}");
}

async fn a_join_gives_the_same_in_one_round_trip(db: &Db) {
    library(db).await;
    let (db, log) = db.logged();
    let books = db.collection::<Book>();
    let find = books.find(|b| b.id.lte(5)).sort(|b| b.id.desc()).skip(1).limit(3);
    let joined = find
        .clone()
        .join(|b| b.publisher.load(|p| p.country))
        .join(|b| b.authors)
        .join(|b| b.editors)
        .await
        .unwrap();
    assert_eq!(
        (log.count("aggregate"), log.round_trips()),
        (1, 1),
        "{:?}",
        log.counts()
    );
    let loaded = find
        .load(|b| b.publisher.load(|p| p.country))
        .load(|b| b.authors)
        .load(|b| b.editors)
        .await
        .unwrap();
    assert_eq!(joined, loaded);
    assert_eq!(joined[0].0.id, 4);
    let publishers = db.collection::<Publisher>();
    let inverse = || {
        Book::by_publisher()
            .sort(|b| b.id.desc())
            .limit(2)
            .load(|b| b.authors)
    };
    let find = publishers.find_all().sort(|p| p.name.asc());
    let joined = find.clone().join_with(inverse()).await.unwrap();
    let loaded = find.with(inverse()).await.unwrap();
    assert_eq!(joined, loaded);
    let ids: Vec<Vec<i32>> = joined
        .iter()
        .map(|(_, books)| books.iter().map(|(book, _)| book.id).collect())
        .collect();
    assert_eq!(ids, [vec![4], vec![3], vec![6, 2]]);
    let short = books
        .find(|b| b.id.eq(3))
        .project::<Title>()
        .join(|b| b.publisher.project::<Name>())
        .await
        .unwrap();
    assert_eq!(short[0].1.as_ref().unwrap().name, "Gallimard");
}
