//! The handle of a tree.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use odm::bson::{Bson, Document, RawDocumentBuf};
use odm::{Collection, Db, Model, Operand};

use super::core::{Core, Scope};
use super::error::{Result, TreeError};
use super::gate::Typed;
use super::layout::{Layout, Shape};
use super::model::{ParentReference, TreeModel, sealed};
use super::node::Node;
use super::options::TreeOptions;

/// MongoDB's code for an index of this name that is another one.
const NAME_TAKEN: i32 = 86;

const DENIED: &str = "the tree keeps fields beside those of the model, which refuses fields that it does not have: remove \
                      `deny_unknown_fields`";

/// A tree of the documents of a model, stored in the way of `S`. Cheap to clone.
///
/// See the [module](super) for what it can do, and an example.
pub struct Tree<M: Model, S: TreeModel = ParentReference> {
    pub(super) core: Result<Core>,
    pub(super) collection: Collection<M>,
    marker: PhantomData<fn() -> S>,
}

impl<M: Model, S: TreeModel> Tree<M, S> {
    /// The tree in a database, or in a running transaction. No round trip.
    ///
    /// A wrong option comes out of every operation, as [`TreeError::InvalidOption`]; so does a model that cannot be one of
    /// nodes.
    pub fn new(db: &Db, options: TreeOptions) -> Tree<M, S> {
        let layout = Layout::resolve(sealed::shape_of::<S>(), M::DESCRIPTOR.collection, options);
        let collection: Collection<M> = match &layout {
            Ok(layout) => db.collection_named(&layout.collection),
            Err(_) => db.collection(),
        };
        let layout = crate::beside::room_in::<M>(DENIED)
            .map_err(TreeError::from)
            .and(layout);
        let layout =
            layout.and_then(|layout| layout.of_tenant(collection.tenant()?)?.of_model(M::DESCRIPTOR));
        let core = layout.map(|mut layout| {
            layout.deleted = collection.soft_delete_field();
            layout.version = M::version_field();
            Core::new(db, Arc::new(layout), Arc::new(Typed::<M>::new()))
        });
        Tree {
            core,
            collection,
            marker: PhantomData,
        }
    }

    /// The tree, [prepared](Tree::prepare).
    ///
    /// # Errors
    /// As [`prepare`](Tree::prepare).
    pub async fn open(db: &Db, options: TreeOptions) -> Result<Tree<M, S>> {
        let tree = Tree::new(db, options);
        tree.prepare().await?;
        Ok(tree)
    }

    /// Makes the tree ready: builds the indexes, and carries out a change that a process which ended had begun, or takes it
    /// back where the database refuses it.
    /// Not inside a transaction.
    ///
    /// # Errors
    /// A wrong option; `Database` of kind `Schema` for a model with `#[serde(deny_unknown_fields)]`, which could not read its
    /// nodes; those of the database.
    pub async fn prepare(&self) -> Result<()> {
        let core = self.core()?;
        match core.build_indexes(false).await {
            Err(error) if core.layout.shape == Shape::Paths && error.code() == Some(NAME_TAKEN) => {
                core.build_indexes(true).await?;
            }
            built => built?,
        }
        core.roll_forward().await?;
        core.with_places().adopt_roots().await
    }

    /// The same tree with the softly deleted nodes, which keep their places: all methods see them, and change them.
    /// Says nothing where the model has no `#[odm(soft_delete)]`.
    pub fn with_deleted(&self) -> Tree<M, S> {
        let mut tree = self.clone();
        if let Ok(core) = &mut tree.core {
            core.scope = Scope::All;
        }
        tree
    }

    /// The same tree on another executor: in a running transaction.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use odm_patterns::tree::{Tree, TreeOptions};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Category { #[serde(rename = "_id")] id: String }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// let tree = Tree::<Category>::new(&db, TreeOptions::new());
    /// db.transaction(async |tx| {
    ///     let tree = tree.within(&tx);
    ///     tree.insert_root(Category { id: "Books".into() }).await?;
    ///     tree.insert_child("Books", Category { id: "Programming".into() }).await?;
    ///     Ok(())
    /// })
    /// .await?;
    /// assert_eq!(tree.len().await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn within(&self, db: &Db) -> Tree<M, S> {
        let collection = match &self.core {
            Ok(core) => db.collection_named(&core.layout.collection),
            Err(_) => db.collection(),
        };
        Tree {
            core: self
                .core
                .as_ref()
                .map(|core| core.within(db))
                .map_err(Clone::clone),
            collection,
            marker: PhantomData,
        }
    }

    /// The collection of the nodes. Its updates, and saves of tracked documents, may change what the tree has no fields
    /// for. The fields of the tree are the tree's: a whole write (`save`, `replace`, `update_with_retry`) of a struct that
    /// does not declare them takes the node out of the tree. [`Tree::save`] and [`Tree::edit`] are for that.
    pub fn collection(&self) -> &Collection<M> {
        &self.collection
    }

    pub(super) fn core(&self) -> Result<&Core> {
        self.core.as_ref().map_err(Clone::clone)
    }

    pub(super) fn key(&self, id: impl Operand<M::Key>) -> Result<Bson> {
        Ok(self.collection.encode_key(id)?)
    }

    /// The node as the model has it.
    pub(super) fn decode(&self, node: &Node) -> Result<M> {
        Ok(self.collection.decode(&node.raw)?)
    }

    /// The same of a document that is not stored, or no longer.
    pub(super) fn decode_document(&self, document: &Document) -> Result<M> {
        let raw = RawDocumentBuf::try_from(document).map_err(|error| {
            let error =
                odm::Error::new(odm::ErrorKind::Encode, "the node does not fit bson").with_source(error);
            TreeError::Database(error)
        })?;
        Ok(self.collection.decode(&raw)?)
    }

    pub(super) fn decode_all(&self, nodes: &[Node]) -> Result<Vec<M>> {
        nodes.iter().map(|node| self.decode(node)).collect()
    }

    /// Documents as they would be stored by the model.
    pub(super) async fn encode(&self, nodes: Vec<M>) -> Result<Vec<Document>> {
        let prepared = self.collection.insert_many(nodes).prepared().await?;
        prepared.iter().map(document).collect()
    }
}

impl Core {
    /// Builds the indexes; with another name for that of paths, where one with the collection's collation has its own.
    async fn build_indexes(&self, other_name: bool) -> odm::Result<()> {
        let mut indexes = self.nodes.create_indexes();
        for index in self.layout.indexes(other_name) {
            indexes = indexes.index_raw(index);
        }
        indexes.await?;
        Ok(())
    }
}

fn document(raw: &RawDocumentBuf) -> Result<Document> {
    Document::try_from(raw).map_err(|error| {
        let error = odm::Error::new(odm::ErrorKind::Encode, "the node does not fit bson").with_source(error);
        TreeError::Database(error)
    })
}

impl<M: Model, S: TreeModel> Clone for Tree<M, S> {
    fn clone(&self) -> Self {
        Tree {
            core: self.core.clone(),
            collection: self.collection.clone(),
            marker: PhantomData,
        }
    }
}

impl<M: Model, S: TreeModel> fmt::Debug for Tree<M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.core {
            Ok(core) => f
                .debug_struct("Tree")
                .field("model", &core.layout.shape.name())
                .field("collection", &self.collection)
                .finish(),
            Err(error) => f.debug_tuple("Tree").field(error).finish(),
        }
    }
}
