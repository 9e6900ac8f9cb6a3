mod library {
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, odm::Model)]
    pub struct Book {
        #[serde(rename = "_id")]
        pub id: i32,
        shelf: String,
    }
}

fn scope(b: library::BookFields) -> odm::Filter<library::Book> {
    b.shelf.eq("A3")
}

fn main() {}
