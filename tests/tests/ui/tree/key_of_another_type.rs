use odm::{Db, Model};
use odm_patterns::tree::{NestedSets, Tree, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Category {
    #[serde(rename = "_id")]
    id: i32,
}

async fn below(db: &Db) -> Result<Vec<Category>, TreeError> {
    let tree = Tree::<Category, NestedSets>::new(db, TreeOptions::new());
    tree.descendants("Books").await
}

fn main() {
    let _ = below;
}
