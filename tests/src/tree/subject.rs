//! A stored tree, asked the same as the reference.

use std::marker::PhantomData;

use bson::{Document, doc};
use odm::{Db, Model};
use odm_patterns::tree::{DeleteMode, KeepsOrder, Order, Position, Tree, TreeError, TreeOptions};
use serde::{Deserialize, Serialize};

use super::{Forest, Key, OnDelete, Operation, Place, Refusal, shuffled};

/// A node with a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "nodes")]
pub struct Numbered {
    #[serde(rename = "_id")]
    pub id: i64,
    pub name: String,
}

/// A node with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Model)]
#[odm(collection = "names")]
pub struct Named {
    #[serde(rename = "_id")]
    pub id: String,
}

/// Keys of stored nodes.
pub trait Stored: Key + Send + Sync + 'static {
    /// Their model.
    type Node: Model<Key = Self> + Send + Sync + 'static;
    /// The node of this key.
    fn node(self) -> Self::Node;
    /// The key of a node.
    fn of(node: &Self::Node) -> Self;
}

impl Stored for i64 {
    type Node = Numbered;

    fn node(self) -> Numbered {
        let name = format!("node {self}");
        Numbered { id: self, name }
    }

    fn of(node: &Numbered) -> i64 {
        node.id
    }
}

impl Stored for String {
    type Node = Named;

    fn node(self) -> Named {
        Named { id: self }
    }

    fn of(node: &Named) -> String {
        node.id.clone()
    }
}

/// A stored tree of one of the models.
#[derive(Debug)]
pub struct Subject<K: Stored, S: KeepsOrder> {
    /// The tree itself.
    pub tree: Tree<K::Node, S>,
    db: Db,
    collection: String,
    marker: PhantomData<K>,
}

fn refusal(error: TreeError) -> Refusal {
    match error {
        TreeError::NotFound { .. } => Refusal::Missing,
        TreeError::DuplicateKey { .. } => Refusal::Duplicate,
        TreeError::IntoOwnDescendant { .. } => Refusal::IntoDescendant,
        TreeError::HasChildren { .. } => Refusal::HasChildren,
        other => Refusal::Other(format!("{other:?}")),
    }
}

/// The position in relation to a node.
fn position<K>(place: &Place<K>) -> Position {
    match place {
        Place::FirstRoot => Position::FirstSibling,
        Place::LastRoot => Position::LastSibling,
        Place::RootAt(index) => Position::SiblingAt(*index),
        Place::FirstChild(_) => Position::FirstChild,
        Place::LastChild(_) => Position::LastChild,
        Place::ChildAt(_, index) => Position::ChildAt(*index),
        Place::FirstSibling(_) => Position::FirstSibling,
        Place::LastSibling(_) => Position::LastSibling,
        Place::Left(_) => Position::Left,
        Place::Right(_) => Position::Right,
    }
}

impl<K: Stored, S: KeepsOrder> Subject<K, S> {
    /// Opens the tree, which may be there already.
    pub async fn open(db: &Db, options: TreeOptions) -> Subject<K, S> {
        let tree = Tree::open(db, options).await.expect("the tree opens");
        Subject::of(db, tree)
    }

    /// The subject of an open tree.
    pub fn of(db: &Db, tree: Tree<K::Node, S>) -> Subject<K, S> {
        Subject {
            collection: tree.collection().name().to_owned(),
            tree,
            db: db.clone(),
            marker: PhantomData,
        }
    }

    /// Forgets all nodes and all that the tree keeps beside them.
    pub async fn clear(&self) {
        for name in [&self.collection, &format!("{}_trees", self.collection)] {
            let cleared = self.db.raw_collection(name).delete_many(doc! {}).await;
            cleared.expect("the collection is emptied");
        }
    }

    /// All nodes as they are stored.
    pub async fn stored(&self) -> Vec<Document> {
        let nodes = self.db.raw_collection(&self.collection);
        nodes.find(doc! {}).await.expect("nodes are read")
    }

    /// The node that a place among the roots is said in relation to.
    async fn target(&self, place: &Place<K>) -> Result<Option<K>, Refusal> {
        match (place, place.target()) {
            (_, Some(target)) => Ok(Some(target.clone())),
            (Place::LastRoot, None) => Ok(None),
            (_, None) => {
                let first = self.tree.roots_page(0, 1).await.map_err(refusal)?;
                Ok(first.first().map(K::of))
            }
        }
    }

