use odm::{Db, Model};
use odm_patterns::tree::{Tree, TreeOptions};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Model)]
struct Category {
    #[serde(rename = "_id")]
    id: i32,
}

struct Adjacency;

fn tree(db: &Db) -> Tree<Category, Adjacency> {
    Tree::new(db, TreeOptions::new())
}

fn main() {
    let _ = tree;
}
