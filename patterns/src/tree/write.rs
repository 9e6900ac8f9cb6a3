//! Changing a tree.

use odm::bson::{Bson, Document};
use odm::{Field, Model, Operand};

use super::branch::Branch;
use super::change::{Change, Outcome, Seedlings};
use super::error::{Result, TreeError};
use super::execute::{ATTEMPTS, Turns, never_first};
use super::handle::Tree;
use super::identity::Identity;
use super::model::{KeepsOrder, TreeModel};
use super::position::{DeleteMode, Position};
use super::problem::{TreeProblem, TreeRepair};
use super::slot::Place;

impl<M: Model, S: TreeModel> Tree<M, S> {
    /// Inserts a root, behind the others or where the sort key says.
    ///
    /// # Errors
    /// `DuplicateKey`, `Segment`; `Database` with kind `Validation` when the model's rules are broken.
    pub async fn insert_root(&self, node: M) -> Result<()> {
        self.insert_one(node, Place::Root).await
    }

    /// Inserts a child, behind the others or where the sort key says.
    ///
    /// # Errors
    /// `NotFound` for the parent, `DuplicateKey`, `Segment`, `PathTooLong`, `TooDeep`.
    pub async fn insert_child(&self, parent: impl Operand<M::Key>, node: M) -> Result<()> {
        let parent = self.key(parent)?;
        self.insert_one(node, Place::Under(parent)).await
    }

    pub(super) async fn insert_one(&self, node: M, place: Place) -> Result<()> {
        let documents = self.encode(vec![node]).await?;
        self.insert_documents(
            documents.into_iter().map(|document| (document, None)).collect(),
            place,
        )
        .await
    }

    async fn insert_documents(&self, documents: Seedlings, place: Place) -> Result<()> {
        let forests = vec![(documents, place)];
        self.change(Change::Insert { forests }).await.map(|_| ())
    }

    /// Inserts roots with all below them, all or nothing; their `_id`s are kept.
    ///
    /// # Errors
    /// As [`insert_child`](Tree::insert_child), for any of them.
    pub async fn load(&self, branches: Vec<Branch<M>>) -> Result<()> {
        self.load_at(branches, Place::Root).await
    }

    /// Inserts children with all below them, all or nothing; their `_id`s are kept.
    ///
    /// # Errors
    /// As [`insert_child`](Tree::insert_child), for any of them.
    pub async fn load_under(&self, parent: impl Operand<M::Key>, branches: Vec<Branch<M>>) -> Result<()> {
        let parent = self.key(parent)?;
        self.load_at(branches, Place::Under(parent)).await
    }

    async fn load_at(&self, branches: Vec<Branch<M>>, place: Place) -> Result<()> {
        let mut nodes = Vec::new();
        let mut parents = Vec::new();
        let mut open: Vec<(Branch<M>, Option<usize>)> =
            branches.into_iter().rev().map(|branch| (branch, None)).collect();
        while let Some((branch, parent)) = open.pop() {
            let own = nodes.len();
            nodes.push(branch.node);
            parents.push(parent);
            open.extend(branch.children.into_iter().rev().map(|child| (child, Some(own))));
        }
        let documents = self.encode(nodes).await?;
        self.insert_documents(documents.into_iter().zip(parents).collect(), place)
            .await
    }

    /// Inserts nodes with the `_id`s of their parents, all or nothing. They may come in any order, which is that of
    /// siblings; a parent is another of them or a node of the tree.
    ///
    /// # Errors
    /// As [`insert_child`](Tree::insert_child), for any of them; `Damaged` when some are in a circle.
    pub async fn load_flat(&self, nodes: Vec<(M, Option<M::Key>)>) -> Result<()> {
        let mut models = Vec::with_capacity(nodes.len());
        let mut parents = Vec::with_capacity(nodes.len());
        for (node, parent) in nodes {
            models.push(node);
            parents.push(parent.map(|parent| self.key(parent)).transpose()?);
        }
        let documents = self.encode(models).await?;
        let forests = flat_forests::<M>(documents, parents)?;
        self.change(Change::Insert { forests }).await.map(|_| ())
    }

