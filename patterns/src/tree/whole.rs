//! Whole trees and subtrees, as values.

use odm::bson::Bson;
use odm::{Model, Operand};

use super::branch::{Annotated, Branch, nest};
use super::core::Core;
use super::error::{Result, TreeError};
use super::forest::Forest;
use super::handle::Tree;
use super::layout::Shape;
use super::model::TreeModel;
use super::slot::is_in;

impl<M: Model, S: TreeModel> Tree<M, S> {
    /// The whole tree as values, each root with all below it. One query; two for child references.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn branches(&self) -> Result<Vec<Branch<M>>> {
        let forest = self.core()?.forest().await?;
        Ok(nest(self.rows(&forest)?))
    }

    /// A node with all below it as values. Two queries.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn branch(&self, id: impl Operand<M::Key>) -> Result<Branch<M>> {
        let id = self.key(id)?;
        let forest = self.core()?.subtree(&id, None).await?;
        let branch = nest(self.rows(&forest)?).into_iter().next();
        branch.ok_or(TreeError::NotFound {
            model: M::DESCRIPTOR.name,
            id,
        })
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

    /// The nodes with their depths, each before its children; a top has 0.
    pub(super) fn rows(&self, forest: &Forest) -> Result<Vec<(M, usize)>> {
        let nodes = forest.preorder().into_iter();
        nodes
            .map(|(place, depth)| Ok((self.decode(&forest.nodes[place])?, depth)))
            .collect()
    }
}

impl Core {
    /// All nodes, arranged.
    pub(super) async fn forest(&self) -> Result<Forest> {
        let nodes = self.everything().await?;
        let roots = match self.layout.shape {
            Shape::Children => self.listed_roots().await?,
            _ => Vec::new(),
        };
        let mut forest = Forest::arrange(&self.layout, nodes, &roots);
        if self.hides() {
            // What is below a deleted node is not seen.
            forest.tops.retain(|top| match self.layout.shape {
                Shape::Children => is_in(&roots, &forest.nodes[*top].id),
                _ => forest.nodes[*top].parent.is_none(),
            });
        }
        Ok(forest)
    }

    /// A node and all below it, arranged; the node is the only top.
    pub(super) async fn subtree(&self, id: &Bson, levels: Option<usize>) -> Result<Forest> {
        let node = self.need(id).await?;
        let id = node.id.clone();
        let mut nodes = self.descendants(&node, levels).await?;
        nodes.insert(0, node);
        let mut forest = Forest::arrange(&self.layout, nodes, &[]);
        forest.tops = forest.place(&id).into_iter().collect();
        Ok(forest)
    }
}
