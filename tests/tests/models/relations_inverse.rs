//! What refers to a document, and references of other kinds.

use std::collections::BTreeMap;

use bson::oid::ObjectId;
use bson::{Bson, doc};
use odm::{Db, DbRef, Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

use super::library::*;
use super::relations::library;

crate::on_every_backend! {
    a_declared_inverse_loads_what_refers,
    an_inverse_of_a_list_is_many_to_many,
    an_inverse_is_filtered_sorted_and_limited_for_each,
    has_one_gives_an_option,
    embedded_references_are_loaded_through_their_paths,
    a_dbref_has_its_fields_in_order_and_is_read_in_any,
    numbers_of_other_types_are_the_same_key,
    other_collections_of_a_model_can_be_reached,
    lookups_enter_arrays_inside_arrays,
    the_fields_of_a_dbref_stand_in_expressions,
}

async fn a_declared_inverse_loads_what_refers(db: &Db) {
    library(db).await;
    let publishers = db.collection::<Publisher>();
    let found = publishers
        .find_all()
        .sort(|p| p.name.asc())
        .with(Book::by_publisher().sort(|b| b.id.desc()))
        .with(Publisher::by_parent())
        .await
        .unwrap();
    let books: Vec<(&str, Vec<i32>, usize)> = found
        .iter()
        .map(|(publisher, books, children)| {
            (
                publisher.name.as_str(),
                books.iter().map(|book| book.id).collect(),
                children.len(),
            )
        })
        .collect();
    let expected = [
        ("Atlantis", vec![4], 0),
        ("Gallimard", vec![3], 0),
        ("Penguin", vec![6, 2, 1], 1),
    ];
    assert_eq!(books, expected);
}

async fn an_inverse_of_a_list_is_many_to_many(db: &Db) {
    library(db).await;
    let authors = db.collection::<Author>();
    let found = authors
        .find_all()
        .sort(|a| a.id.asc())
        .with(Book::by_author().sort(|b| b.id.asc()))
        .with(Book::by_author().count())
        .await
        .unwrap();
    let books: Vec<(i64, Vec<i32>, u64)> = found
        .iter()
        .map(|(author, books, count)| (author.id, books.iter().map(|book| book.id).collect(), *count))
        .collect();
    // Book 4 refers to author 3 twice and is one book.
    assert_eq!(
        books,
        [(1, vec![1, 2, 6], 3), (2, vec![2, 6], 2), (3, vec![4, 6], 2)]
    );
    let last = Book::by_author().sort(|b| b.id.desc()).limit(1);
    let found = authors.find_all().sort(|a| a.id.asc()).with(last).await.unwrap();
    let last: Vec<i32> = found.iter().map(|(_, books)| books[0].id).collect();
    assert_eq!(last, [6, 6, 6]);
}

async fn an_inverse_is_filtered_sorted_and_limited_for_each(db: &Db) {
    let hosts: Vec<Host> = (0..4)
        .map(|n| Host {
            id: ObjectId::new(),
            name: format!("host {n}"),
        })
        .collect();
    db.collection::<Host>().insert_many(&hosts).await.unwrap();
    let messages = db.collection::<Message>();
    messages.create_indexes().await.unwrap();
    // Host n has 10 n messages, interleaved with those of the others.
    let mut all = Vec::new();
    for at in 0..30 {
        for (n, host) in hosts.iter().enumerate() {
            if at < n as i64 * 10 {
                all.push(Message {
                    id: at * 10 + n as i64,
                    host: Ref::to(host),
                    at,
                    level: (at % 3) as i32,
                    text: format!("{n} says {at}"),
                });
            }
        }
    }
    messages.insert_many(&all).await.unwrap();
    let (db, log) = db.logged();
    let last = || Message::by_host().sort(|m| m.at.desc());
    let found = db
        .collection::<Host>()
        .find_all()
        .sort(|h| h.name.asc())
        .with(last().limit(5))
        .with(last().skip(2).limit(2).filter(|m| m.level.eq(0)))
        .with(last().filter(|m| m.level.eq(1)).filter(|m| m.at.lt(5)))
        .with(Message::by_host().filter(|m| m.level.gt(0)).count())
        .with(last().first())
        .await
        .unwrap();
    assert_eq!(log.round_trips(), 6, "{:?}", log.counts());
    let at = |messages: &[Message]| -> Vec<i64> { messages.iter().map(|message| message.at).collect() };
    let (_, five, paged, low, count, newest) = &found[0];
    assert!(five.is_empty() && paged.is_empty() && low.is_empty() && *count == 0 && newest.is_none());
    let (host, five, paged, low, count, newest) = &found[2];
    assert_eq!(host, &hosts[2]);
    assert_eq!(at(five), [19, 18, 17, 16, 15]);
    assert_eq!(at(paged), [12, 9], "18 and 15 are passed over");
    assert_eq!(at(low), [4, 1]);
    assert_eq!((*count, newest.as_ref().unwrap().at), (13, 19));
    let (_, five, ..) = &found[3];
    assert_eq!(at(five), [29, 28, 27, 26, 25]);
    let error = db
        .collection::<Host>()
        .find_all()
        .with(last().limit(3).count())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::InvalidArgument);
}

