use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(each(min = 1)))]
    #[serde(flatten)]
    part: Part,
}

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Part {
    pages: i32,
}

fn main() {}
