use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Shop {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(index(geo_2dsphere))]
    address: String,
}

fn main() {}
