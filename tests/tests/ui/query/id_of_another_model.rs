use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Publisher {
    #[serde(rename = "_id")]
    id: odm::Id<Publisher>,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: odm::Id<Book>,
    publisher: odm::Id<Publisher>,
}

fn scope(b: BookFields, id: odm::Id<Book>) -> odm::Filter<Book> {
    b.publisher.eq(id)
}

fn main() {}
