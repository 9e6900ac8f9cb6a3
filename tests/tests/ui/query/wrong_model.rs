use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Author {
    name: String,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    pages: i32,
    tags: Vec<String>,
    author: Author,
}

use odm::Model as _;

#[derive(Serialize, Deserialize, odm::Model)]
struct Patron {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

fn scope(b: BookFields) -> odm::Filter<Book> {
    Patron::fields().name.eq("Joe")
}

fn main() {}
