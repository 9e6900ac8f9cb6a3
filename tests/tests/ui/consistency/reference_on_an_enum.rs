use odm::{Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Embedded)]
struct Part {
    cat: Ref<Cat>,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", kind = "Cat")]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    part: Option<Part>,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "animals", reference(part.cat: Ref<Cat>, inverse = by_part))]
#[serde(tag = "kind")]
enum Animal {
    Cat(Cat),
}

fn main() {}
