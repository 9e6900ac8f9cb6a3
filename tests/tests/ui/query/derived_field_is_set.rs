use odm::bson::{DateTime, RawBson, RawDocument};
use odm::{Derivation, Derived, Model, Update};
use serde::{Deserialize, Serialize};

struct Slug;

impl Derivation for Slug {
    type Value = String;

    fn sources() -> Vec<String> {
        vec!["title".to_owned()]
    }

    fn derive(_: &RawDocument, _: DateTime) -> odm::Result<RawBson> {
        Ok(RawBson::Null)
    }
}

#[derive(Serialize, Deserialize, Model)]
struct Book {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    slug: Derived<Slug>,
}

fn change(b: BookFields) -> Update<Book> {
    b.slug.set("x")
}

fn main() {}
