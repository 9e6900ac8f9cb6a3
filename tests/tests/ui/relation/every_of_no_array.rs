use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct City {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
    city: Ref<City>,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    #[odm(inverse = by_publisher)]
    publisher: Ref<Publisher>,
    notes: std::collections::BTreeMap<String, Ref<City>>,
    thing: odm::DbRef,
}

fn find(books: odm::Collection<Book>) {
    let _ = books.find_all().load(|b| b.title.every(|t| t));
}

fn main() {}
