use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Extra {
    note: String,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[serde(flatten)]
    #[odm(index)]
    extra: Extra,
}

fn main() {}
