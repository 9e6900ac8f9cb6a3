//! Trees in collections with a collation: paths compare by their bytes, `_id`s as the collection has them.

use std::collections::BTreeMap;

use bson::doc;
use odm::{CollectionDeclaration, Db, Model};
use odm_patterns::tree::{
    ArrayOfAncestors, ByKey, ChildReference, DeleteMode, MaterializedPaths, NestedSets, ParentReference,
    PathStyle, Tree, TreeError, TreeModel, TreeOptions,
};
use serde::{Deserialize, Serialize};

crate::on_every_backend! {
    trees_are_what_a_model_of_them_says,
    trees_written_ahead_are_too,
    tenants_that_a_collation_takes_for_the_same_are_two,
    paths_of_numbers_hold_their_descendants,
    siblings_without_places_come_in_the_collections_order,
    keys_that_a_collation_takes_for_the_same_are_in_order,
    an_id_that_a_collation_takes_for_another_is_there_already,
    a_node_is_renamed_to_what_the_collation_takes_for_the_same,
    an_index_of_paths_with_the_collections_collation_stays,
}

/// Case, accents and punctuation are nothing, and digits are numbers.
fn coarse() -> CollectionDeclaration {
    CollectionDeclaration::new()
        .collation(doc! {"locale": "sv", "strength": 2, "alternate": "shifted", "numericOrdering": true})
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "nodes", options = coarse)]
struct Node {
    #[serde(rename = "_id")]
    id: String,
    title: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "numbered", options = coarse)]
struct Numbered {
    #[serde(rename = "_id")]
    id: i32,
}

fn node(id: &str) -> Node {
    Node {
        id: id.into(),
        title: id.to_uppercase(),
    }
}

async fn create<M: Model>(db: &Db, name: &str) {
    db.drop_collection(name).await.unwrap();
    db.collection_named::<M>(name).create_declared().await.unwrap();
}

async fn ids(nodes: impl Future<Output = odm_patterns::tree::Result<Vec<Node>>>) -> Vec<String> {
    nodes.await.unwrap().into_iter().map(|node| node.id).collect()
}

/// What a tree is to be.
#[derive(Default)]
struct Expected {
    parents: BTreeMap<String, Option<String>>,
    children: BTreeMap<Option<String>, Vec<String>>,
}

impl Expected {
    fn insert(&mut self, id: &str, parent: Option<&str>) {
        let parent = parent.map(str::to_owned);
        self.parents.insert(id.to_owned(), parent.clone());
        self.children.entry(parent).or_default().push(id.to_owned());
    }

    fn take(&mut self, id: &str) {
        let parent = self.parents.remove(id).unwrap();
        self.children.get_mut(&parent).unwrap().retain(|own| own != id);
    }

    fn children(&self, id: Option<&str>) -> Vec<String> {
        let children = self.children.get(&id.map(str::to_owned));
        children.cloned().unwrap_or_default()
    }

    fn below(&self, id: &str) -> Vec<String> {
        let children = self.children(Some(id)).into_iter();
        children
            .flat_map(|child| std::iter::once(child.clone()).chain(self.below(&child)))
            .collect()
    }

    fn above(&self, id: &str) -> Vec<String> {
        let mut above: Vec<String> =
            std::iter::successors(self.parents[id].clone(), |id| self.parents[id].clone()).collect();
        above.reverse();
        above
    }

