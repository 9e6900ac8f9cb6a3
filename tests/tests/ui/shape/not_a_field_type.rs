use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Money {
    cents: i64,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    price: Money,
}

fn main() {}
