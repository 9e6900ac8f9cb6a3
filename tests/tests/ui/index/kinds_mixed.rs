use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(index(keys(geo_2dsphere(place), hashed(kind))))]
struct Shop {
    #[serde(rename = "_id")]
    id: i32,
    kind: String,
    place: odm::geo::Point,
}

fn main() {}
