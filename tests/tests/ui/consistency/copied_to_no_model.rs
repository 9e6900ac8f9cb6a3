use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(copied_to(String))]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
    name: String,
}

fn main() {}