    /// Inserts a node.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn insert(&self, key: K, place: &Place<K>) -> Result<(), Refusal> {
        let inserted = match self.target(place).await? {
            Some(target) => self.tree.insert_at(key.node(), target, position(place)).await,
            None => self.tree.insert_root(key.node()).await,
        };
        inserted.map_err(refusal)
    }

    /// Moves a node.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn shift(&self, key: &K, place: &Place<K>) -> Result<(), Refusal> {
        let moved = match self.target(place).await? {
            Some(target) => self.tree.move_to(key.clone(), target, position(place)).await,
            None => self.tree.move_to_root(key.clone()).await,
        };
        moved.map_err(refusal)
    }

    /// Asks any operation.
    ///
    /// # Errors
    /// Why it is refused.
    pub async fn apply(&self, operation: &Operation<K>) -> Result<(), Refusal> {
        match operation {
            Operation::Insert(key, place) => self.insert(key.clone(), place).await,
            Operation::Move(key, place) => self.shift(key, place).await,
            Operation::Delete(key, rule) => {
                let mode = match rule {
                    OnDelete::Cascade => DeleteMode::Cascade,
                    OnDelete::Adopt => DeleteMode::Adopt,
                    OnDelete::Roots => DeleteMode::MakeRoots,
                    OnDelete::Refuse => DeleteMode::Refuse,
                };
                let deleted = self.tree.delete(key.clone(), mode).await;
                deleted.map(drop).map_err(refusal)
            }
            Operation::Rename(key, new) => {
                let renamed = self.tree.rename(key.clone(), new.clone()).await;
                renamed.map_err(refusal)
            }
            Operation::Copy(key, place, first) => self.copy(key, place, first).await,
            Operation::Reorder(parent, seed) => {
                let reordered = match parent {
                    Some(key) => {
                        let children = self.tree.children(key.clone()).await.map_err(refusal)?;
                        let children: Vec<K> = children.iter().map(K::of).collect();
                        self.tree.reorder(key.clone(), shuffled(&children, *seed)).await
                    }
                    None => {
                        let roots = self.tree.roots().await.map_err(refusal)?;
                        let roots: Vec<K> = roots.iter().map(K::of).collect();
                        self.tree.reorder_roots(shuffled(&roots, *seed)).await
                    }
                };
                reordered.map_err(refusal)
            }
        }
    }

    async fn copy(&self, key: &K, place: &Place<K>, first: &K) -> Result<(), Refusal> {
        let target = self.target(place).await?;
        let mut next = first.clone();
        let name = |node: &K::Node| {
            // Again from the top.
            if K::of(node) == *key {
                next = first.clone();
            }
            let name = next.clone();
            next = name.successor();
            name.node()
        };
        let copied = match target {
            Some(target) => {
                self.tree
                    .copy_to(key.clone(), target, position(place), name)
                    .await
            }
            None => self.tree.copy_to_root(key.clone(), name).await,
        };
        copied.map(drop).map_err(refusal)
    }

    /// Key, depth from 0 and number of children of all nodes, in pre-order.
    ///
    /// # Errors
    /// What the tree says.
    pub async fn outline(&self) -> Result<Vec<(K, usize, usize)>, Refusal> {
        let rows = self.tree.annotated().await.map_err(refusal)?;
        Ok(rows
            .iter()
            .map(|row| (K::of(&row.node), row.depth - 1, row.children))
            .collect())
    }

    /// What `verify` finds.
    pub async fn problems(&self) -> Vec<String> {
        let found = self.tree.verify().await.expect("the tree is verified");
        found.iter().map(|problem| format!("{problem:?}")).collect()
    }

    /// The parent's key.
    pub async fn parent(&self, key: K) -> Option<K> {
        let parent = self.tree.parent(key).await.expect("the node is there");
        parent.as_ref().map(K::of)
    }

    /// Holds every way to read about two nodes against the reference.
    ///
    /// # Errors
    /// The first difference.
    pub async fn reads(&self, forest: &Forest<K>, key: &K, other: &K) -> Result<(), String> {
        self.compare(forest, key, other)
            .await
            .map_err(|error| format!("reading {key:?} and {other:?}: {error:?}"))?
            .map_err(|text| format!("reading {key:?} and {other:?}: {text}"))
    }

    async fn compare(&self, forest: &Forest<K>, key: &K, other: &K) -> Result<Result<(), String>, TreeError> {
        let tree = &self.tree;
        let k = || key.clone();
        let keys = |nodes: Vec<K::Node>| -> Vec<K> { nodes.iter().map(K::of).collect() };
        macro_rules! same {
            ($what:literal, $found:expr, $expected:expr) => {
                let (found, expected) = ($found, $expected);
                if found != expected {
                    return Ok(Err(format!("{}: {found:?} instead of {expected:?}", $what)));
                }
            };
        }
        let children = forest.children(key).to_vec();
        let descendants = forest.descendants(key);
        let mut with_self = vec![k()];
        with_self.extend(descendants.iter().cloned());
        let near = |levels: usize| -> Vec<K> {
            let own = forest.depth(key);
            let near = descendants
                .iter()
                .filter(|below| forest.depth(below) <= own + levels);
            near.cloned().collect()
        };
        let mut leaves = forest.leaves(key);
        if children.is_empty() {
            leaves.push(k());
        }
        same!("get", tree.get(k()).await?.as_ref().map(K::of), Some(k()));
        same!("len", tree.len().await?, forest.len() as u64);
        same!("is_empty", tree.is_empty().await?, false);
        same!(
            "parent",
            tree.parent(k()).await?.as_ref().map(K::of),
            forest.parent(key).cloned()
        );
        same!("root_of", K::of(&tree.root_of(k()).await?), forest.root_of(key));
        same!("roots", keys(tree.roots().await?), forest.roots().to_vec());
        same!(
            "ancestors",
            keys(tree.ancestors(k()).await?),
            forest.ancestors(key)
        );
        same!("children", keys(tree.children(k()).await?), children.clone());
        let page: Vec<K> = children.iter().skip(1).take(2).cloned().collect();
        same!("children_page", keys(tree.children_page(k(), 1, 2).await?), page);
        same!("child_count", tree.child_count(k()).await?, children.len() as u64);
        let mut siblings = forest.siblings(key).to_vec();
        siblings.retain(|sibling| sibling != key);
        same!("siblings", keys(tree.siblings(k()).await?), siblings);
        same!(
            "descendants",
            keys(tree.descendants(k()).await?),
            descendants.clone()
        );
        same!(
            "descendants with self",
            keys(tree.descendants(k()).with_self().await?),
            with_self.clone()
        );
        for levels in 0..3 {
            same!(
                "descendants of some levels",
                keys(tree.descendants(k()).max_depth(levels).await?),
                near(levels)
            );
        }
        same!(
            "descendants breadth first",
            keys(tree.descendants(k()).order(Order::BreadthFirst).await?),
            forest.breadth_first(key)
        );
        let mut unordered = keys(tree.descendants(k()).order(Order::Unordered).await?);
        unordered.sort();
        let mut expected = descendants.clone();
        expected.sort();
        same!("descendants unordered", unordered, expected);
        same!(
            "descendant_count",
            tree.descendant_count(k()).await?,
            descendants.len() as u64
        );
        same!("leaves", keys(tree.leaves(k()).await?), leaves);
        same!("depth", tree.depth(k()).await?, forest.depth(key) + 1);
        same!(
            "lowest_common_ancestor",
            tree.lowest_common_ancestor(k(), other.clone())
                .await?
                .as_ref()
                .map(K::of),
            forest.common_ancestor(key, other)
        );
        same!("is_root", tree.is_root(k()).await?, forest.parent(key).is_none());
        same!("is_leaf", tree.is_leaf(k()).await?, children.is_empty());
        same!(
            "is_child_of",
            tree.is_child_of(k(), other.clone()).await?,
            forest.parent(key) == Some(other)
        );
        same!(
            "is_sibling_of",
            tree.is_sibling_of(k(), other.clone()).await?,
            key != other && forest.parent(key) == forest.parent(other)
        );
        same!(
            "is_ancestor_of",
            tree.is_ancestor_of(k(), other.clone()).await?,
            forest.is_ancestor(key, other)
        );
        same!(
            "is_descendant_of",
            tree.is_descendant_of(k(), other.clone()).await?,
            forest.is_ancestor(other, key)
        );
        let branch = tree.branch(k()).await?;
        let branch: Vec<K> = branch.preorder().iter().map(|(node, _)| K::of(node)).collect();
        same!("branch", branch, with_self);
        let flat: Vec<(K, Option<K>)> = tree
            .flat()
            .await?
            .iter()
            .map(|(node, parent)| (K::of(node), parent.clone()))
            .collect();
        let expected: Vec<(K, Option<K>)> = forest
            .preorder()
            .into_iter()
            .map(|key| {
                let parent = forest.parent(&key).cloned();
                (key, parent)
            })
            .collect();
        same!("flat", flat, expected);
        Ok(Ok(()))
    }
}
