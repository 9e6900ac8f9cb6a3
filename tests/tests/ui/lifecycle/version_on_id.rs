use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[odm(version)]
    #[serde(rename = "_id")]
    id: i32,
}

fn main() {}
