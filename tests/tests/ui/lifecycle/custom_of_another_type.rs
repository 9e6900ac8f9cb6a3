use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(validate(custom = check))]
    title: String,
}

fn check(_: &i32) -> Result<(), String> {
    Ok(())
}

fn main() {}
