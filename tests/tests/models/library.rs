//! Models that refer to each other.

use std::collections::{BTreeMap, BTreeSet};

use bson::oid::ObjectId;
use odm::{DbRef, Embedded, Id, Model, Ref, Reference};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Country {
    #[serde(rename = "_id")]
    pub code: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Publisher {
    #[serde(rename = "_id")]
    pub id: Id<Publisher>,
    pub name: String,
    pub founded: i32,
    #[odm(inverse = by_country)]
    pub country: Option<Ref<Country>>,
    /// Refers to itself.
    #[odm(inverse = by_parent)]
    pub parent: Option<Ref<Publisher>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Author {
    #[serde(rename = "_id")]
    pub id: i64,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[serde(rename_all = "camelCase")]
#[odm(index(keys(authors)))]
pub struct Book {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(unique, key = BookIsbn)]
    pub isbn_number: String,
    pub title: String,
    #[odm(index, inverse = by_publisher)]
    pub publisher: Ref<Publisher>,
    #[odm(inverse = by_author)]
    pub authors: Vec<Ref<Author>>,
    pub translators: BTreeMap<String, Ref<Author>>,
    pub editors: BTreeSet<Ref<Author>>,
}

impl Book {
    pub fn new(id: i32, publisher: Ref<Publisher>, authors: &[i64]) -> Book {
        Book {
            id,
            isbn_number: format!("isbn-{id}"),
            title: format!("book {id:03}"),
            publisher,
            authors: authors.iter().map(|author| Ref::new(*author)).collect(),
            translators: BTreeMap::new(),
            editors: BTreeSet::new(),
        }
    }
}

/// A line of a loan: embedded, refers by another field than `_id`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Line {
    pub book: Ref<Book, BookIsbn>,
    pub gift_of: Option<Ref<Publisher>>,
    pub days: i32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Loan {
    #[serde(rename = "_id")]
    pub id: i32,
    pub first: Line,
    pub spare: Option<Line>,
    pub lines: Vec<Line>,
    pub shelves: BTreeMap<String, Line>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Patron {
    #[serde(rename = "_id")]
    pub id: i32,
    pub name: String,
}

/// One card for each patron, with the patron's own id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Card {
    #[serde(rename = "_id")]
    #[odm(inverse(one = of_patron))]
    pub patron: Ref<Patron>,
    pub number: String,
}

/// What can own a copy.
#[derive(Clone, Debug, PartialEq, Reference)]
pub enum Owner {
    Patron(Ref<Patron>),
    Publisher(Ref<Publisher>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Copy {
    #[serde(rename = "_id")]
    pub id: i32,
    #[odm(inverse = by_owner)]
    pub owner: Owner,
    pub past: Vec<Owner>,
    pub book: DbRef<Book>,
    pub thing: Option<DbRef>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
pub struct Host {
    #[serde(rename = "_id")]
    pub id: ObjectId,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(index(keys(host, desc(at))))]
pub struct Message {
    #[serde(rename = "_id")]
    pub id: i64,
    #[odm(inverse = by_host)]
    pub host: Ref<Host>,
    pub at: i64,
    pub level: i32,
    pub text: String,
}
