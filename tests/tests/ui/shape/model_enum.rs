use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
enum Event {
    Started { _id: i32 },
}

fn main() {}
