use odm::{DbRef, Model};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = deny)]
    about: DbRef,
}

fn main() {}