    /// Finds the node at the end of a chain of values of a field, from a root down, and creates what is missing of it.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use odm_patterns::tree::{Tree, TreeOptions};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Category { #[serde(rename = "_id")] id: odm::Id<Category>, name: String }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// let tree = Tree::<Category>::new(&db, TreeOptions::new());
    /// let names = ["Books".to_owned(), "Programming".to_owned()];
    /// let make = |name: &String| Category { id: odm::Id::new(), name: name.clone() };
    /// let first = tree.find_or_create(&names, |c| c.name, make).await?;
    /// let again = tree.find_or_create(&names, |c| c.name, make).await?;
    /// assert_eq!(first.map(|c| c.id), again.map(|c| c.id));
    /// assert_eq!(tree.len().await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Many at a time create a node once. `make` is called for each value, whether its node is there or not. Gives `None`
    /// for a chain of no values.
    ///
    /// # Errors
    /// As [`insert_child`](Tree::insert_child).
    pub async fn find_or_create<T>(
        &self,
        values: &[T],
        field: impl FnOnce(M::Fields<M>) -> Field<M, T>,
        make: impl Fn(&T) -> M,
    ) -> Result<Option<M>> {
        let path = field(M::fields()).path().to_string();
        let made: Vec<M> = values.iter().map(make).collect();
        let documents = self.encode(made).await?;
        let links: Vec<(Bson, Document)> = documents
            .into_iter()
            .map(|document| (at_path(&document, &path), document))
            .collect();
        let Some((_, new)) = links.last() else {
            return Ok(None);
        };
        let core = self.core()?;
        for _ in 0..ATTEMPTS {
            // Most often all is there.
            if let Some(node) = core.end_of_chain(&path, &links).await? {
                return self.decode(&node).map(Some);
            }
            let (field, links) = (path.clone(), links.clone());
            let outcome = self.change(Change::Chain { field, links }).await?;
            if outcome.ids.last() == new.get("_id") {
                return self.stored(new).await.map(Some);
            }
            // Others have made the node since it was looked for.
        }
        Err(never_first())
    }

    /// Makes a node, with all below it, a child of another: behind the others, or where the sort key says.
    ///
    /// # Errors
    /// `NotFound` for either, `IntoOwnDescendant`, `PathTooLong`, `TooDeep`.
    pub async fn move_under(&self, id: impl Operand<M::Key>, parent: impl Operand<M::Key>) -> Result<()> {
        let (id, parent) = (self.key(id)?, self.key(parent)?);
        let place = Place::Under(parent);
        self.change(Change::Move { id, place }).await.map(|_| ())
    }

