//! Whole writes of nodes, which keep their places.

use odm::backend::{Modification, UpdateStatement, WriteStatement};
use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind, Model, Operand};

use super::core::{Core, Scope};
use super::error::{Result, TreeError};
use super::gate::decoded;
use super::handle::Tree;
use super::intent::FENCE;
use super::model::TreeModel;

/// How often an edit is made anew because others were first.
const ATTEMPTS: u32 = 10;

impl<M: Model, S: TreeModel> Tree<M, S> {
    /// Stores a node that was loaded and changed: the whole document, but for the fields of the tree, which stay as they
    /// are stored. So a node keeps its place whether its struct declares these fields or not, and whoever moves it
    /// meanwhile.
    ///
    /// Hooks, rules, dates and the version are those of [`Collection::replace`](odm::Collection::replace). Two round trips,
    /// refused four; three more where an intent, as that of a [conversion](Tree::convert), writes the node in between.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use odm_patterns::tree::{ArrayOfAncestors, Tree, TreeOptions};
    /// # use serde::{Deserialize, Serialize};
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Category {
    ///     #[serde(rename = "_id")]
    ///     id: String,
    ///     title: String,
    /// }
    ///
    /// let tree = Tree::<Category, ArrayOfAncestors>::open(&db, TreeOptions::new()).await?;
    /// tree.insert_root(Category { id: "all".into(), title: "All".into() }).await?;
    /// tree.insert_child("all", Category { id: "shoes".into(), title: "Schoes".into() }).await?;
    ///
    /// let mut shoes = tree.get("shoes").await?.expect("it is there");
    /// shoes.title = "Shoes".to_owned();
    /// tree.save(&shoes).await?;
    /// assert_eq!(tree.children("all").await?[0].title, "Shoes");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `NotFound`: new nodes are inserted at a place. `Converted`. `Database`: of kind `Conflict` when the model has a
    /// version and the node was changed since it was loaded; `Validation`.
    pub async fn save(&self, node: &M) -> Result<()> {
        let core = self.core()?;
        let id = self.key(node.key())?;
        if self.replace_around(core, &id, node).await? {
            return Ok(());
        }
        core.need(&id).await?;
        Err(TreeError::Database(self.conflict(&id)))
    }

    /// Loads a node, lets `change` change it, and stores it by [`save`](Tree::save); again, up to ten times, when somebody
    /// was faster. Gives what `change` gave last. The model has a version: without one, what others write meanwhile would
    /// be lost.
    ///
    /// # Errors
    /// As [`save`](Tree::save), and what `change` says: then nothing is changed. `Database` of kind `InvalidArgument` for a
    /// model without `#[odm(version)]`.
    pub async fn edit<T>(
        &self,
        id: impl Operand<M::Key>,
        mut change: impl FnMut(&mut M) -> odm::Result<T>,
    ) -> Result<T> {
        let core = self.core()?;
        let id = self.key(id)?;
        if M::version_field().is_none() {
            let error = Error::new(ErrorKind::InvalidArgument, "the model has no version");
            return Err(error.with_model(M::DESCRIPTOR.name).with_id(id).into());
        }
        for _ in 0..ATTEMPTS {
            let stored = core.need(&id).await?;
            let (id, mut node) = (stored.id.clone(), self.decode(&stored)?);
            let value = change(&mut node)?;
            if self.key(node.key())? != id {
                let error = Error::new(
                    ErrorKind::InvalidArgument,
                    "the `_id` of a node changes by `rename`",
                );
                return Err(error.with_model(M::DESCRIPTOR.name).with_id(id).into());
            }
            if self.replace_around(core, &id, &node).await? {
                return Ok(value);
            }
        }
        Err(TreeError::Database(self.conflict(&id)))
    }

    fn conflict(&self, id: &Bson) -> Error {
        self.told(
            ErrorKind::Conflict,
            "the document was changed since it was loaded",
            id,
        )
    }

    fn unfit(&self, id: &Bson) -> Error {
        self.told(ErrorKind::Unsupported, "a hook made another write of it", id)
    }

    fn told(&self, kind: ErrorKind, message: &'static str, id: &Bson) -> Error {
        Error::new(kind, message)
            .with_model(M::DESCRIPTOR.name)
            .with_namespace(self.collection.namespace())
            .with_id(id.clone())
    }

    /// Replaces what is stored of a node but for the fields of the tree; whether it was there, and of its version.
    async fn replace_around(&self, core: &Core, id: &Bson, node: &M) -> Result<bool> {
        let mut seen = core.unconverted().await?;
        let mut bulk = self.collection.bulk_write();
        if core.scope == Scope::All {
            bulk = bulk.with_deleted().unscoped();
        }
        let prepared = bulk
            .replace_one(|_| M::key_field().eq(node.key()), node)
            .prepared()
            .await?;
        let made = match prepared.statements() {
            [WriteStatement::Update(statement)] => {
                core.around(statement, id)?.map(|update| (statement, update))
            }
            _ => None,
        };
        let Some((statement, update)) = made else {
            core.need(id).await?;
            return Err(self.unfit(id).into());
        };
        let filter = core.layout.scoped(decoded(&statement.filter)?);
        while !core.write_since(seen, &filter, &update).await? {
            let Some(stored) = core.nodes.find_one(filter.clone()).await? else {
                return Ok(false);
            };
            // Whatever wrote the node was no conversion, if the layout is still the same afterwards.
            let fence = stored.get_i64(FENCE).unwrap_or_default();
            seen = core.unconverted().await?.max(fence);
        }
        prepared.written().await?;
        Ok(true)
    }
}

impl Core {
    /// Changes a node that no later intent than this has written. A conversion is one: the fields of its model are none that
    /// are kept.
    async fn write_since(&self, seen: i64, filter: &Document, update: &[Document]) -> Result<bool> {
        let mut filter = filter.clone();
        filter.insert(FENCE, doc! { "$not": { "$gt": seen } });
        let written = self.nodes.update_one(filter, update.to_vec()).await?;
        Ok(written.matched == 1)
    }

    /// The same write, but for the fields of the tree; none where it is not that of a whole document.
    fn around(&self, statement: &UpdateStatement, id: &Bson) -> Result<Option<Vec<Document>>> {
        let mut kept = self.layout.fields();
        kept.extend(self.layout.own().map(|(field, _)| field));
        kept.push(FENCE);
        let whole = match &statement.modification {
            Modification::Replacement(replacement) => {
                let mut document = decoded(replacement)?;
                document.remove("_id");
                let mut whole = doc! { "_id": id };
                whole.extend(document);
                for field in &kept {
                    whole.remove(*field);
                }
                Bson::Document(doc! { "$literal": whole })
            }
            // What is computed of the stored document, as the date of its creation is.
            Modification::Pipeline(stages) => {
                let [stage] = stages.as_slice() else {
                    return Ok(None);
                };
                let Some(whole) = decoded(stage)?.remove("$replaceWith") else {
                    return Ok(None);
                };
                kept.iter().fold(whole, |whole, field| {
                    Bson::Document(doc! { "$unsetField": { "field": *field, "input": whole } })
                })
            }
            Modification::Operators(_) => return Ok(None),
        };
        // What is not stored is left out.
        let places: Document = kept
            .iter()
            .map(|field| ((*field).to_owned(), Bson::from(format!("${field}"))))
            .collect();
        let merged = doc! { "$mergeObjects": [whole, places] };
        Ok(Some(vec![doc! { "$replaceWith": merged }]))
    }
}
