use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
struct Address<'a> {
    city: &'a str,
}

fn main() {}
