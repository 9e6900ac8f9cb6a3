use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(kind = "novel")]
struct Book {
    _id: i32,
    kind: String,
}

fn main() {}
