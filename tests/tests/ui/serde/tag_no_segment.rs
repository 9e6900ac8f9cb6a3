use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Embedded)]
#[serde(tag = "event.kind")]
enum Inside {
    Ok { amount: i32 },
}

#[derive(Serialize, Deserialize, odm::Embedded)]
#[serde(tag = "$kind", content = "event.data")]
enum Beside {
    Ok { amount: i32 },
}

fn main() {}
