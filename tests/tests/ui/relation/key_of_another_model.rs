use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(unique, key = BookIsbn)]
    isbn: String,
}

#[derive(Serialize, Deserialize, Model)]
struct Copy {
    #[serde(rename = "_id")]
    id: i32,
    book: Ref<Book, BookIsbn>,
    other: Ref<Copy, BookIsbn>,
}

fn main() {}
