use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
}

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Spine {
    title: String,
}

fn track(books: &odm::Collection<Book>) {
    let _ = books.find_all().project::<Spine>().tracked();
}

fn main() {}
