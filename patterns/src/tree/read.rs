//! Reading a tree.

use odm::bson::{Bson, Document, doc};
use odm::{Filter, Model, Operand};

use super::branch::{Annotated, Branch, nest};
use super::core::Core;
use super::descendants::Descendants;
use super::error::{Result, TreeError};
use super::forest::Forest;
use super::handle::Tree;
use super::identity::same;
use super::layout::{Shape, equal};
use super::model::{StoresIntervals, StoresPaths, TreeModel};
use super::node::Node;
use super::position::Order;
use super::slot::is_in;

impl<M: Model, S: TreeModel> Tree<M, S> {
    /// The node with this `_id`, if it is in the tree. One query.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn get(&self, id: impl Operand<M::Key>) -> Result<Option<M>> {
        let id = self.key(id)?;
        let node = self.core()?.get(&id).await?;
        node.map(|node| self.decode(&node)).transpose()
    }

    /// How many nodes there are. One query.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn len(&self) -> Result<u64> {
        let core = self.core()?;
        Ok(core.nodes.count(core.layout.scoped(doc! {})).await?)
    }

    /// Whether there is no node. One query.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn is_empty(&self) -> Result<bool> {
        let core = self.core()?;
        Ok(!core.nodes.exists(core.layout.scoped(doc! {})).await?)
    }

    /// The parent; `None` for a root. Two queries.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn parent(&self, id: impl Operand<M::Key>) -> Result<Option<M>> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        let parent = core.parent(&node).await?;
        parent.map(|parent| self.decode(&parent)).transpose()
    }

    /// The root above a node, or the node itself when it is one. Cost: as [`ancestors`](Tree::ancestors).
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn root_of(&self, id: impl Operand<M::Key>) -> Result<M> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        let above = core.ancestors(&node).await?;
        self.decode(above.first().unwrap_or(&node))
    }

    /// The roots, in their order. One query; two for child references.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn roots(&self) -> Result<Vec<M>> {
        self.roots_page(0, 0).await
    }

    /// Some of the roots: so many left out, and so many at the most; 0 is no limit.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn roots_page(&self, skip: u64, limit: u64) -> Result<Vec<M>> {
        let nodes = self.core()?.children(None, skip, limit).await?;
        self.decode_all(&nodes)
    }

    /// The ancestors, the root first.
    ///
    /// Two queries: the node, and one for all ancestors (parent and child references and nested sets: a `$graphLookup`, or
    /// one query for each level where there is none).
    ///
    /// # Errors
    /// `NotFound`; `Damaged` when the node is its own ancestor.
    pub async fn ancestors(&self, id: impl Operand<M::Key>) -> Result<Vec<M>> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        let nodes = core.ancestors(&node).await?;
        self.decode_all(&nodes)
    }

    /// The children, in their order. Two queries.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn children(&self, id: impl Operand<M::Key>) -> Result<Vec<M>> {
        self.children_page(id, 0, 0).await
    }

    /// Some of the children: so many left out, and so many at the most; 0 is no limit.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn children_page(&self, id: impl Operand<M::Key>, skip: u64, limit: u64) -> Result<Vec<M>> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        if core.layout.shape == Shape::Children {
            let nodes = core.children(Some(&node), skip, limit).await?;
            return self.decode_all(&nodes);
        }
        let filter = core.children_filter(Some(&node));
        self.find(filter, Some(core.layout.order()), skip, limit).await
    }

    /// The nodes that match as the model has them, where the fields of the tree need not be looked at.
    pub(super) async fn find(
        &self,
        filter: Document,
        sort: Option<Document>,
        skip: u64,
        limit: u64,
    ) -> Result<Vec<M>> {
        let filter = self.core()?.layout.scoped(filter);
        let mut find = self
            .collection
            .find(|_| Filter::raw(filter))
            .with_deleted()
            .skip(skip)
            .limit(limit);
        if let Some(sort) = sort {
            find = find.sort_raw(sort);
        }
        Ok(find.await?)
    }

    /// How many children a node has. Two queries.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn child_count(&self, id: impl Operand<M::Key>) -> Result<u64> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        if core.layout.shape == Shape::Children {
            return Ok(node.children.len() as u64);
        }
        let filter = core.layout.scoped(core.children_filter(Some(&node)));
        Ok(core.nodes.count(filter).await?)
    }

    /// The other children of the same parent, or the other roots, in their order.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn siblings(&self, id: impl Operand<M::Key>) -> Result<Vec<M>> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        let parent = core.parent(&node).await?;
        let mut nodes = core.children(parent.as_ref(), 0, 0).await?;
        nodes.retain(|sibling| !same(&sibling.id, &node.id));
        self.decode_all(&nodes)
    }

    /// All below a node: `.await` gives them, each before its children, unless told otherwise.
    ///
    /// Two queries: the node, and one for all descendants (parent and child references: a `$graphLookup`, or one query
    /// for each level where there is none).
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use odm_patterns::tree::{NestedSets, Order, Tree, TreeOptions};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Category { #[serde(rename = "_id")] id: String }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// # let tree = Tree::<Category, NestedSets>::new(&db, TreeOptions::new());
    /// # tree.insert_root(Category { id: "Books".into() }).await?;
    /// # tree.insert_child("Books", Category { id: "Programming".into() }).await?;
    /// let near = tree.descendants("Books").with_self().max_depth(1).order(Order::BreadthFirst).await?;
    /// assert_eq!(near.len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn descendants(&self, id: impl Operand<M::Key>) -> Descendants<M, S> {
        Descendants {
            id: self.key(id),
            tree: self.clone(),
            levels: None,
            with_self: false,
            order: Order::default(),
        }
    }

    /// How many nodes are below a node. Two queries, of which the second reads no documents for arrays of ancestors,
    /// paths and nested sets.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn descendant_count(&self, id: impl Operand<M::Key>) -> Result<u64> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        match core.below_filter(&node)? {
            Some(filter) => Ok(core.nodes.count(core.layout.scoped(filter)).await?),
            None => Ok(core.descendants(&node, None).await?.len() as u64),
        }
    }

    /// The nodes below a node that have no children, itself when it has none. In preorder.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn leaves(&self, id: impl Operand<M::Key>) -> Result<Vec<M>> {
        let forest = self.core()?.subtree(&self.key(id)?, None).await?;
        let leaves = forest
            .preorder()
            .into_iter()
            .filter(|(place, _)| forest.children[*place].is_empty());
        leaves
            .map(|(place, _)| self.decode(&forest.nodes[place]))
            .collect()
    }

    /// How deep a node is; a root has depth 1.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn depth(&self, id: impl Operand<M::Key>) -> Result<usize> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        match core.layout.shape {
            Shape::Ancestors => Ok(node.ancestors.as_ref().map_or(0, Vec::len) + 1),
            Shape::Paths => Ok(core.depth_of_path(&node) + 1),
            _ => Ok(core.ancestors(&node).await?.len() + 1),
        }
    }

    /// The deepest node that two have above them both, or that one of them is; `None` when they have different roots.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn lowest_common_ancestor(
        &self,
        one: impl Operand<M::Key>,
        other: impl Operand<M::Key>,
    ) -> Result<Option<M>> {
        let core = self.core()?;
        let (one, other) = (
            core.need(&self.key(one)?).await?,
            core.need(&self.key(other)?).await?,
        );
        let mut above = core.ancestors(&one).await?;
        above.push(one);
        let mut others: Vec<Bson> = core
            .ancestors(&other)
            .await?
            .into_iter()
            .map(|node| node.id)
            .collect();
        others.push(other.id);
        let lowest = above.iter().rev().find(|node| is_in(&others, &node.id));
        lowest.map(|node| self.decode(node)).transpose()
    }

    /// Whether a node has no parent.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn is_root(&self, id: impl Operand<M::Key>) -> Result<bool> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        Ok(core.parent(&node).await?.is_none())
    }

    /// Whether a node has no children.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn is_leaf(&self, id: impl Operand<M::Key>) -> Result<bool> {
        let core = self.core()?;
        let node = core.need(&self.key(id)?).await?;
        Ok(core.children(Some(&node), 0, 1).await?.is_empty())
    }

    /// Whether the first node is a child of the second.
    ///
    /// # Errors
    /// `NotFound` for either.
    pub async fn is_child_of(&self, id: impl Operand<M::Key>, parent: impl Operand<M::Key>) -> Result<bool> {
        let core = self.core()?;
        let (node, other) = (
            core.need(&self.key(id)?).await?,
            core.need(&self.key(parent)?).await?,
        );
        let parent = core.parent(&node).await?;
        Ok(parent.is_some_and(|parent| same(&parent.id, &other.id)))
    }

    /// Whether two nodes are different children of one parent, or different roots.
    ///
    /// # Errors
    /// `NotFound` for either.
    pub async fn is_sibling_of(&self, id: impl Operand<M::Key>, other: impl Operand<M::Key>) -> Result<bool> {
        let core = self.core()?;
        let (node, other) = (
            core.need(&self.key(id)?).await?,
            core.need(&self.key(other)?).await?,
        );
        let parents = (core.parent(&node).await?, core.parent(&other).await?);
        Ok(!same(&node.id, &other.id)
            && match parents {
                (None, None) => true,
                (Some(one), Some(two)) => same(&one.id, &two.id),
                _ => false,
            })
    }

    /// Whether the first node is above the second.
    ///
    /// # Errors
    /// `NotFound` for either.
    pub async fn is_ancestor_of(
        &self,
        id: impl Operand<M::Key>,
        other: impl Operand<M::Key>,
    ) -> Result<bool> {
        let core = self.core()?;
        let (node, other) = (
            core.need(&self.key(id)?).await?,
            core.need(&self.key(other)?).await?,
        );
        core.is_above(&node, &other).await
    }

    /// Whether the first node is below the second.
    ///
    /// # Errors
    /// `NotFound` for either.
    pub async fn is_descendant_of(
        &self,
        id: impl Operand<M::Key>,
        other: impl Operand<M::Key>,
    ) -> Result<bool> {
        let core = self.core()?;
        let (node, other) = (
            core.need(&self.key(id)?).await?,
            core.need(&self.key(other)?).await?,
        );
        core.is_above(&other, &node).await
    }

    /// The whole tree as values, each root with all below it. One query; two for child references.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn branches(&self) -> Result<Vec<Branch<M>>> {
        let forest = self.core()?.forest().await?;
        let nodes = forest.preorder().into_iter();
        let nodes: Result<Vec<(M, usize)>> = nodes
            .map(|(place, depth)| Ok((self.decode(&forest.nodes[place])?, depth)))
            .collect();
        Ok(nest(nodes?))
    }

    /// A node with all below it as values. Two queries.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn branch(&self, id: impl Operand<M::Key>) -> Result<Branch<M>> {
        let id = self.key(id)?;
        let forest = self.core()?.subtree(&id, None).await?;
        let nodes = forest.preorder().into_iter();
        let nodes: Result<Vec<(M, usize)>> = nodes
            .map(|(place, depth)| Ok((self.decode(&forest.nodes[place])?, depth)))
            .collect();
        nest(nodes?).into_iter().next().ok_or(TreeError::NotFound { id })
    }

    /// All nodes with the `_id`s of their parents, each before its children: a flat dump, which
    /// [`load_flat`](Tree::load_flat) takes.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn flat(&self) -> Result<Vec<(M, Option<M::Key>)>> {
        let forest = self.core()?.forest().await?;
        let nodes = forest.preorder().into_iter().map(|(place, _)| {
            let parent = forest.parents[place].map(|parent| &forest.nodes[parent].id);
            let parent = parent
                .map(|parent| self.collection.decode_key(parent))
                .transpose()?;
            Ok((self.decode(&forest.nodes[place])?, parent))
        });
        nodes.collect()
    }

    /// All nodes, each before its children, with their depths and with where lists open and close: what a template
    /// needs. One query; two for child references.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn annotated(&self) -> Result<Vec<Annotated<M>>> {
        let forest = self.core()?.forest().await?;
        self.annotate(&forest, 1)
    }

    /// As [`annotated`](Tree::annotated), for a node and all below it; the node has depth 1.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn annotated_below(&self, id: impl Operand<M::Key>) -> Result<Vec<Annotated<M>>> {
        let forest = self.core()?.subtree(&self.key(id)?, None).await?;
        self.annotate(&forest, 1)
    }

    fn annotate(&self, forest: &Forest, first: usize) -> Result<Vec<Annotated<M>>> {
        let mut index_of = vec![0; forest.nodes.len()];
        for siblings in forest.children.iter().chain([&forest.tops]) {
            for (index, place) in siblings.iter().enumerate() {
                index_of[*place] = index;
            }
        }
        let walked = forest.preorder();
        let mut all = Vec::with_capacity(walked.len());
        for (at, (place, depth)) in walked.iter().enumerate() {
            let next = walked.get(at + 1).map(|(_, depth)| *depth);
            all.push(Annotated {
                node: self.decode(&forest.nodes[*place])?,
                depth: depth + first,
                children: forest.children[*place].len(),
                index: index_of[*place],
                opens: index_of[*place] == 0,
                closes: match next {
                    Some(next) => depth.saturating_sub(next),
                    None => depth + 1,
                },
            });
        }
        Ok(all)
    }
}

