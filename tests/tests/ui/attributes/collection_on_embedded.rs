use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[odm(collection = "addresses")]
struct Address {
    city: String,
}

fn main() {}
