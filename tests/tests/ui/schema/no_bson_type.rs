use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Book {
    _id: i32,
    #[serde(with = "odm::as_bson")]
    printed: String,
}

fn main() {}