async fn has_one_gives_an_option(db: &Db) {
    let patrons = [1, 2].map(|id| Patron {
        id,
        name: format!("patron {id}"),
    });
    db.collection::<Patron>().insert_many(&patrons).await.unwrap();
    let card = Card {
        patron: Ref::new(2),
        number: "A7".to_owned(),
    };
    db.collection::<Card>().insert(&card).await.unwrap();
    let found = db
        .collection::<Patron>()
        .find_all()
        .sort(|p| p.id.asc())
        .with(Card::of_patron())
        .await
        .unwrap();
    let cards: Vec<Option<&Card>> = found.iter().map(|(_, card)| card.as_ref()).collect();
    assert_eq!(cards, [None, Some(&card)]);
    let (_, patron) = db
        .collection::<Card>()
        .get(Ref::new(2))
        .load(|c| c.patron)
        .required()
        .await
        .unwrap();
    assert_eq!(patron, Some(patrons[1].clone()));
}

fn line(book: &str, gift_of: Option<Ref<Publisher>>) -> Line {
    Line {
        book: Ref::keyed(book.to_owned()),
        gift_of,
        days: 7,
    }
}

async fn embedded_references_are_loaded_through_their_paths(db: &Db) {
    let publishers = library(db).await;
    let gift = Some(Ref::to(&publishers[1]));
    let loans = db.collection::<Loan>();
    let full = Loan {
        id: 1,
        first: line("isbn-1", gift),
        spare: Some(line("isbn-2", None)),
        lines: vec![line("isbn-3", None), line("isbn-99", gift), line("isbn-1", None)],
        shelves: BTreeMap::from([
            ("a".to_owned(), line("isbn-4", gift)),
            ("b".to_owned(), line("no", None)),
        ]),
    };
    let bare = Loan {
        id: 2,
        first: line("isbn-2", None),
        spare: None,
        lines: Vec::new(),
        shelves: BTreeMap::new(),
    };
    loans.insert_many([&full, &bare]).await.unwrap();
    let (db, log) = db.logged();
    let loans = db.collection::<Loan>();
    let found = loans
        .find_all()
        .sort(|l| l.id.asc())
        .load(|l| (l.first.book, l.first.gift_of))
        .load(|l| l.spare.book)
        .load(|l| {
            l.lines
                .every(|line| (line.book.load(|b| b.authors), line.gift_of))
        })
        .load(|l| l.shelves.values(|line| line.book))
        .await
        .unwrap();
    // Loans; two of the first tuple; the spare; books, authors and publishers of the lines; the shelves.
    assert_eq!(log.round_trips(), 8, "{:?}", log.counts());
    let (_, (book, publisher), spare, lines, shelves) = &found[0];
    assert_eq!(book.as_ref().unwrap().id, 1);
    assert_eq!(publisher.as_ref().unwrap().name, "Gallimard");
    assert_eq!(spare.as_ref().unwrap().id, 2);
    let of_lines: Vec<(Option<i32>, bool)> = lines
        .iter()
        .map(|(book, gift)| (book.as_ref().map(|(book, _)| book.id), gift.is_some()))
        .collect();
    assert_eq!(of_lines, [(Some(3), false), (None, true), (Some(1), false)]);
    assert_eq!(lines[2].0.as_ref().unwrap().1.len(), 1);
    let shelves: Vec<(&str, Option<i32>)> = shelves
        .iter()
        .map(|(name, book)| (name.as_str(), book.as_ref().map(|book| book.id)))
        .collect();
    assert_eq!(shelves, [("a", Some(4)), ("b", None)]);
    let (_, _, spare, lines, shelves) = &found[1];
    assert!(spare.is_none() && lines.is_empty() && shelves.is_empty());

    let joined = loans
        .find_all()
        .sort(|l| l.id.asc())
        .join(|l| l.lines.every(|line| line.book))
        .await
        .unwrap();
    let ids: Vec<Option<i32>> = joined[0]
        .1
        .iter()
        .map(|book| book.as_ref().map(|book| book.id))
        .collect();
    assert_eq!(ids, [Some(3), None, Some(1)]);

    let books = db.collection::<Book>();
    let lent = books
        .find(|b| b.id.lte(3))
        .sort(|b| b.id.asc())
        .with(Loan::fields().lines.any().book.inverse())
        .await;
    let lent: Vec<(i32, usize)> = lent
        .unwrap()
        .iter()
        .map(|(book, loans)| (book.id, loans.len()))
        .collect();
    assert_eq!(lent, [(1, 1), (2, 0), (3, 1)]);
    let count = Loan::fields().lines.any().book.inverse().count();
    let lent = books
        .find(|b| b.id.lte(3))
        .sort(|b| b.id.asc())
        .with(count)
        .await
        .unwrap();
    assert_eq!(
        lent.iter().map(|(_, count)| *count).collect::<Vec<_>>(),
        [1, 0, 1]
    );

    let error = loans.find_all().load(|l| l.lines.any().book).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.path()),
        (odm::ErrorKind::InvalidArgument, Some("lines.book"))
    );
}

