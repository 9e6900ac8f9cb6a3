use odm::{Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(copied_to(Book))]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

#[derive(Serialize, Deserialize, Embedded)]
#[odm(copy_of(Publisher))]
struct PublisherCopy {
    #[odm(source)]
    id: Ref<Publisher>,
    name: String,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    publisher: PublisherCopy,
}

fn main() {}
