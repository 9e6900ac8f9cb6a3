use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(colection = "books", index(keys(titel), uniqe))]
struct Book {
    #[odm(indx)]
    title: String,
}

fn main() {}
