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

fn save(books: &odm::Collection<Book>, spine: &Spine) {
    let _ = books.save(spine);
}

fn main() {}
