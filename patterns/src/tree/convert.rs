//! From one model to another.

use odm::bson::{Bson, Document};
use odm::{Error, ErrorKind, Model};

use super::arrangement::Arrangement;
use super::branch::Branch;
use super::core::Core;
use super::derive;
use super::error::{Result, TreeError};
use super::execute::Turns;
use super::handle::Tree;
use super::layout::{Layout, Shape};
use super::model::TreeModel;
use super::options::TreeOptions;
use super::plan::Plan;
use super::state::{LAYOUT, State};
use super::verify::Linked;

impl<M: Model, S: TreeModel> Tree<M, S> {
    /// Stores the same tree in the way of another model, in place: the fields of the other are written, those that only
    /// this one has are taken away. The options are those of the new tree, and name the same collection and tenant.
    ///
    /// The writes are recorded as an intent first: when the process ends on the way, the next opening, change or repair
    /// of either tree carries them out, so that there is nothing to resume by hand. Readers meanwhile see nodes of both
    /// kinds. From then on only handles of the new model, with the same fields and style of paths, change and verify the
    /// tree: to others, which may be those of a program that runs on in an older version, it says `Converted`. To convert
    /// what is converted already changes nothing. Not inside a transaction.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use odm_patterns::tree::{NestedSets, ParentReference, Tree, TreeOptions};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Category { #[serde(rename = "_id")] id: String }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// let tree = Tree::<Category, ParentReference>::open(&db, TreeOptions::new()).await?;
    /// tree.insert_root(Category { id: "Books".into() }).await?;
    /// let tree = tree.convert::<NestedSets>(TreeOptions::new()).await?;
    /// assert!(tree.verify().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Damaged` when the tree has problems that lose nodes on the way: [`repair`](Tree::repair) it first; `Segment`,
    /// `PathTooLong` and `TooDeep` when the other model or its options cannot hold it; `Database` when it refuses a write.
    /// Then nothing is written.
    pub async fn convert<T: TreeModel>(&self, options: TreeOptions) -> Result<Tree<M, T>> {
        let from = self.core()?;
        let to = Tree::<M, T>::new(&from.db, options);
        let target = to.core()?;
        if target.layout.collection != from.layout.collection || target.layout.tenant != from.layout.tenant {
            return Err(TreeError::InvalidOption {
                option: "collection",
                reason: "a conversion in place stays in its collection and tenant",
            });
        }
        if target.layout.state != from.layout.state {
            return Err(TreeError::InvalidOption {
                option: "state_collection",
                reason: "a conversion in place keeps its state",
            });
        }
        from.convert(target).await?;
        to.prepare().await?;
        Ok(to)
    }

    /// Copies the tree into another one, which may be stored in another way, of another model, in another collection or
    /// database. `map` makes its nodes. All or nothing, behind the roots that are there.
    ///
    /// # Errors
    /// As [`load`](Tree::load) of the other tree.
    pub async fn convert_into<N: Model, T: TreeModel>(
        &self,
        other: &Tree<N, T>,
        map: impl FnMut(M) -> N,
    ) -> Result<()> {
        let branches = self.branches().await?;
        other.load(mapped(branches, map)).await
    }
}

fn mapped<M, N>(branches: Vec<Branch<M>>, mut map: impl FnMut(M) -> N) -> Vec<Branch<N>> {
    let mut nodes = Vec::new();
    let mut open: Vec<(Branch<M>, usize)> = branches.into_iter().rev().map(|branch| (branch, 0)).collect();
    while let Some((branch, depth)) = open.pop() {
        nodes.push((map(branch.node), depth));
        open.extend(branch.children.into_iter().rev().map(|child| (child, depth + 1)));
    }
    super::branch::nest(nodes)
}

impl Core {
    async fn convert(&self, target: &Core) -> Result<()> {
        if self.db.in_transaction() {
            let text = "a tree cannot be converted in place inside a transaction";
            return Err(Error::new(ErrorKind::Unsupported, text).into());
        }
        let turn = self.turn.clone();
        let _turn = turn.lock().await;
        let core = self.with_places();
        let mark = target.layout.mark();
        let is_done = |state: &State| state.intent.is_none() && state.layout.as_ref() == Some(&mark);
        let mut turns = Turns::default();
        loop {
            if core.state().await?.as_ref().is_some_and(is_done) {
                return Ok(());
            }
            let Some(version) = turns.next(&core).await? else {
                continue;
            };
            let planned = core.plan_conversion(&target.layout).await;
            if planned.as_ref().map_or(true, Plan::is_empty) && core.is_changed_since(version).await? {
                turns.lost().await;
                continue;
            }
            let plan = planned?;
            if plan.is_empty() || core.intend_prepared(version, core.prepare(plan).await?).await? {
                return Ok(());
            }
            turns.lost().await;
        }
    }

    async fn plan_conversion(&self, target: &Layout) -> Result<Plan> {
        let nodes = self.everything().await?;
        let roots = match self.layout.shape {
            Shape::Children => self.listed_roots().await?,
            _ => Vec::new(),
        };
        let linked = Linked::of(&self.layout, nodes, &roots);
        let lost = linked
            .orphans
            .first()
            .or_else(|| linked.circles.first().and_then(|circle| circle.first()));
        if let Some(lost) = lost {
            return Err(TreeError::Damaged {
                id: linked.forest.nodes[*lost].id.clone(),
                reason: "it is no root and below none; repair the tree first",
            });
        }
        let mut forest = linked.forest;
        let keeps_positions = self.layout.positioned && target.positioned;
        for node in &mut forest.nodes {
            if !keeps_positions {
                node.position = None;
            }
            if self.layout.shape != Shape::Nested {
                (node.left, node.right) = (None, None);
            }
        }
        let arrangement = Arrangement::of(target, &forest)?;
        let kept = target.fields();
        let gone: Vec<String> = self
            .layout
            .fields()
            .into_iter()
            .filter(|field| !kept.contains(field))
            .map(str::to_owned)
            .collect();
        let mut plan = Plan::default();
        for (place, fields) in arrangement.places.iter().zip(arrangement.fields) {
            let node = &forest.nodes[*place];
            let stored = |field: &&String| matches!(node.raw.get(field.as_str()), Ok(Some(_)));
            let unset: Vec<String> = gone.iter().filter(stored).cloned().collect();
            plan.change(&node.id, derive::missing(node, fields), unset);
        }
        let listed = if target.shape == Shape::Children {
            Bson::Array(arrangement.roots)
        } else {
            Bson::Null
        };
        let mut state = Document::new();
        state.insert(target.roots(), listed);
        state.insert(LAYOUT, target.mark());
        plan.state = state;
        Ok(plan)
    }
}
