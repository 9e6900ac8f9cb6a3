//! Reading what is below a node.

use futures_util::future::BoxFuture;
use odm::Model;
use odm::bson::{Bson, Document, doc};

use super::core::Core;
use super::error::Result;
use super::forest::Forest;
use super::handle::Tree;
use super::layout::{Shape, equal};
use super::model::TreeModel;
use super::node::Node;
use super::path;
use super::position::Order;

/// All below a node. `.await` gives a `Vec<M>`.
#[must_use = "an action does nothing until it is awaited"]
#[derive(Debug)]
pub struct Descendants<M: Model, S: TreeModel> {
    pub(super) tree: Tree<M, S>,
    pub(super) id: Result<Bson>,
    pub(super) levels: Option<usize>,
    pub(super) with_self: bool,
    pub(super) order: Order,
}

impl<M: Model, S: TreeModel> Descendants<M, S> {
    /// So many levels below the node: 1 is its children.
    pub fn max_depth(mut self, levels: usize) -> Self {
        self.levels = Some(levels);
        self
    }

    /// The node itself too.
    pub fn with_self(mut self) -> Self {
        self.with_self = true;
        self
    }

    /// In another order than preorder.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    async fn run(self) -> Result<Vec<M>> {
        let core = self.tree.core()?;
        let node = core.need(&self.id?).await?;
        let id = node.id.clone();
        let is_nested = core.layout.shape == Shape::Nested;
        let is_sorted = self.order == Order::Unordered || (self.order == Order::Preorder && is_nested);
        if is_sorted
            && self.levels.is_none()
            && let Some(filter) = core.below_filter(&node)?
        {
            let sort = (self.order == Order::Preorder).then(|| doc! { &core.layout.left: 1 });
            let mut found = self.tree.find(filter, sort, 0, 0, core.layout.compares()).await?;
            if self.with_self {
                found.insert(0, self.tree.decode(&node)?);
            }
            return Ok(found);
        }
        let mut nodes = core.descendants(&node, self.levels).await?;
        if is_sorted {
            if self.with_self {
                nodes.insert(0, node);
            }
            return self.tree.decode_all(&nodes);
        }
        nodes.insert(0, node);
        let forest = Forest::arrange(&core.layout, nodes, &[]);
        let top = forest.place(&id).unwrap_or(0);
        let walked = forest.walk(&[top], self.order);
        let walked = walked
            .into_iter()
            .filter(|(place, _)| self.with_self || *place != top);
        walked
            .map(|(place, _)| self.tree.decode(&forest.nodes[place]))
            .collect()
    }
}

impl<M: Model, S: TreeModel> IntoFuture for Descendants<M, S> {
    type Output = Result<Vec<M>>;
    type IntoFuture = BoxFuture<'static, Result<Vec<M>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Core {
    /// The condition for all below a node, where one tells. It compares as [`Layout::compares`] says.
    pub(super) fn below_filter(&self, node: &Node) -> Result<Option<Document>> {
        let layout = &self.layout;
        if self.hides() {
            // What is below a deleted node is not seen, whatever it says itself.
            return Ok(None);
        }
        Ok(match layout.shape {
            Shape::Ancestors => Some(doc! { &layout.ancestors: equal(&node.id) }),
            Shape::Paths => {
                let inside = path::inside(layout, node.path.as_deref(), &node.id)?;
                Some(doc! { &layout.path: path::below(layout, &inside) })
            }
            Shape::Nested => match (node.left, node.right) {
                (Some(left), Some(right)) => Some(doc! { &layout.left: { "$gt": left, "$lt": right } }),
                _ => None,
            },
            Shape::Parent | Shape::Children => None,
        })
    }
}
