use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(collection = "animals")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, odm::Model)]
#[serde(tag = "kind")]
#[odm(collection = "animals")]
enum Animal {
    Cat(Cat),
    #[serde(other)]
    Unknown,
}

fn main() {}
