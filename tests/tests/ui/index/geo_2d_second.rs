use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(index(keys(kind, geo_2d(place))))]
struct Shop {
    #[serde(rename = "_id")]
    id: i32,
    kind: String,
    place: [f64; 2],
}

fn main() {}
