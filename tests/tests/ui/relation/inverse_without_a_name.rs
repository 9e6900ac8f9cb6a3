use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct City {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(inverse)]
    nameless: Ref<City>,
    #[odm(inverse = "by_city")]
    quoted: Ref<City>,
    #[odm(inverse(one))]
    nameless_one: Ref<City>,
}

fn main() {}
