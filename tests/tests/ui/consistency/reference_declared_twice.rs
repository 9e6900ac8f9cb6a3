use odm::{Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(referred_by(Order))]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Line {
    product: Ref<Product>,
    count: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(reference(first.product: Ref<Product>, on_delete = deny), reference(first.product: Ref<Product>, inverse = by_first))]
struct Order {
    #[serde(rename = "_id")]
    id: i32,
    lines: Vec<Line>,
    first: Option<Line>,
}

fn main() {}
