use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(tag = "type")]
struct Book {
    _id: i32,
}

fn main() {}
