use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(skip)]
    #[odm(index)]
    title: String,
}

fn main() {}
