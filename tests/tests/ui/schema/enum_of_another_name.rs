use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "cat")]
struct Cat {
    _id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[serde(tag = "kind")]
enum Animal {
    Cat(Cat),
}

fn main() {}
