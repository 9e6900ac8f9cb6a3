use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct User {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(skip_serializing, default)]
    password_hash: String,
}

fn main() {}
