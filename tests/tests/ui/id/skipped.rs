use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(skip, rename = "_id")]
    id: i32,
}

fn main() {}
