use odm::{DbRef, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Person {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = owner)]
    tasks: Vec<Ref<Task>>,
}

#[derive(Serialize, Deserialize, Model)]
struct Task {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(two_way = tasks)]
    owner: Option<DbRef<Person>>,
}

fn main() {}
