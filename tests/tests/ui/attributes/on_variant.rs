use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
enum Contact {
    #[odm(opaque)]
    Email { address: String },
}

fn main() {}
