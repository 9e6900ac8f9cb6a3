use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(email))]
    pages: i32,
}

fn main() {}
