//! What the cases of the life of nodes stand on: all models, all ways to write.

use bson::{Document, doc};
use odm::{Db, Model};
use odm_patterns::tree::{Branch, Tree, TreeModel, TreeOptions};
use odm_tests::plain::Plain;

/// The three ways to write.
pub fn ways(db: &Db) -> [(Db, TreeOptions); 3] {
    [
        (db.clone(), TreeOptions::new()),
        (db.clone(), TreeOptions::new().write_ahead()),
        (Plain::db(db), TreeOptions::new()),
    ]
}

pub async fn clear(db: &Db, collections: &[&str]) {
    for name in collections {
        let cleared = db.raw_collection(name).delete_many(doc! {}).await;
        cleared.expect("the collection is emptied");
    }
}

/// Runs a case in all five models and all three ways, each from the beginning.
macro_rules! everywhere {
    ($db:expr, $case:ident, [$($collection:literal),*]) => {
        odm_tests::each_model!(S => {
            for (way, options) in crate::tree_lifecycle_models::ways($db) {
                $case::<S>(&way, options).await;
                crate::tree_lifecycle_models::clear($db, &[$($collection),*]).await;
            }
        })
    };
}

/// The tree as one line.
pub async fn shown<M: Model<Key = i32>, S: TreeModel>(tree: &Tree<M, S>) -> String {
    fn show<M: Model<Key = i32>>(branches: &[Branch<M>]) -> String {
        let shown = branches.iter().map(|branch| match branch.children.as_slice() {
            [] => branch.node.key().to_string(),
            children => format!("{}({})", branch.node.key(), show(children)),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
    show(&tree.branches().await.expect("the tree is read"))
}

pub async fn sound<M: Model<Key = i32>, S: TreeModel>(tree: &Tree<M, S>, expected: &str) {
    assert_eq!(shown(tree).await, expected, "{tree:?}");
    let problems = tree.verify().await.expect("the tree is verified");
    assert_eq!(problems, [], "{tree:?}: {expected}");
}

/// 1 (2 (3, 4), 5).
pub async fn grow<M: Model<Key = i32>, S: TreeModel>(
    db: &Db,
    options: TreeOptions,
    node: fn(i32) -> M,
) -> Tree<M, S> {
    let tree = Tree::<M, S>::open(db, options).await.expect("the tree opens");
    tree.collection()
        .create_indexes()
        .await
        .expect("the indexes are built");
    let leaf = |id| Branch::leaf(node(id));
    let two = Branch::new(node(2), [leaf(3), leaf(4)]);
    let one = Branch::new(node(1), [two, leaf(5)]);
    tree.load(vec![one]).await.expect("loaded");
    tree
}

pub async fn stored(db: &Db, collection: &str, id: i32) -> Document {
    let found = db.raw_collection(collection).find_one(doc! { "_id": id }).await;
    found.expect("a read").expect("it is stored")
}

pub(super) use everywhere;
