use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(collection = "a$b")]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
}

fn main() {}