async fn a_dbref_has_its_fields_in_order_and_is_read_in_any(db: &Db) {
    let publishers = library(db).await;
    let books = db
        .collection::<Book>()
        .find_all()
        .sort(|b| b.id.asc())
        .await
        .unwrap();
    let copies = db.collection::<Copy>();
    let patron = Patron {
        id: 5,
        name: "Ada".to_owned(),
    };
    db.collection::<Patron>().insert(&patron).await.unwrap();
    let archive = db.database(&format!("{}_archive", db.name())).unwrap();
    archive
        .raw_collection("things")
        .insert(doc! { "_id": "t", "what": "lamp" })
        .await
        .unwrap();
    let thing = DbRef::new("things", Bson::from("t")).in_database(archive.name());
    let mine = Copy {
        id: 1,
        owner: Owner::Patron(Ref::to(&patron)),
        past: vec![
            Owner::Publisher(Ref::to(&publishers[1])),
            Owner::Patron(Ref::new(404)),
        ],
        book: DbRef::to(&books[2]),
        thing: Some(thing),
    };
    let other = Copy {
        id: 2,
        owner: Owner::Publisher(Ref::to(&publishers[0])),
        past: Vec::new(),
        book: DbRef::new("books", 404),
        thing: None,
    };
    copies.insert_many([&mine, &other]).await.unwrap();
    let raw = db
        .raw_collection("copies")
        .find_one(doc! { "_id": 1 })
        .await
        .unwrap()
        .unwrap();
    let names = |name: &str| -> Vec<String> { raw.get_document(name).unwrap().keys().cloned().collect() };
    assert_eq!(names("owner"), ["$ref", "$id"]);
    assert_eq!(names("thing"), ["$ref", "$id", "$db"]);
    assert_eq!(
        raw.get_document("owner").unwrap(),
        &doc! { "$ref": "patrons", "$id": 5 }
    );
    assert_eq!(copies.get(1).await.unwrap(), Some(mine.clone()));

    let found = copies
        .find_all()
        .sort(|c| c.id.asc())
        .load(|c| c.owner)
        .load(|c| c.past)
        .load(|c| c.book.load(|b| b.publisher))
        .load(|c| c.thing)
        .await
        .unwrap();
    let (_, owner, past, book, thing) = &found[0];
    assert!(matches!(owner, Some(OwnerDocument::Patron(owner)) if *owner == patron));
    assert!(matches!(&past[..], [Some(OwnerDocument::Publisher(one)), None] if one.name == "Gallimard"));
    let (book, publisher) = book.as_ref().unwrap();
    assert_eq!(
        (book.id, publisher.as_ref().unwrap().name.as_str()),
        (3, "Gallimard")
    );
    assert_eq!(thing.as_ref().unwrap().get_str("what").unwrap(), "lamp");
    let (_, owner, past, book, thing) = &found[1];
    assert!(matches!(owner, Some(OwnerDocument::Publisher(_))));
    assert!(past.is_empty() && book.is_none() && thing.is_none());

    let owned = db
        .collection::<Patron>()
        .get(5)
        .with(Copy::by_owner())
        .with(Copy::by_owner().count())
        .required()
        .await;
    let (_, owned, count) = owned.unwrap();
    assert_eq!((owned.len(), owned[0].id, count), (1, 1, 1));
    let limited = db
        .collection::<Publisher>()
        .find_all()
        .sort(|p| p.name.desc())
        .with(Copy::by_owner().limit(4))
        .await;
    assert_eq!(limited.unwrap()[0].1.len(), 1);
    assert_eq!(
        copies
            .count(|c| c.owner.eq(Owner::Patron(Ref::new(5))))
            .await
            .unwrap(),
        1
    );
    archive.drop().await.unwrap();

    let mixed = doc! { "note": "x", "$db": "d", "$id": 7, "more": 1, "$ref": "books" };
    let read: DbRef = bson::deserialize_from_document(mixed).unwrap();
    assert_eq!(
        (read.collection(), read.id(), read.database()),
        ("books", &Bson::Int32(7), Some("d"))
    );
    let written = bson::serialize_to_document(&read).unwrap();
    assert_eq!(
        written.keys().map(String::as_str).collect::<Vec<_>>(),
        ["$ref", "$id", "$db", "note", "more"]
    );
    assert!(bson::deserialize_from_document::<DbRef>(doc! { "$ref": "books" }).is_err());
}

