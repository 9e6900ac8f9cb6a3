//! Declared indexes.

use std::collections::BTreeMap;

use odm::bson::rawdoc;
use odm::{Embedded, Filter, Model};
use serde::{Deserialize, Serialize};

use super::specs;

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Author {
    #[serde(rename = "fullName")]
    name: String,
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(
    index(keys(title, desc(author.name)), unique),
    index(keys(text(summary)), name = "words"),
    index(keys(hashed(isbn))),
    index(keys(authors.any().name), sparse),
    index(keys(titles.key("en"))),
    index(keys(available), partial = |b| b.available.gt(0)),
    index(keys(isbn), name = "again", partial = in_stock),
    index(keys(seen), expire_after = "1w"),
)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index)]
    title: String,
    #[odm(unique)]
    isbn: String,
    #[odm(index(desc, sparse, name = "by_summary"))]
    summary: String,
    available: i32,
    author: Author,
    authors: Vec<Author>,
    titles: BTreeMap<String, String>,
    #[odm(index(expire_after = 3600))]
    created: odm::bson::DateTime,
    #[serde(rename = "lastSeen")]
    seen: Option<odm::bson::DateTime>,
}

fn in_stock(b: BookFields) -> Filter<Book> {
    b.available.gt(0) & b.title.exists()
}

#[test]
fn declared_indexes_use_stored_names() {
    let expected = [
        rawdoc! { "key": { "title": 1 }, "name": "title_1" },
        rawdoc! { "key": { "isbn": 1 }, "name": "isbn_1", "unique": true },
        rawdoc! { "key": { "summary": -1 }, "name": "by_summary", "sparse": true },
        rawdoc! { "key": { "created": 1 }, "name": "created_1", "expireAfterSeconds": 3600_i64 },
        rawdoc! {
            "key": { "title": 1, "author.fullName": -1 },
            "name": "title_1_author.fullName_-1",
            "unique": true,
        },
        rawdoc! { "key": { "summary": "text" }, "name": "words" },
        rawdoc! { "key": { "isbn": "hashed" }, "name": "isbn_hashed" },
        rawdoc! { "key": { "authors.fullName": 1 }, "name": "authors.fullName_1", "sparse": true },
        rawdoc! { "key": { "titles.en": 1 }, "name": "titles.en_1" },
        rawdoc! {
            "key": { "available": 1 },
            "name": "available_1",
            "partialFilterExpression": { "available": { "$gt": 0 } },
        },
        rawdoc! {
            "key": { "isbn": 1 },
            "name": "again",
            "partialFilterExpression": { "available": { "$gt": 0 }, "title": { "$exists": true } },
        },
        rawdoc! { "key": { "lastSeen": 1 }, "name": "lastSeen_1", "expireAfterSeconds": 604_800_i64 },
    ];
    assert_eq!(specs::<Book>(), expected);
}

#[derive(Debug, Serialize, Deserialize, Model)]
#[odm(index(keys(authors.at(0).name)))]
struct ByPosition {
    _id: i32,
    authors: Vec<Author>,
}

#[test]
fn elements_of_elements_cannot_be_indexed() {
    #[derive(Debug, Serialize, Deserialize, Model)]
    #[odm(index(keys(rows.any().any())), index(keys(rows.any().at(1))), index(keys(rows.any())))]
    struct Grid {
        _id: i32,
        rows: Vec<Vec<i32>>,
    }
    for index in &(Grid::DESCRIPTOR.indexes)()[..2] {
        let error = index.to_spec().unwrap_err();
        assert_eq!(error.kind(), odm::ErrorKind::Schema);
        assert!(error.to_string().contains("elements of arrays"), "{error}");
    }
    let outer = (Grid::DESCRIPTOR.indexes)()[2].to_spec().unwrap();
    assert_eq!(outer, rawdoc! { "key": { "rows": 1 }, "name": "rows_1" });
}

#[test]
fn positions_of_updates_cannot_be_indexed() {
    #[derive(Debug, Serialize, Deserialize, Model)]
    #[odm(index(keys(authors.each().name)))]
    struct Each {
        _id: i32,
        authors: Vec<Author>,
    }
    let error = (Each::DESCRIPTOR.indexes)()[0].to_spec().unwrap_err();
    assert_eq!(error.kind(), odm::ErrorKind::Schema);
    assert_eq!(
        specs::<ByPosition>()[0].get_str("name").unwrap(),
        "authors.0.fullName_1"
    );
}
