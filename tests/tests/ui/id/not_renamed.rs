use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    id: i32,
    title: String,
}

fn main() {}
