use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(index(keys(publisher.target_id())))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    publisher: Ref<Publisher>,
}

fn main() {}
