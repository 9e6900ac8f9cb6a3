use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[derive(Clone)]
#[serde(into = "String")]
struct Isbn {
    digits: String,
}

impl From<Isbn> for String {
    fn from(isbn: Isbn) -> String {
        isbn.digits
    }
}

fn main() {}