impl<M: Model, S: StoresPaths> Tree<M, S> {
    /// The stored path; `None` for a root, but in threads.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn path_of(&self, id: impl Operand<M::Key>) -> Result<Option<String>> {
        Ok(self.core()?.need(&self.key(id)?).await?.path)
    }

    /// The whole tree in the order in which threads are shown, each node before its replies, with depths: one query.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn threaded(&self) -> Result<Vec<(M, usize)>> {
        let forest = self.core()?.forest().await?;
        let nodes = forest.preorder().into_iter();
        nodes
            .map(|(place, depth)| Ok((self.decode(&forest.nodes[place])?, depth + 1)))
            .collect()
    }

    /// A page of the tree in the order of the paths, with depths: one indexed range. It is the order of
    /// [`threaded`](Tree::threaded) where paths are [`Threaded`](super::PathStyle::Threaded), siblings come in the order
    /// of their `_id`s and these are equally long, as ObjectIds are.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn threaded_page(&self, skip: u64, limit: u64) -> Result<Vec<(M, usize)>> {
        let core = self.core()?;
        let find = core.nodes.find(core.layout.scoped(doc! {}));
        let find = find
            .sort_raw(doc! { &core.layout.path: 1 })
            .skip(skip)
            .limit(limit);
        let nodes = find.encoded().await?.into_iter().map(|raw| core.read(raw));
        nodes
            .map(|node| Ok((self.decode(&node)?, core.depth_of_path(&node) + 1)))
            .collect()
    }
}

