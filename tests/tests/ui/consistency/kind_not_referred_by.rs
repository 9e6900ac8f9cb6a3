use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "works", kind = "novel", referred_by(Quote))]
struct Novel {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "works", kind = "poem")]
struct Poem {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "works", referred_by(Quote))]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Work {
    Novel(Novel),
    Poem(Poem),
}

#[derive(Serialize, Deserialize, Model)]
#[odm(collection = "quotes")]
struct Quote {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    of: Ref<Work>,
}

fn main() {}
