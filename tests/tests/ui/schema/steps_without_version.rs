use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(migrate(first))]
struct Book {
    _id: i32,
}

fn first(_: &mut odm::bson::Document) -> odm::Result<()> {
    Ok(())
}

fn main() {}