async fn numbers_of_other_types_are_the_same_key(db: &Db) {
    let raw = db.raw_collection("books");
    library(db).await;
    raw.update_one(doc! { "_id": 1 }, doc! { "$set": { "authors": [1, 2.0] } })
        .await
        .unwrap();
    let found = db.collection::<Book>().get(1).untyped().await.unwrap().unwrap();
    assert_eq!(
        found.get_array("authors").unwrap(),
        &vec![Bson::Int32(1), Bson::Double(2.0)]
    );
    #[derive(Debug, Serialize, Deserialize, Embedded)]
    struct Title {
        title: String,
    }
    let found = db
        .collection::<Book>()
        .find(|b| b.id.eq(1))
        .project::<Title>()
        .load(|b| b.authors)
        .await
        .unwrap();
    assert!(found[0].1.iter().all(Option::is_some), "{found:?}");
    let found = db
        .collection::<Author>()
        .find(|a| a.id.lte(2))
        .with(Book::by_author().project::<Title>())
        .await;
    let count: Vec<usize> = found.unwrap().iter().map(|(_, books)| books.len()).collect();
    assert_eq!(count, [3, 3]);
}

async fn other_collections_of_a_model_can_be_reached(db: &Db) {
    let publishers = library(db).await;
    let old = db.collection_named::<Book>("books_1900");
    old.insert(Book::new(1, Ref::to(&publishers[0]), &[1]))
        .await
        .unwrap();
    let found = db
        .collection::<Publisher>()
        .get(publishers[0].id)
        .with(Book::by_publisher().from_collection("books_1900"))
        .required()
        .await
        .unwrap();
    assert_eq!(found.1.len(), 1);
    let moved = db.collection_named::<Publisher>("houses");
    moved.insert(&publishers[1]).await.unwrap();
    let (_, house) = db
        .collection::<Book>()
        .get(3)
        .load(|b| b.publisher.from_collection("houses"))
        .required()
        .await
        .unwrap();
    assert_eq!(house.as_ref(), Some(&publishers[1]));
    // The parents' own collection is where a limited inverse starts.
    let (_, books) = moved
        .get(publishers[1].id)
        .with(Book::by_publisher().limit(2))
        .required()
        .await
        .unwrap();
    assert_eq!(books.len(), 1);
}

