use odm::{Model, Ref, Reference};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
#[odm(referred_by(Comment))]
struct Post {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
struct Photo {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Serialize, Deserialize, Model)]
#[odm(referred_by(Post))]
struct Film {
    #[serde(rename = "_id")]
    id: i32,
}

#[derive(Reference)]
enum Subject {
    Post(Ref<Post>),
    Photo(Ref<Photo>),
    Film(Ref<Film>),
}

#[derive(Serialize, Deserialize, Model)]
struct Comment {
    #[serde(rename = "_id")]
    id: i32,
    #[odm(on_delete = cascade)]
    subject: Subject,
}

fn main() {}
