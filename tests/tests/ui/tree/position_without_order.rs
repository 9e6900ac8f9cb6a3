use odm::{Db, Model};
use odm_patterns::tree::{ByKey, ParentReference, Position, Tree, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Category {
    #[serde(rename = "_id")]
    id: i32,
}

async fn first(db: &Db) -> Result<(), TreeError> {
    let tree = Tree::<Category, ParentReference<ByKey>>::new(db, TreeOptions::new());
    tree.insert_at(Category { id: 2 }, 1, Position::FirstChild).await
}

fn main() {
    let _ = first;
}
