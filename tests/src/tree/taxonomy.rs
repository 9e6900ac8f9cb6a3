//! Google's product taxonomy: `trees/google-taxonomy.json` of the public data.

use serde::Deserialize;

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
