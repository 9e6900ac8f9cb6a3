use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Line {
    #[odm(tenant)]
    company: String,
}

fn main() {}
