use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(collection = "animals", kind = "cat", scope = living)]
struct Cat {
    #[serde(rename = "_id")]
    id: i32,
    lives: i32,
}

fn living(c: CatFields) -> odm::Filter<Cat> {
    c.lives.gt(0)
}

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(collection = "animals")]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Animal {
    Cat(Cat),
}

fn main() {}
