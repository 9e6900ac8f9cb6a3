use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(created)]
    one: odm::bson::DateTime,
    #[odm(created)]
    two: odm::bson::DateTime,
}

fn main() {}
