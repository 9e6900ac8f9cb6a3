use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[odm(transparent)]
struct Address {
    city: String,
}

fn main() {}
