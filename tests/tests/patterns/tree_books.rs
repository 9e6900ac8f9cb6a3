//! The manual's tree of books, in every model, for the other themes of trees.

use odm::{Db, Model};
use odm_patterns::tree::{Branch, Tree, TreeModel, TreeOptions};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "categories")]
pub struct Category {
    #[serde(rename = "_id")]
    pub id: String,
    #[serde(default)]
    pub title: String,
}

pub fn category(id: &str) -> Category {
    Category {
        id: id.into(),
        title: id.to_lowercase(),
    }
}

pub fn leaf(id: &str) -> Branch<Category> {
    Branch::leaf(category(id))
}

pub fn branch(id: &str, children: impl IntoIterator<Item = Branch<Category>>) -> Branch<Category> {
    Branch::new(category(id), children)
}

/// The tree of the manual.
pub fn books() -> Branch<Category> {
    branch(
        "Books",
        [branch(
            "Programming",
            [
                leaf("Languages"),
                branch("Databases", [leaf("MongoDB"), leaf("dbm")]),
            ],
        )],
    )
}

pub fn ids(nodes: &[Category]) -> Vec<&str> {
    nodes.iter().map(|node| node.id.as_str()).collect()
}

/// The tree as one line: `Books(Programming(Languages Databases))`.
pub async fn shown<S: TreeModel>(tree: &Tree<Category, S>) -> String {
    fn show(branches: &[Branch<Category>]) -> String {
        let shown = branches.iter().map(|branch| match branch.children.as_slice() {
            [] => branch.node.id.clone(),
            children => format!("{}({})", branch.node.id, show(children)),
        });
        shown.collect::<Vec<_>>().join(" ")
    }
    show(&tree.branches().await.unwrap())
}

pub async fn sound<S: TreeModel>(tree: &Tree<Category, S>, expected: &str) {
    assert_eq!(shown(tree).await, expected, "{tree:?}");
    assert_eq!(tree.verify().await.unwrap(), [], "{tree:?}: {expected}");
}

/// A collection of its own for each model.
pub fn options(name: &str) -> TreeOptions {
    TreeOptions::new().collection(name)
}

pub async fn tree<S: TreeModel>(db: &Db, options: TreeOptions) -> Tree<Category, S> {
    let tree = Tree::open(db, options).await.unwrap();
    tree.load(vec![books()]).await.unwrap();
    tree
}

/// Runs a case in every model, and in every other form of it.
macro_rules! in_all_models {
    ($case:ident($db:expr)) => {
        $case::<ParentReference>($db, options("parents")).await;
        $case::<ChildReference>($db, options("children")).await;
        $case::<ArrayOfAncestors>($db, options("ancestors")).await;
        $case::<MaterializedPaths>($db, options("paths")).await;
        $case::<MaterializedPaths>($db, options("trailing").path_style(PathStyle::Trailing)).await;
        $case::<MaterializedPaths>($db, options("threaded").path_style(PathStyle::Threaded)).await;
        $case::<NestedSets>($db, options("nested")).await;
        $case::<NestedSets>($db, options("dense").numbering(Numbering::Dense)).await;
        $case::<MaterializedPaths>($db, options("ahead").write_ahead().tenant("shop", 7)).await;
        $case::<ChildReference>($db, options("listed").write_ahead().tenant("shop", 7)).await;
    };
}

pub(crate) use in_all_models;
