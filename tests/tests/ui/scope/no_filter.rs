use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, odm::Model)]
#[odm(scope = published)]
struct Article {
    #[serde(rename = "_id")]
    id: i32,
    published: bool,
}

fn published(a: ArticleFields) -> bool {
    let _ = a;
    true
}

fn main() {}
