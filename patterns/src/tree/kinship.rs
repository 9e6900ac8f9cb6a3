//! How nodes stand to each other.

use odm::bson::Bson;
use odm::{Model, Operand};

use super::core::Core;
use super::error::Result;
use super::handle::Tree;
use super::identity::same;
use super::layout::Shape;
use super::model::TreeModel;
use super::node::Node;
use super::slot::is_in;

impl<M: Model, S: TreeModel> Tree<M, S> {
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
        self.is_ancestor_of(other, id).await
    }
}

impl Core {
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
}
