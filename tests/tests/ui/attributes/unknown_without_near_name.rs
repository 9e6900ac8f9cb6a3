use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(max = 10)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
}

fn main() {}
