use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(kind = "novel")]
#[serde(deny_unknown_fields)]
struct Book {
    _id: i32,
}

fn main() {}
