use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(index(keys(title, pages), expire_after = 60))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    pages: i32,
}

fn main() {}