    fn rename(&mut self, id: &str, to: &str) {
        let parent = self.parents.remove(id).unwrap();
        for own in self.children.get_mut(&parent).unwrap() {
            if own == id {
                *own = to.to_owned();
            }
        }
        self.parents.insert(to.to_owned(), parent);
        if let Some(children) = self.children.remove(&Some(id.to_owned())) {
            for child in &children {
                self.parents.insert(child.clone(), Some(to.to_owned()));
            }
            self.children.insert(Some(to.to_owned()), children);
        }
    }
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

const NAMES: [&str; 16] = [
    "a", "a1", "a10", "a2", "ä", "ö", "z", "co-op", "coop,x", "x y", "~", "2", "10", "a~b", "ß", "$z",
];

/// Changes a tree at random, so many times, and what it is to be with it.
async fn changes<S: TreeModel>(db: &Db, options: TreeOptions, (prefix, steps): (&str, usize), seed: u64) {
    let tree = Tree::<Node, S>::open(db, options).await.unwrap();
    let mut expected = Expected::default();
    let mut numbers = Numbers(seed);
    for step in 0..steps {
        let living: Vec<String> = expected.parents.keys().cloned().collect();
        let any = |numbers: &mut Numbers| living[numbers.below(living.len())].clone();
        match numbers.below(12) {
            _ if living.len() < 5 => {
                let id = format!("{prefix}{}#{step}", NAMES[numbers.below(NAMES.len())]);
                tree.insert_root(node(&id)).await.unwrap();
                expected.insert(&id, None);
            }
            0..=4 => {
                let id = format!("{prefix}{}#{step}", NAMES[numbers.below(NAMES.len())]);
                let parent = any(&mut numbers);
                tree.insert_child(parent.as_str(), node(&id)).await.unwrap();
                expected.insert(&id, Some(&parent));
            }
            5..=8 => {
                let (id, parent) = (any(&mut numbers), any(&mut numbers));
                let moved = tree.move_under(id.as_str(), parent.as_str()).await;
                if id == parent || expected.below(&id).contains(&parent) {
                    let refused = matches!(moved, Err(TreeError::IntoOwnDescendant { .. }));
                    assert!(refused, "{id} under {parent}: {moved:?}");
                } else {
                    moved.unwrap();
                    expected.take(&id);
                    expected.insert(&id, Some(&parent));
                }
            }
            9 if living.len() > 10 => {
                let id = any(&mut numbers);
                let below = expected.below(&id);
                let deleted = tree.delete(id.as_str(), DeleteMode::Cascade).await.unwrap();
                assert_eq!(deleted, below.len() as u64 + 1, "{id}");
                expected.take(&id);
                for id in below.iter().chain([&id]) {
                    expected.parents.remove(id);
                    expected.children.remove(&Some(id.clone()));
                }
            }
            9 | 10 => {
                let id = any(&mut numbers);
                tree.move_to_root(id.as_str()).await.unwrap();
                expected.take(&id);
                expected.insert(&id, None);
            }
            _ => {
                let (id, to) = (any(&mut numbers), format!("{prefix}renamed{step}"));
                tree.rename(id.as_str(), to.as_str()).await.unwrap();
                expected.rename(&id, &to);
            }
        }
        if step % 13 == 12 || step + 1 == steps {
            is_as_expected(&tree, &expected).await;
        }
    }
}

async fn is_as_expected<S: TreeModel>(tree: &Tree<Node, S>, expected: &Expected) {
    assert_eq!(ids(tree.roots()).await, expected.children(None), "{tree:?}");
    assert_eq!(
        tree.len().await.unwrap(),
        expected.parents.len() as u64,
        "{tree:?}"
    );
    for id in expected.parents.keys() {
        let (below, at) = (expected.below(id), id.as_str());
        assert_eq!(
            ids(tree.descendants(at).into_future()).await,
            below,
            "{tree:?} {id}"
        );
        assert_eq!(ids(tree.ancestors(at)).await, expected.above(id), "{tree:?} {id}");
        assert_eq!(
            ids(tree.children(at)).await,
            expected.children(Some(id)),
            "{tree:?} {id}"
        );
        assert_eq!(
            tree.descendant_count(at).await.unwrap(),
            below.len() as u64,
            "{tree:?} {id}"
        );
    }
    assert_eq!(tree.verify().await.unwrap(), [], "{tree:?}");
}

async fn in_every_model(db: &Db, prefix: (&str, usize), options: impl Fn(&str) -> TreeOptions) {
    changes::<ParentReference>(db, options("parents"), prefix, 77).await;
    changes::<ChildReference>(db, options("children"), prefix, 5).await;
    changes::<ArrayOfAncestors>(db, options("arrays"), prefix, 9).await;
    changes::<MaterializedPaths>(db, options("paths"), prefix, 11).await;
    changes::<MaterializedPaths>(db, options("threads").path_style(PathStyle::Threaded), prefix, 3).await;
    changes::<NestedSets>(db, options("sets"), prefix, 1).await;
}

const COLLECTIONS: [&str; 6] = ["parents", "children", "arrays", "paths", "threads", "sets"];

async fn trees_are_what_a_model_of_them_says(db: &Db) {
    for name in COLLECTIONS {
        create::<Node>(db, name).await;
    }
    in_every_model(db, ("", 40), |name| TreeOptions::new().collection(name)).await;
}

async fn trees_written_ahead_are_too(db: &Db) {
    for name in COLLECTIONS {
        create::<Node>(db, name).await;
    }
    in_every_model(db, ("", 40), |name| {
        TreeOptions::new().collection(name).write_ahead()
    })
    .await;
}

async fn tenants_that_a_collation_takes_for_the_same_are_two(db: &Db) {
    for name in COLLECTIONS {
        create::<Node>(db, name).await;
    }
    for (tenant, prefix) in [("a", "one"), ("A", "two")] {
        let options = |name: &str| TreeOptions::new().collection(name).tenant("tenant", tenant);
        in_every_model(db, (prefix, 14), options).await;
    }
}

async fn paths_of_numbers_hold_their_descendants(db: &Db) {
    for style in [PathStyle::Enclosed, PathStyle::Trailing, PathStyle::Threaded] {
        create::<Numbered>(db, "numbered").await;
        let options = TreeOptions::new().path_style(style);
        let tree = Tree::<Numbered, MaterializedPaths>::open(db, options)
            .await
            .unwrap();
        for root in [1, 5] {
            tree.insert_root(Numbered { id: root }).await.unwrap();
        }
        for (parent, id) in [(1, 2), (2, 3), (1, 10), (5, 50)] {
            tree.insert_child(parent, Numbered { id }).await.unwrap();
        }
        let below = |found: Vec<Numbered>| found.into_iter().map(|node| node.id).collect::<Vec<i32>>();
        assert_eq!(below(tree.descendants(1).await.unwrap()), [2, 3, 10]);
        assert_eq!(tree.threaded_page(0, 0).await.unwrap().len(), 6);
        let circle = tree.move_under(1, 3).await.unwrap_err();
        assert!(matches!(circle, TreeError::IntoOwnDescendant { .. }));
        tree.move_under(1, 5).await.unwrap();
        assert_eq!(below(tree.ancestors(3).await.unwrap()), [5, 1, 2]);
        assert_eq!(tree.delete(5, DeleteMode::Cascade).await.unwrap(), 6);
        assert_eq!(tree.verify().await.unwrap(), []);
        db.drop_collection("numbered_trees").await.unwrap();
    }
}

async fn siblings_without_places_come_in_the_collections_order(db: &Db) {
    create::<Node>(db, "nodes").await;
    let options = TreeOptions::new().sort_key(doc! {"title": 1});
    let tree = Tree::<Node, MaterializedPaths<ByKey>>::open(db, options)
        .await
        .unwrap();
    tree.insert_root(node("top")).await.unwrap();
    for id in ["a10", "A9", "a-2"] {
        tree.insert_child("top", node(id)).await.unwrap();
        tree.insert_child(id, node(&format!("{id} below"))).await.unwrap();
    }
    let order = ["a-2", "a-2 below", "A9", "A9 below", "a10", "a10 below"];
    assert_eq!(ids(tree.children("top")).await, [order[0], order[2], order[4]]);
    assert_eq!(ids(tree.descendants("top").into_future()).await, order);
    assert_eq!(tree.descendant_count("top").await.unwrap(), 6);
}

async fn keys_that_a_collation_takes_for_the_same_are_in_order(db: &Db) {
    async fn are_in_order<S: TreeModel>(db: &Db) {
        create::<Node>(db, "nodes").await;
        db.drop_collection("nodes_trees").await.unwrap();
        let options = TreeOptions::new().sort_key(doc! {"title": 1});
        let tree = Tree::<Node, S>::open(db, options).await.unwrap();
        for (id, title) in [("1", "x"), ("2", "X"), ("3", "x"), ("4", "X"), ("5", "a")] {
            let titled = Node {
                title: title.to_owned(),
                ..node(id)
            };
            tree.insert_root(titled).await.unwrap();
        }
        assert_eq!(ids(tree.roots()).await, ["5", "1", "2", "3", "4"]);
        assert_eq!(tree.verify().await.unwrap(), []);
        tree.collection()
            .update_one(|n| n.id.eq("5"), |n| n.title.set("y"))
            .await
            .unwrap();
        assert_eq!(tree.verify().await.unwrap().len(), 1);
        tree.repair().await.unwrap();
        assert_eq!(ids(tree.roots()).await, ["1", "2", "3", "4", "5"]);
        assert_eq!(tree.verify().await.unwrap(), []);
    }
    are_in_order::<ParentReference>(db).await;
    are_in_order::<ChildReference>(db).await;
    are_in_order::<MaterializedPaths>(db).await;
    are_in_order::<NestedSets>(db).await;
}

async fn an_id_that_a_collation_takes_for_another_is_there_already(db: &Db) {
    async fn refuses<S: TreeModel>(db: &Db, options: TreeOptions) {
        create::<Node>(db, "nodes").await;
        db.drop_collection("nodes_trees").await.unwrap();
        let tree = Tree::<Node, S>::open(db, options).await.unwrap();
        tree.insert_root(node("I")).await.unwrap();
        tree.insert_child("i", node("i10")).await.unwrap();
        let taken = tree.insert_child("I", node("I10")).await.unwrap_err();
        let says = |error: &TreeError, id: &str| matches!(error, TreeError::DuplicateKey { model: "Node", id: own, .. } if own.as_str() == Some(id));
        assert!(says(&taken, "I10"), "{taken:?}");
        let taken = tree.rename("i10", "i".to_owned()).await.unwrap_err();
        assert!(says(&taken, "i"), "{taken:?}");
        let batch = ["x", "X"].map(|id| (node(id), Some("I".to_owned())));
        let taken = tree.load_flat(batch.into()).await.unwrap_err();
        assert!(matches!(taken, TreeError::DuplicateKey { .. }), "{taken:?}");
        assert_eq!(ids(tree.descendants("i").into_future()).await, ["i10"]);
        assert_eq!(tree.verify().await.unwrap(), []);
    }
    for options in [TreeOptions::new(), TreeOptions::new().write_ahead()] {
        refuses::<ParentReference>(db, options.clone()).await;
        refuses::<ChildReference>(db, options.clone()).await;
        refuses::<ArrayOfAncestors>(db, options.clone()).await;
        refuses::<MaterializedPaths>(db, options.clone()).await;
        refuses::<NestedSets>(db, options).await;
    }
}

async fn a_node_is_renamed_to_what_the_collation_takes_for_the_same(db: &Db) {
    async fn renames<S: TreeModel>(db: &Db, options: TreeOptions) {
        create::<Node>(db, "nodes").await;
        db.drop_collection("nodes_trees").await.unwrap();
        let tree = Tree::<Node, S>::open(db, options).await.unwrap();
        tree.insert_root(node("docs")).await.unwrap();
        tree.insert_child("docs", node("api")).await.unwrap();
        tree.insert_child("api", node("v1")).await.unwrap();
        // The node is found by the old one whatever its case.
        tree.rename("DOCS", "Docs".to_owned()).await.unwrap();
        tree.rename("api", "API".to_owned()).await.unwrap();
        assert_eq!(ids(tree.roots()).await, ["Docs"]);
        assert_eq!(ids(tree.descendants("docs").into_future()).await, ["API", "v1"]);
        assert_eq!(ids(tree.ancestors("v1")).await, ["Docs", "API"]);
        assert_eq!(tree.branch("DOCS").await.unwrap().len(), 3);
        assert_eq!(tree.verify().await.unwrap(), []);
    }
    for options in [TreeOptions::new(), TreeOptions::new().write_ahead()] {
        renames::<ParentReference>(db, options.clone()).await;
        renames::<ChildReference>(db, options.clone()).await;
        renames::<ArrayOfAncestors>(db, options.clone()).await;
        renames::<MaterializedPaths>(db, options.clone()).await;
        renames::<NestedSets>(db, options).await;
    }
}

async fn an_index_of_paths_with_the_collections_collation_stays(db: &Db) {
    create::<Node>(db, "nodes").await;
    let nodes = db.collection::<Node>();
    // As former versions built it.
    let old = doc! {"name": "path_1", "key": {"path": 1}};
    nodes.raw().create_indexes().index_raw(old).await.unwrap();
    for _ in 0..2 {
        let tree = Tree::<Node, MaterializedPaths>::open(db, TreeOptions::new())
            .await
            .unwrap();
        if tree.is_empty().await.unwrap() {
            tree.insert_root(node("docs")).await.unwrap();
            tree.insert_child("docs", node("api")).await.unwrap();
        }
        assert_eq!(ids(tree.descendants("docs").into_future()).await, ["api"]);
        let mut names: Vec<String> = nodes
            .list_indexes()
            .await
            .unwrap()
            .iter()
            .map(|index| index.name.clone())
            .collect();
        names.sort();
        assert_eq!(names, ["_id_", "parent_1_position_1", "path_1", "path_1_simple"]);
        // The range is read by the index that compares by bytes.
        let below = doc! {"path": {"$gte": ",docs,", "$lt": ",docs-"}};
        let found = nodes.raw().find(below).collation(doc! {"locale": "simple"});
        let plan = found.explain().executed().await.unwrap();
        let examined = plan
            .get_document("executionStats")
            .unwrap()
            .get("totalDocsExamined");
        assert_eq!(examined.and_then(odm_tests_number), Some(1));
        // A model that declares nothing of it leaves it alone.
        nodes.sync_indexes().await.unwrap();
    }
}

fn odm_tests_number(value: &bson::Bson) -> Option<i64> {
    value.as_i64().or_else(|| value.as_i32().map(i64::from))
}
