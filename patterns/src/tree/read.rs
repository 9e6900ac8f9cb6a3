//! Reading a tree.

use odm::bson::{Document, doc};
use odm::{Filter, Model, Operand};

use super::descendants::Descendants;
use super::error::Result;
use super::handle::Tree;
use super::identity::same;
use super::layout::Shape;
use super::model::TreeModel;
use super::position::Order;

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
        Ok(core.nodes.count(core.scoped(doc! {})).await?)
    }

    /// Whether there is no node. One query.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn is_empty(&self) -> Result<bool> {
        let core = self.core()?;
        Ok(!core.nodes.exists(core.scoped(doc! {})).await?)
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
        self.find(filter, Some(core.layout.order()), skip, limit, None)
            .await
    }

    /// The nodes that match as the model has them, where the fields of the tree need not be looked at.
    pub(super) async fn find(
        &self,
        filter: Document,
        sort: Option<Document>,
        skip: u64,
        limit: u64,
        collation: Option<Document>,
    ) -> Result<Vec<M>> {
        let filter = self.core()?.scoped(filter);
        let mut find = self
            .collection
            .find(|_| Filter::raw(filter))
            .with_deleted()
            .unscoped()
            .skip(skip)
            .limit(limit);
        if let Some(sort) = sort {
            find = find.sort_raw(sort);
        }
        if let Some(collation) = collation {
            find = find.collation(collation);
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
            return Ok(match core.hides() {
                true => core.children(Some(&node), 0, 0).await?.len(),
                false => node.children.len(),
            } as u64);
        }
        let filter = core.scoped(core.children_filter(Some(&node)));
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
            Some(filter) => {
                let mut count = core.nodes.count(core.scoped(filter));
                if let Some(collation) = core.layout.compares() {
                    count = count.collation(collation);
                }
                Ok(count.await?)
            }
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
}
