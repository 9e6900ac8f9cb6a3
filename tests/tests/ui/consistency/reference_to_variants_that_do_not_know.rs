use odm::{Embedded, Model, Ref, Reference};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Photo {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Reference)]
enum Subject {
    Photo(Ref<Photo>),
}

#[derive(Serialize, Deserialize, Embedded)]
struct Pin {
    subject: Subject,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(reference(pins.any().subject: Subject, on_delete = pull))]
struct Board {
    #[serde(rename = "_id")]
    id: i32,
    pins: Vec<Pin>,
}

fn main() {}
