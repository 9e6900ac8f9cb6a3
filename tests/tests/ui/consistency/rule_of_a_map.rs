use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(referred_by(Book))]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    publishers: std::collections::BTreeMap<String, Ref<Publisher>>,
}

fn main() {}