impl<M: Model, S: StoresIntervals> Tree<M, S> {
    /// The stored numbers, the lower first.
    ///
    /// # Errors
    /// `NotFound`; `Damaged` when one is missing.
    pub async fn interval_of(&self, id: impl Operand<M::Key>) -> Result<(i64, i64)> {
        let node = self.core()?.need(&self.key(id)?).await?;
        match (node.left, node.right) {
            (Some(left), Some(right)) => Ok((left, right)),
            _ => Err(TreeError::Damaged {
                id: node.id,
                reason: "it has no interval",
            }),
        }
    }
}

impl Core {
    /// The condition for all below a node, where one tells.
    pub(super) fn below_filter(&self, node: &Node) -> Result<Option<Document>> {
        let layout = &self.layout;
        Ok(match layout.shape {
            Shape::Ancestors => Some(doc! { &layout.ancestors: equal(&node.id) }),
            Shape::Paths => {
                let inside = super::path::inside(layout, node.path.as_deref(), &node.id)?;
                Some(doc! { &layout.path: super::path::below(layout, &inside) })
            }
            Shape::Nested => match (node.left, node.right) {
                (Some(left), Some(right)) => Some(doc! { &layout.left: { "$gt": left, "$lt": right } }),
                _ => None,
            },
            Shape::Parent | Shape::Children => None,
        })
    }

