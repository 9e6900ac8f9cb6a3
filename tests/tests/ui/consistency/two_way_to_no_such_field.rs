use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Author {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique, key = AuthorName)]
    name: String,
    #[odm(two_way = authors)]
    books: Vec<Ref<Book>>,
    reviewed: Vec<Ref<Author>>,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = bokks)]
    authors: Vec<Ref<Author>>,
}

fn main() {}
