use odm::{Db, Model};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
}

fn link(db: &Db) {
    let _ = db.collection::<Book>().link(1, |b| b.title, 2);
}

fn main() {}
