use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Part {
    #[odm(created)]
    at: odm::bson::DateTime,
}

fn main() {}
