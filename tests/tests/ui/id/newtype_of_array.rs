use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[derive(Clone)]
struct Names(Vec<String>);

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: Names,
}

fn main() {}
