use odm::{Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Item {
    #[odm(inverse = by_product)]
    product: Ref<Product>,
}

fn main() {}
