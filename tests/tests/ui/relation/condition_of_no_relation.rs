use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    publisher: Ref<Publisher>,
}

fn titles(books: odm::Collection<Book>) {
    let _ = books.whose(|b| b.title.some(|_| odm::Filter::all()));
}

fn not_resolved(books: odm::Collection<Book>) {
    let _ = books.find(|b| b.publisher.some(|p| p.id.eq(1)));
}

fn main() {}
