use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: Option<odm::bson::oid::ObjectId>,
}

fn main() {}
