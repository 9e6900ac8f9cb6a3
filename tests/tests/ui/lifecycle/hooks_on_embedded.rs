use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[odm(hooks)]
struct Part {
    pages: i32,
}

fn main() {}
