use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(rename = "pages")]
    title: String,
    pages: i32,
}

fn main() {}
