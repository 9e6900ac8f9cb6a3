use odm::{Db, Model};
use odm_patterns::tree::{NestedSets, Tree, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Category {
    #[serde(rename = "_id")]
    id: i32,
}

async fn path(db: &Db) -> Result<Option<String>, TreeError> {
    let tree = Tree::<Category, NestedSets>::new(db, TreeOptions::new());
    tree.path_of(1).await
}

fn main() {
    let _ = path;
}
