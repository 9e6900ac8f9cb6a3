use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(scope = one, scope = other)]
struct Article {
    #[serde(rename = "_id")]
    id: i32,
}

fn main() {}
