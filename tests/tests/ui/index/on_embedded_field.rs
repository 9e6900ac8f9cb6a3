use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Address {
    #[odm(index)]
    city: String,
}

fn main() {}
