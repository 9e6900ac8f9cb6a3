use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Isbn(#[odm(validate(length = 13))] String);

fn main() {}
