use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Author {
    name: String,
}

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(index(keys(desc(author.nme))))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    author: Author,
}

fn main() {}
