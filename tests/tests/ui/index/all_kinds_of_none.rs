use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Book {
    _id: i32,
    #[odm(index(unique, all_kinds))]
    title: String,
}

fn main() {}
