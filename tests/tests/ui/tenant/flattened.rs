use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Company {
    name: String,
}

#[derive(Serialize, Deserialize, odm::Model)]
struct Invoice {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(tenant)]
    #[serde(flatten)]
    company: Company,
}

fn main() {}
