//! What the cases of searches search.

use bson::{Document, doc};
use odm::{Db, Embedded, Model};
use odm_patterns::search::{Analyzer, Hit, Keywords, Language, Query, Scheme, Search, Searchable};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "books")]
pub(crate) struct Book {
    #[serde(rename = "_id")]
    pub(crate) id: i32,
    pub(crate) title: String,
    #[serde(rename = "content")]
    pub(crate) text: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) chapters: Vec<Chapter>,
    pub(crate) shelf: String,
    pub(crate) keywords: Keywords<Book>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub(crate) struct Chapter {
    pub(crate) heading: String,
}

impl Searchable for Book {
    fn scheme(b: BookFields) -> Scheme<Book> {
        Scheme::new(b.keywords, Analyzer::of(Language::English))
            .weighted(b.title, 3.0)
            .text(b.text)
            .list(b.tags, 2.0)
            .path("chapters.heading", 1.0)
            .max_terms(500)
    }
}

/// A book of this title and text.
pub(crate) fn book(id: i32, title: &str, text: &str) -> Book {
    Book {
        id,
        title: title.to_owned(),
        text: Some(text.to_owned()),
        tags: Vec::new(),
        chapters: Vec::new(),
        shelf: "a".to_owned(),
        keywords: Keywords::default(),
    }
}

/// A few books, ready to be searched.
pub(crate) async fn library(db: &Db) -> Search<Book> {
    let search = Search::<Book>::new(db);
    search.prepare().await.unwrap();
    let mut dick = book(
        1,
        "Moby-Dick",
        "Call me Ishmael. The whale, the white whale, was hunted by whaling ships.",
    );
    dick.chapters = vec![
        Chapter {
            heading: "Loomings".into(),
        },
        Chapter {
            heading: "The Carpet-Bag".into(),
        },
    ];
    dick.tags = vec!["revenge".into(), "sea".into()];
    let all = [
        dick,
        book(2, "The Sea-Wolf", "A ship, a seal hunt and a captain at sea."),
        book(3, "Emma", "Emma Woodhouse, handsome, clever, and rich."),
        book(4, "White Fang", "The wolf was white, and the snow was white."),
        book(5, "White Whale", "A short one."),
        book(6, "Persuasion", "Captain Wentworth and a captain's letter."),
    ];
    db.collection::<Book>().insert_many(all).await.unwrap();
    search.recount().await.unwrap();
    search
}

/// The ids of what a query finds, in order.
pub(crate) async fn ids(search: &Search<Book>, query: impl Into<Query>) -> Vec<i32> {
    of(&search.find(query).await.unwrap())
}

/// The ids of these, in order.
pub(crate) fn of(hits: &[Hit<Book>]) -> Vec<i32> {
    hits.iter().map(|hit| hit.document.id).collect()
}

/// The ids of what a query finds, sorted.
pub(crate) async fn found(search: &Search<Book>, query: impl Into<Query>) -> Vec<i32> {
    let mut ids = ids(search, query).await;
    ids.sort_unstable();
    ids
}

/// A stored book.
pub(crate) async fn stored(db: &Db, id: i32) -> Document {
    db.raw_collection("books")
        .find_one(doc! { "_id": id })
        .await
        .unwrap()
        .unwrap()
}

/// The stored terms of a book.
pub(crate) async fn terms(db: &Db, id: i32) -> Vec<String> {
    let book = stored(db, id).await;
    let terms = book.get_document("keywords").unwrap().get_array("t").unwrap();
    terms
        .iter()
        .map(|term| term.as_str().unwrap().to_owned())
        .collect()
}
