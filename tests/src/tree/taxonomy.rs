//! Google's product taxonomy: `trees/google-taxonomy.json` of the public data.

use odm::Db;
use odm_patterns::tree::{KeepsOrder, TreeOptions};
use serde::Deserialize;

use super::{Numbered, Subject};

/// One category, with the place in its tree told three ways.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Category {
    pub id: i32,
    pub parent_id: Option<i32>,
    pub title: String,
    /// The first of the two numbers of a nested set: all categories have one count.
    pub left: i64,
    pub right: i64,
    /// Counted from 1.
    pub depth: usize,
}

impl Category {
    /// Whether this category stands above the other.
    pub fn contains(&self, other: &Category) -> bool {
        self.left < other.left && other.right < self.right
    }

    /// How many categories stand below this one.
    pub fn below(&self) -> usize {
        usize::try_from((self.right - self.left - 1) / 2).expect("the numbers are in order")
    }
}

/// The categories in pre-order; `None`, with a line that says so, where the public data is absent.
pub fn taxonomy() -> Option<Vec<Category>> {
    let path = crate::data::path("trees/google-taxonomy.json")?;
    let text = std::fs::read_to_string(path).expect("the file is read");
    let mut categories: Vec<Category> = serde_json::from_str(&text).expect("the file holds categories");
    categories.sort_by_key(|category| category.left);
    Some(categories)
}

/// The taxonomy as a tree, or a first part of it.
pub async fn load<S: KeepsOrder>(db: &Db, categories: &[Category]) -> Subject<i64, S> {
    let subject = Subject::<i64, S>::open(db, TreeOptions::new()).await;
    let nodes = categories.iter().map(|category| {
        let node = Numbered {
            id: category.id.into(),
            name: category.title.clone(),
        };
        (node, category.parent_id.map(i64::from))
    });
    subject
        .tree
        .load_flat(nodes.collect())
        .await
        .expect("the taxonomy is loaded");
    subject
}

/// Holds a loaded taxonomy against the numbers of its file: all nodes by one read, some by a read of their own.
pub async fn agree<S: KeepsOrder>(db: &Db, categories: &[Category], asked: usize) {
    let subject = load::<S>(db, categories).await;
    assert!(subject.problems().await.is_empty());
    let rows = subject.tree.annotated().await.expect("the tree is read");
    let found: Vec<(i64, usize)> = rows.iter().map(|row| (row.node.id, row.depth)).collect();
    let expected: Vec<(i64, usize)> = categories
        .iter()
        .map(|category| (category.id.into(), category.depth))
        .collect();
    assert_eq!(found, expected);
    let step = (categories.len() / asked).max(1);
    for category in categories.iter().step_by(step) {
        let id = i64::from(category.id);
        let keys = |nodes: Vec<Numbered>| -> Vec<i64> { nodes.iter().map(|node| node.id).collect() };
        let above: Vec<i64> = categories
            .iter()
            .filter(|other| other.contains(category))
            .map(|other| other.id.into())
            .collect();
        let below: Vec<i64> = categories
            .iter()
            .filter(|other| category.contains(other))
            .map(|other| other.id.into())
            .collect();
        assert_eq!(below.len(), category.below());
        let ancestors = subject.tree.ancestors(id).await.expect("ancestors are read");
        assert_eq!(keys(ancestors), above, "the ancestors of {id}");
        let count = subject.tree.descendant_count(id).await.expect("they are counted");
        assert_eq!(count as usize, below.len(), "the descendants of {id}");
        let descendants = subject.tree.descendants(id).await.expect("descendants are read");
        assert_eq!(keys(descendants), below, "the descendants of {id}");
    }
    subject.clear().await;
}

#[test]
fn the_reference_agrees_with_the_intervals() {
    use super::{Forest, Place};

    let Some(categories) = taxonomy() else { return };
    let mut forest = Forest::default();
    for category in &categories {
        let place = category.parent_id.map_or(Place::LastRoot, Place::LastChild);
        forest.insert(category.id, &place).expect("parents come first");
    }
    let expected: Vec<i32> = categories.iter().map(|category| category.id).collect();
    assert_eq!(forest.preorder(), expected);
    for category in &categories {
        assert_eq!(forest.depth(&category.id) + 1, category.depth);
        assert_eq!(forest.descendants(&category.id).len(), category.below());
    }
}
