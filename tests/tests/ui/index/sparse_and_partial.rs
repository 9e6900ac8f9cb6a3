use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(sparse, partial = |b| b.title.exists()))]
    title: String,
}

fn main() {}
