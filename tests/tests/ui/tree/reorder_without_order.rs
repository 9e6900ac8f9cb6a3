use odm::{Db, Model};
use odm_patterns::tree::{ArrayOfAncestors, ByKey, Tree, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Category {
    #[serde(rename = "_id")]
    id: i32,
}

async fn reversed(db: &Db) -> Result<(), TreeError> {
    let tree = Tree::<Category, ArrayOfAncestors<ByKey>>::new(db, TreeOptions::new());
    tree.reorder(1, [3, 2]).await
}

fn main() {
    let _ = reversed;
}
