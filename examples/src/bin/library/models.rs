//! What the library stores: the documents of the MongoDB manual's data-model examples, as Rust types.

use bson::{DateTime, Decimal128};
use odm::{Embedded, Model};
use odm_patterns::search::Keywords;
use serde::{Deserialize, Serialize};

/// A book, with its publisher embedded and its stock beside it, so that lending is one atomic update.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "books")]
#[odm(index(keys(categories, desc(year))))]
#[odm(index(keys(publisher.name)))]
pub struct Book {
    /// A readable key, such as `moby-dick`.
    #[serde(rename = "_id")]
    pub id: String,
    #[odm(index)]
    pub title: String,
    #[odm(index)]
    pub authors: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub published: Option<DateTime>,
    #[odm(index)]
    pub year: i32,
    pub language: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pages: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub publisher: Option<Publisher>,
    /// Paths such as `Fiction/Science Fiction`.
    pub categories: Vec<String>,
    #[odm(index)]
    pub topics: Vec<String>,
    /// What a lost copy costs.
    pub price: Decimal128,
    /// Copies on the shelf.
    #[serde(default)]
    pub available: i32,
    /// Copies that are out, and who has them.
    #[serde(default)]
    pub checkout: Vec<Checkout>,
    /// The words that it is found by, kept in step with its texts.
    #[serde(default)]
    pub keywords: Keywords<Book>,
}

/// Who published a book.
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub struct Publisher {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub founded: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub location: Option<String>,
}

/// A copy that is out.
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub struct Checkout {
    /// The patron's `_id`.
    pub by: String,
    pub date: DateTime,
}

/// Somebody who borrows books.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "patrons")]
pub struct Patron {
    #[serde(rename = "_id")]
    pub id: String,
    #[odm(index)]
    pub name: String,
    /// One-to-few: addresses live in the patron.
    pub addresses: Vec<Address>,
}

/// Where a patron lives.
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub struct Address {
    pub street: String,
    pub city: String,
    pub state: String,
    pub zip: String,
}

/// A node of the tree of categories, by parent reference.
#[derive(Clone, Debug, Serialize, Deserialize, Model)]
#[odm(collection = "categories")]
pub struct Category {
    /// The whole path, such as `Fiction/Science Fiction`.
    #[serde(rename = "_id")]
    pub id: String,
    /// The parent's path; none for a root.
    #[odm(index)]
    pub parent: Option<String>,
}

/// What a list of books shows.
#[derive(Clone, Debug, Serialize, Deserialize, Embedded)]
pub struct Entry {
    pub title: String,
    pub authors: Vec<String>,
    pub year: i32,
}
