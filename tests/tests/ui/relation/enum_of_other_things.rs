use odm::{Model, Ref, Reference};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Reference)]
enum Named {
    Person { person: Ref<Person> },
    Nobody,
    Two(Ref<Person>, Ref<Person>),
}

#[derive(Reference)]
struct Plain(Ref<Person>);

#[derive(Reference)]
enum Generic<T: Model> {
    One(Ref<T>),
}

#[derive(Reference)]
#[odm(documents = Things)]
enum Misspelt {
    Person(Ref<Person>),
}

fn main() {}
