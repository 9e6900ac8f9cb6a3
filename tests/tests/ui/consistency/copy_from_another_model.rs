use odm::{Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(copied_to(Book))]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[derive(Serialize, Deserialize, Model)]
struct Author {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Embedded)]
#[odm(copy_of(Publisher))]
struct PublisherCopy {
    #[odm(source)]
    id: Ref<Author>,
    name: String,
    #[odm(source_version)]
    version: i64,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    publisher: PublisherCopy,
}

fn main() {}
