use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(schema_version = 0)]
struct Book {
    _id: i32,
}

fn main() {}
