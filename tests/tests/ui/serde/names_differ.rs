use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(rename(serialize = "a", deserialize = "b"))]
    title: String,
}

fn main() {}
