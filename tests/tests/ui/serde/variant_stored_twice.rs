use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
enum Contact {
    #[serde(rename = "Phone")]
    Email { address: String },
    Phone { number: String },
}

fn main() {}
