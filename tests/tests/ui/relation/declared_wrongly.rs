use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Product {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(key = ProductNumber)]
    number: i32,
    #[odm(unique, key = ProductCode)]
    #[serde(with = "hex")]
    code: i32,
    #[odm(inverse(most = by_parent))]
    parent: Option<Ref<Product>>,
    #[odm(inverse())]
    other: Option<Ref<Product>>,
    #[odm(inverse(one = a, many = b))]
    third: Option<Ref<Product>>,
}

mod hex {
    pub fn serialize<S: serde::Serializer>(value: &i32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{value:x}"))
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(_: D) -> Result<i32, D::Error> {
        Ok(0)
    }
}

fn main() {}
