use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Address {
    #[odm(opaq)]
    city: String,
}

fn main() {}
