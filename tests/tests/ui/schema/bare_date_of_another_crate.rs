use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Book {
    _id: i32,
    printed: jiff::Timestamp,
}

fn main() {}