    /// Makes a node, with all below it, a root: behind the others, or where the sort key says.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn move_to_root(&self, id: impl Operand<M::Key>) -> Result<()> {
        let id = self.key(id)?;
        let place = Place::Root;
        self.change(Change::Move { id, place }).await.map(|_| ())
    }

    /// Deletes a node, and does with its children as the mode says. Gives the number of deleted nodes.
    ///
    /// A deletion as any other of the model: its hooks run, the rules of references to the nodes are carried out, and
    /// where it is deleted softly, the nodes are: they are not seen any more, and keep their places for
    /// [`restore`](Tree::restore).
    ///
    /// # Errors
    /// `NotFound`, never "all"; `HasChildren` when they were to be spared; `Database` with kind `Referenced` when a
    /// document elsewhere denies it.
    pub async fn delete(&self, id: impl Operand<M::Key>, mode: DeleteMode) -> Result<u64> {
        let (id, for_ever) = (self.key(id)?, false);
        Ok(self.change(Change::Delete { id, mode, for_ever }).await?.count)
    }

    /// Deletes a node for ever, even where the model is deleted softly; otherwise as [`delete`](Tree::delete). The node
    /// may be softly deleted already, and so may those below it, which count as the others.
    ///
    /// # Errors
    /// As [`delete`](Tree::delete).
    pub async fn purge(&self, id: impl Operand<M::Key>, mode: DeleteMode) -> Result<u64> {
        let (id, for_ever) = (self.key(id)?, true);
        Ok(self.change(Change::Delete { id, mode, for_ever }).await?.count)
    }

    /// Restores a node that was softly deleted, at its place, and those below it that were deleted at the same time.
    /// Gives the number of restored nodes: 0 where nothing was deleted.
    ///
    /// # Errors
    /// `NotFound`; `ParentDeleted` when it would be below a deleted node.
    pub async fn restore(&self, id: impl Operand<M::Key>) -> Result<u64> {
        let id = self.key(id)?;
        Ok(self.change(Change::Restore { id }).await?.count)
    }

    /// Gives a node another `_id`; everything in the tree that names it follows. What refers to it from elsewhere does
    /// not, so that a node to which others refer by a reference with a rule of deletion is not renamed.
    ///
    /// To the model it is the insertion of the document with its new `_id` and the deletion, for ever, of the old one:
    /// that is what hooks see, and the rules hold. Dates stay, a version begins anew.
    ///
    /// # Errors
    /// `NotFound`; `DuplicateKey` when there is such a node already; `PathTooLong`, `Segment`; `Database` with kind
    /// `Referenced`.
    pub async fn rename(&self, id: impl Operand<M::Key>, to: impl Operand<M::Key>) -> Result<()> {
        let (id, to) = (self.key(id)?, self.key(to)?);
        self.change(Change::Rename { id, to }).await.map(|_| ())
    }

    /// Copies a node with all below it to be a child of another, which may be itself or below it. `copy` makes the copies,
    /// with `_id`s of their own: anew, where somebody else has changed the tree meanwhile. Gives the copy of the node.
    ///
    /// # Errors
    /// `NotFound`; `DuplicateKey` when a copy has an `_id` that is there; `PathTooLong`, `TooDeep`.
    pub async fn copy_under(
        &self,
        id: impl Operand<M::Key>,
        parent: impl Operand<M::Key>,
        copy: impl FnMut(&M) -> M,
    ) -> Result<M> {
        let parent = self.key(parent)?;
        let id = self.key(id)?;
        self.copy_at(id, Place::Under(parent), copy).await
    }

    /// Copies a node with all below it to be a root; as [`copy_under`](Tree::copy_under).
    ///
    /// # Errors
    /// As [`copy_under`](Tree::copy_under).
    pub async fn copy_to_root(&self, id: impl Operand<M::Key>, copy: impl FnMut(&M) -> M) -> Result<M> {
        let id = self.key(id)?;
        self.copy_at(id, Place::Root, copy).await
    }

    async fn copy_at(&self, id: Bson, place: Place, mut copy: impl FnMut(&M) -> M) -> Result<M> {
        let core = self.core()?;
        let mut turns = Turns::default();
        for _ in 0..ATTEMPTS {
            let Some((forest, seen)) = core.read_unchanged(&id, &mut turns).await? else {
                continue;
            };
            let mut copies = Vec::with_capacity(forest.nodes.len());
            let mut parents = Vec::with_capacity(forest.nodes.len());
            let mut places = vec![None; forest.nodes.len()];
            for (at, _) in forest.preorder() {
                places[at] = Some(copies.len());
                parents.push(match forest.tops.contains(&at) {
                    true => None,
                    false => forest.parents[at].and_then(|parent| places[parent]),
                });
                copies.push(copy(&self.decode(&forest.nodes[at])?));
            }
            let documents = self.encode(copies).await?;
            let first = documents.first().cloned().unwrap_or_default();
            let copies = documents.into_iter().zip(parents).collect();
            let place = place.clone();
            let change = Change::Copy { seen, copies, place };
            if core.execute_read(&change, &mut turns).await? {
                return self.stored(&first).await;
            }
        }
        Err(never_first())
    }

    /// A node as it is stored by now.
    async fn stored(&self, document: &Document) -> Result<M> {
        let id = document.get("_id").unwrap_or(&Bson::Null);
        match self.core()?.get(id).await? {
            Some(node) => self.decode(&node),
            // Somebody else has deleted it since.
            None => self.decode_document(document),
        }
    }

    /// Looks for everything that is not as it should be. Reads all nodes; writes nothing.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<TreeProblem>> {
        self.core()?.with_places().verify().await
    }

    /// Mends everything that [`verify`](Tree::verify) finds, by the parent references, or the arrays of children where
    /// there are none. No node is lost: those whose parent is not there, and one of each circle, go where the option
    /// [`orphans`](super::TreeOptions::orphans) says. A node that several arrays of children name stays with the first.
    /// What processes that ended left beside the tree is forgotten.
    ///
    /// # Errors
    /// Those of the database; `NotFound` when the node that orphans go under is not there.
    pub async fn repair(&self) -> Result<TreeRepair> {
        let core = self.core()?.with_places();
        core.roll_forward_first().await?;
        let problems = core.verify().await?;
        let mut report = TreeRepair { problems, written: 0 };
        if !report.problems.is_empty() {
            let outcome = self.change(Change::Repair { below: None }).await?;
            report.written = usize::try_from(outcome.count).unwrap_or(usize::MAX);
        }
        Ok(report)
    }

    /// Writes the fields of all nodes anew, by the parent references. Gives the number of documents that were written.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn rebuild(&self) -> Result<u64> {
        Ok(self.change(Change::Repair { below: None }).await?.count)
    }

    /// As [`rebuild`](Tree::rebuild), for what is below a node.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn rebuild_below(&self, id: impl Operand<M::Key>) -> Result<u64> {
        let below = Some(self.key(id)?);
        Ok(self.change(Change::Repair { below }).await?.count)
    }

    pub(super) async fn change(&self, change: Change) -> Result<Outcome> {
        self.core()?.execute(&change).await
    }
}

