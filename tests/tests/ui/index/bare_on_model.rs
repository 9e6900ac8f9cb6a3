use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(index)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
}

fn main() {}
