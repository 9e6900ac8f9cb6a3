use odm::{Model, Ref, Reference};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Reference)]
enum Owner {
    Person(Ref<Person>),
    Name(String),
}

fn main() {}
