use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(index(keys(title), language = "german"))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    year: i32,
    place: [f64; 2],
}

fn main() {}
