use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(referred_by(Book))]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    publisher: String,
}

fn main() {}
