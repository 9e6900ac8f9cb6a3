use odm::Embedded;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
#[odm(kind = "home")]
struct Address {
    city: String,
}

fn main() {}
