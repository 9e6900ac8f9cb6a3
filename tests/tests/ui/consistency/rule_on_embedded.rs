use odm::{Embedded, Model, Ref};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Publisher {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Embedded)]
#[odm(referred_by(Publisher))]
struct Imprint {
    #[odm(on_delete = cascade)]
    publisher: Ref<Publisher>,
}

fn main() {}