    async fn is_above(&self, above: &Node, below: &Node) -> Result<bool> {
        if same(&above.id, &below.id) {
            return Ok(false);
        }
        Ok(match self.layout.shape {
            Shape::Ancestors => is_in(below.ancestors.as_deref().unwrap_or(&[]), &above.id),
            Shape::Nested => above.left < below.left && below.right < above.right,
            Shape::Paths => {
                let inside = super::path::inside(&self.layout, above.path.as_deref(), &above.id)?;
                below
                    .path
                    .as_deref()
                    .is_some_and(|path| path.starts_with(&inside))
            }
            _ => self
                .ancestors(below)
                .await?
                .iter()
                .any(|node| same(&node.id, &above.id)),
        })
    }

    /// All nodes, arranged.
    pub(super) async fn forest(&self) -> Result<Forest> {
        let nodes = self.everything().await?;
        let roots = match self.layout.shape {
            Shape::Children => self.listed_roots().await?,
            _ => Vec::new(),
        };
        Ok(Forest::arrange(&self.layout, nodes, &roots))
    }

    /// A node and all below it, arranged; the node is the only top.
    pub(super) async fn subtree(&self, id: &Bson, levels: Option<usize>) -> Result<Forest> {
        let node = self.need(id).await?;
        let mut nodes = self.descendants(&node, levels).await?;
        nodes.insert(0, node);
        let mut forest = Forest::arrange(&self.layout, nodes, &[]);
        forest.tops = forest.place(id).into_iter().collect();
        Ok(forest)
    }
}
