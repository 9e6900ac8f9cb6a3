use odm::{Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Note<T: Model> {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    about: Ref<T>,
}

fn main() {}
