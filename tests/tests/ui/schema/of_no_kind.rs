use odm::{Collection, Model};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "Cat")]
struct Cat {
    _id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "Dog")]
struct Dog {
    _id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[serde(tag = "kind")]
enum Animal {
    Cat(Cat),
}

fn dogs(animals: Collection<Animal>) -> Collection<Dog> {
    animals.of::<Dog>()
}

fn main() {}
