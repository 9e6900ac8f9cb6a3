use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[serde(rename_all = "camelCase")]
struct Book {
    _id: i32,
}

fn main() {}
