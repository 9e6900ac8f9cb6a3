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

fn find(books: odm::Collection<Book>, city: City) {
    let _ = books.find(|b| b.publisher.eq(&city));
}

fn main() {}
