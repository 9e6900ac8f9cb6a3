use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(index(keys(title), partial = |b| b.pages.gt("many")))]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    pages: i32,
}

fn main() {}
