use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Invoice {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    companies: Vec<String>,
}

fn main() {}
