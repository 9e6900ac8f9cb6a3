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

fn scope(b: BookFields) -> odm::Filter<Book> {
    b.author.key("name").eq("Joyce")
}

fn main() {}
