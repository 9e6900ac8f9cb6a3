use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[serde(rename_all(serialize = "camelCase"))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
}

fn main() {}
