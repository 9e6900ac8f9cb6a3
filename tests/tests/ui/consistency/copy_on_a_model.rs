use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(copy_of(Publisher))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(source)]
    publisher: Ref<Publisher>,
}

fn main() {}
