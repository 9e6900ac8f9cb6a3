use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[odm(index(keys(city)))]
struct Address {
    city: String,
}

fn main() {}
