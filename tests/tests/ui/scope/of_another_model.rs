use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(scope = published)]
struct Article {
    #[serde(rename = "_id")]
    id: i32,
    published: bool,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    published: bool,
}

fn published(b: BookFields) -> odm::Filter<Book> {
    b.published.eq(true)
}

fn main() {}
