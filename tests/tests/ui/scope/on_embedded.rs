use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[odm(scope = visible)]
struct Line {
    visible: bool,
}

fn main() {}
