use odm::{Model, Ref, Reference};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
struct City {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Reference)]
enum Owner {
    Person(Ref<Person>),
}

#[derive(Serialize, Deserialize, Model)]
struct Dog {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse = by_owner)]
    owner: Owner,
}

fn find(cities: odm::Collection<City>) {
    let _ = cities.find_all().with(Dog::by_owner());
}

fn main() {}