impl<M: Model, S: KeepsOrder> Tree<M, S> {
    /// Inserts a node at a position.
    ///
    /// # Errors
    /// As [`insert_child`](Tree::insert_child); `InvalidPosition` for a sorted one without a sort key.
    pub async fn insert_at(&self, node: M, target: impl Operand<M::Key>, position: Position) -> Result<()> {
        let target = self.key(target)?;
        self.insert_one(node, Place::At(target, position)).await
    }

    /// Moves a node, with all below it, to a position. Relative to itself, it can change its place among its siblings.
    ///
    /// # Errors
    /// As [`move_under`](Tree::move_under); `InvalidPosition` for a sorted one without a sort key.
    pub async fn move_to(
        &self,
        id: impl Operand<M::Key>,
        target: impl Operand<M::Key>,
        position: Position,
    ) -> Result<()> {
        let (id, target) = (self.key(id)?, self.key(target)?);
        let place = Place::At(target, position);
        self.change(Change::Move { id, place }).await.map(|_| ())
    }

    /// Inserts children with all below them at a position, all or nothing.
    ///
    /// # Errors
    /// As [`insert_at`](Tree::insert_at), for any of them.
    pub async fn load_to(
        &self,
        branches: Vec<Branch<M>>,
        target: impl Operand<M::Key>,
        position: Position,
    ) -> Result<()> {
        let target = self.key(target)?;
        self.load_at(branches, Place::At(target, position)).await
    }

    /// Copies a node with all below it to a position; as [`copy_under`](Tree::copy_under).
    ///
    /// # Errors
    /// As [`copy_under`](Tree::copy_under).
    pub async fn copy_to(
        &self,
        id: impl Operand<M::Key>,
        target: impl Operand<M::Key>,
        position: Position,
        copy: impl FnMut(&M) -> M,
    ) -> Result<M> {
        let (id, target) = (self.key(id)?, self.key(target)?);
        self.copy_at(id, Place::At(target, position), copy).await
    }

