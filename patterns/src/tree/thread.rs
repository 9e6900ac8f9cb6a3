//! What only paths and intervals can tell.

use odm::bson::doc;
use odm::{Model, Operand};

use super::error::{Result, TreeError};
use super::handle::Tree;
use super::model::{StoresIntervals, StoresPaths};
use crate::exact::by_bytes;

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
        let rows = self.rows(&forest)?.into_iter();
        Ok(rows.map(|(node, depth)| (node, depth + 1)).collect())
    }

    /// A page of the tree in the order of the paths, with depths: one indexed range. It is the order of
    /// [`threaded`](Tree::threaded) where paths are [`Threaded`](super::PathStyle::Threaded), siblings come in the order
    /// of their `_id`s and these are equally long, as ObjectIds are.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn threaded_page(&self, skip: u64, limit: u64) -> Result<Vec<(M, usize)>> {
        let core = self.core()?;
        let find = core.nodes.find(core.scoped(doc! {}));
        let find = find
            .sort_raw(doc! { &core.layout.path: 1 })
            .collation(by_bytes())
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
