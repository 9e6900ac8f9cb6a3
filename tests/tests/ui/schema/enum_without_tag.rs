use odm::Model;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "Cat")]
struct Cat {
    _id: i32,
}

#[derive(Serialize, Deserialize, Model)]
enum Animal {
    Cat(Cat),
}

fn main() {}
