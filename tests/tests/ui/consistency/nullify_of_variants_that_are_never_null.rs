use odm::{Model, Ref, Reference};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(referred_by(Comment))]
struct Photo {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Reference)]
enum Subject {
    Photo(Ref<Photo>),
}

#[derive(Serialize, Deserialize, Model)]
struct Comment {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = nullify)]
    subject: Subject,
}

fn main() {}