    /// Puts all children of a node into a new order.
    ///
    /// # Errors
    /// `NotFound`; `InvalidPosition` when the list does not name each child once.
    pub async fn reorder<K: Operand<M::Key>>(
        &self,
        parent: impl Operand<M::Key>,
        children: impl IntoIterator<Item = K>,
    ) -> Result<()> {
        let parent = Some(self.key(parent)?);
        let ids: Result<Vec<Bson>> = children.into_iter().map(|child| self.key(child)).collect();
        self.change(Change::Reorder { parent, ids: ids? })
            .await
            .map(|_| ())
    }

    /// Puts all roots into a new order.
    ///
    /// # Errors
    /// `InvalidPosition` when the list does not name each root once.
    pub async fn reorder_roots<K: Operand<M::Key>>(&self, roots: impl IntoIterator<Item = K>) -> Result<()> {
        let ids: Result<Vec<Bson>> = roots.into_iter().map(|root| self.key(root)).collect();
        self.change(Change::Reorder {
            parent: None,
            ids: ids?,
        })
        .await
        .map(|_| ())
    }
}

fn at_path(document: &Document, path: &str) -> Bson {
    let mut value = None;
    let mut inside = Some(document);
    for name in path.split('.') {
        value = inside.and_then(|document| document.get(name));
        inside = value.and_then(Bson::as_document);
    }
    value.cloned().unwrap_or(Bson::Null)
}

/// Flat documents as forests, one for each node of the tree that some of them go under.
fn flat_forests<M: Model>(
    documents: Vec<Document>,
    parents: Vec<Option<Bson>>,
) -> Result<Vec<(Seedlings, Place)>> {
    let ids: Vec<Bson> = documents
        .iter()
        .map(|document| document.get("_id").cloned().unwrap_or(Bson::Null))
        .collect();
    let places: std::collections::HashMap<Identity, usize> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| (Identity::of(id), place))
        .collect();
    if places.len() < ids.len() {
        let first = |place: &usize| places.get(&Identity::of(&ids[*place])) != Some(place);
        let id = (0..ids.len())
            .find(first)
            .map_or(Bson::Null, |place| ids[place].clone());
        return Err(TreeError::DuplicateKey {
            model: M::DESCRIPTOR.name,
            id,
            source: None,
        });
    }
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); ids.len()];
    let mut tops: Vec<(Option<Bson>, Vec<usize>)> = Vec::new();
    for (place, parent) in parents.into_iter().enumerate() {
        let inside = parent
            .as_ref()
            .and_then(|parent| places.get(&Identity::of(parent)));
        match inside {
            Some(parent) => children[*parent].push(place),
            None => match tops.iter_mut().find(|(own, _)| *own == parent) {
                Some((_, tops)) => tops.push(place),
                None => tops.push((parent, vec![place])),
            },
        }
    }
    let mut documents: Vec<Option<Document>> = documents.into_iter().map(Some).collect();
    let mut forests = Vec::with_capacity(tops.len());
    for (parent, tops) in tops {
        let mut forest = Seedlings::new();
        let mut open: Vec<(usize, Option<usize>)> = tops.into_iter().rev().map(|top| (top, None)).collect();
        while let Some((place, parent)) = open.pop() {
            let own = forest.len();
            if let Some(document) = documents[place].take() {
                forest.push((document, parent));
                open.extend(children[place].iter().rev().map(|child| (*child, Some(own))));
            }
        }
        forests.push((forest, parent.map_or(Place::Root, Place::Under)));
    }
    match documents.iter().position(Option::is_some) {
        Some(left) => Err(TreeError::Damaged {
            id: ids[left].clone(),
            reason: "it is its own ancestor",
        }),
        None => Ok(forests),
    }
}
