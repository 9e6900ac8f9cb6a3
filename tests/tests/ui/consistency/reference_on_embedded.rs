use odm::{Embedded, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Embedded)]
struct Inner {
    product: Ref<Product>,
}

#[derive(Serialize, Deserialize, Embedded)]
#[odm(reference(inner.product: Ref<Product>, inverse = by_line))]
struct Line {
    inner: Inner,
}

fn main() {}
