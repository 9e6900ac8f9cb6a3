use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(collection = "animals", kind = "cat")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    keeper: String,
}

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(collection = "animals", kind = "dog")]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
    keeper: String,
}

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(collection = "animals")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Animal {
    Cat(Cat),
    Dog(Dog),
}

fn main() {}
