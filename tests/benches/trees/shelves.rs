//! Trees of any size with subtrees of 100 nodes.

use odm::Db;
use odm_patterns::tree::{KeepsOrder, Tree, TreeOptions};
use odm_tests::measure::{RELAXED, directory, open};
use odm_tests::tree::{Numbered, Stored as _};
use tempfile::TempDir;

/// How many subtrees stand on one shelf.
pub(crate) const GROUPS: i64 = 100;

/// How many nodes a shelf has, without itself.
pub(crate) const ON_A_SHELF: i64 = GROUPS * 100;

/// The topmost node of one of all subtrees of 100: it, its 9 children, and their 10 each.
pub(crate) fn head(group: i64) -> i64 {
    1_000_000 + group * 1_000
}

/// The nodes of a shelf with their parents; the shelf itself is below 0.
pub(crate) fn shelf(shelf: i64) -> Vec<(i64, i64)> {
    let mut nodes = vec![(shelf + 1, 0)];
    for group in shelf * GROUPS..(shelf + 1) * GROUPS {
        let head = head(group);
        nodes.push((head, shelf + 1));
        for child in 1..=9 {
            nodes.push((head + child, head));
            nodes.extend((0..10).map(|leaf| (head + child * 10 + leaf, head + child)));
        }
    }
    nodes
}

/// A tree with so many shelves.
#[derive(Debug)]
pub(crate) struct Shelves<S: KeepsOrder> {
    pub(crate) tree: Tree<Numbered, S>,
    pub(crate) shelves: i64,
    _directory: TempDir,
}

impl<S: KeepsOrder> Shelves<S> {
    pub(crate) async fn new(shelves: i64) -> Shelves<S> {
        let directory = directory(env!("CARGO_TARGET_TMPDIR"));
        let tree = fill(&open(&directory, RELAXED).await, shelves).await;
        Shelves {
            tree,
            shelves,
            _directory: directory,
        }
    }

    pub(crate) fn groups(&self) -> i64 {
        self.shelves * GROUPS
    }

    pub(crate) fn nodes(&self) -> i64 {
        self.shelves * (ON_A_SHELF + 1) + 1
    }
}

/// The tree in a database.
pub(crate) async fn fill<S: KeepsOrder>(db: &Db, shelves: i64) -> Tree<Numbered, S> {
    let tree = Tree::open(db, TreeOptions::new()).await.expect("the tree opens");
    tree.insert_root(0.node()).await.expect("inserted");
    for place in 0..shelves {
        let nodes = shelf(place)
            .into_iter()
            .map(|(id, parent)| (id.node(), Some(parent)));
        tree.load_flat(nodes.collect()).await.expect("loaded");
    }
    tree
}
