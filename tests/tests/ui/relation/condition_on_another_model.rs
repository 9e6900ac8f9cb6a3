use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[odm(inverse = by_publisher)]
    publisher: Ref<Publisher>,
}

fn books(books: odm::Collection<Book>) {
    let _ = books.whose(|b| b.publisher.some(|_| b.title.eq("Emma")));
}

fn publishers(publishers: odm::Collection<Publisher>) {
    let _ = publishers.whose(|_| Book::fields().publisher.some(|p| p.name.eq("Penguin")));
}

fn main() {}