async fn lookups_enter_arrays_inside_arrays(db: &Db) {
    let raw = db.raw_collection("parents");
    raw.insert_many([
        doc! { "_id": 1, "j": [{ "r": [1, 2] }, { "r": [2, 3] }, { "r": 4 }, { "x": 1 }] },
        doc! { "_id": 2, "j": [{ "r": [] }] },
        doc! { "_id": 3, "n": [[1, 2], [3]] },
    ])
    .await
    .unwrap();
    let children = db.raw_collection("children");
    children
        .insert_many((0..6).map(|id| doc! { "_id": id }))
        .await
        .unwrap();
    children
        .insert_many([doc! { "_id": "n", "f": [[1, 2]] }, doc! { "_id": Bson::Null }])
        .await
        .unwrap();
    let lookup = |local: &str, foreign: &str| {
        raw.aggregate_raw([
            doc! { "$lookup": { "from": "children", "localField": local, "foreignField": foreign, "as": "z" } },
            doc! { "$unwind": "$z" },
            doc! { "$sort": { "_id": 1, "z._id": 1 } },
            doc! { "$group": { "_id": "$_id", "z": { "$push": "$z._id" } } },
            doc! { "$sort": { "_id": 1 } },
        ])
    };
    let nested = lookup("j.r", "_id").await.unwrap();
    let expected = [
        doc! { "_id": 1, "z": [1, 2, 3, 4] },
        doc! { "_id": 2, "z": [Bson::Null] },
        doc! { "_id": 3, "z": [Bson::Null] },
    ];
    assert_eq!(nested, expected);
    let arrays = lookup("n", "f").await.unwrap();
    assert_eq!(arrays.last(), Some(&doc! { "_id": 3, "z": ["n"] }));
}

async fn the_fields_of_a_dbref_stand_in_expressions(db: &Db) {
    let raw = db.raw_collection("holders");
    raw.insert(doc! { "_id": 1, "o": { "$ref": "b", "$id": 5, "$db": "d" } })
        .await
        .unwrap();
    let found = raw
        .aggregate_raw([
            doc! { "$match": { "o.$id": { "$in": [5] }, "o.$ref": "b" } },
            doc! { "$project": { "id": "$o.$id", "in": ["$o.$ref", "$o.$db"] } },
        ])
        .await
        .unwrap();
    assert_eq!(found, [doc! { "_id": 1, "id": 5, "in": ["b", "d"] }]);
    let error = raw
        .aggregate_raw([doc! { "$project": { "id": "$o.$x" } }])
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(16410));
}
