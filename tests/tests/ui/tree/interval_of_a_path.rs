use odm::{Db, Model};
use odm_patterns::tree::{MaterializedPaths, Tree, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Category {
    #[serde(rename = "_id")]
    id: i32,
}

async fn interval(db: &Db) -> Result<(i64, i64), TreeError> {
    let tree = Tree::<Category, MaterializedPaths>::new(db, TreeOptions::new());
    tree.interval_of(1).await
}

fn main() {
    let _ = interval;
}
