use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "Cat")]
struct Cat {
    _id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "Dog")]
struct Dog {
    _id: String,
}

#[derive(Serialize, Deserialize, Model)]
#[serde(tag = "kind")]
enum Animal {
    Cat(Cat),
    Dog(Dog),
}

fn main() {}
