//! Keeping the references of a model consistent.

use super::Collection;
use crate::action::{LinkDocuments, VerifyRelations};
use crate::codec::Raw;
use crate::error::Result;
use crate::lifecycle::{self, Ruling};
use crate::model::{Field, Model};
use crate::query::Operand;
use crate::relation::{LinkedReference, Relink};

impl<M: Model> Collection<M> {
    /// Links two documents by a two-way reference: `people.link(ann, |p| p.tasks, task)` puts the task into `tasks` of
    /// the person, and the person into the field of the task that `#[odm(two_way = ..)]` names.
    ///
    /// # Errors
    /// `NotFound` when one of them is not there. `Conflict` when a side that holds one reference holds another:
    /// [`reassign`](Collection::reassign) lets that go. `InvalidArgument` when the reference is not two-way.
    pub fn link<X: LinkedReference>(
        &self,
        id: impl Operand<M::Key>,
        field: impl FnOnce(M::Fields<M>) -> Field<M, X>,
        other: impl Operand<<X::Target as Model>::Key>,
    ) -> LinkDocuments {
        LinkDocuments::new(&self.target, id, &field(M::fields()), other, Relink::Link)
    }

    /// Links two documents by a two-way reference, and undoes the links that are in the way of it.
    ///
    /// # Errors
    /// As [`link`](Collection::link). `Conflict` when the documents are linked elsewhere meanwhile.
    pub fn reassign<X: LinkedReference>(
        &self,
        id: impl Operand<M::Key>,
        field: impl FnOnce(M::Fields<M>) -> Field<M, X>,
        other: impl Operand<<X::Target as Model>::Key>,
    ) -> LinkDocuments {
        LinkDocuments::new(&self.target, id, &field(M::fields()), other, Relink::Reassign)
    }

    /// Undoes the link of two documents by a two-way reference. Those that are not linked, or not there, are left as
    /// they are.
    ///
    /// # Errors
    /// `InvalidArgument` when the reference is not two-way.
    pub fn unlink<X: LinkedReference>(
        &self,
        id: impl Operand<M::Key>,
        field: impl FnOnce(M::Fields<M>) -> Field<M, X>,
        other: impl Operand<<X::Target as Model>::Key>,
    ) -> LinkDocuments {
        LinkDocuments::new(&self.target, id, &field(M::fields()), other, Relink::Unlink)
    }

    /// Asks whether documents can be deleted, as far as references to them are declared to deny it. Nothing is written;
    /// a deletion asks by itself. For code that deletes documents together with other writes. None or a few round trips.
    ///
    /// # Errors
    /// `Referenced` when a document that stays denies it.
    pub async fn ask_references(&self, filter: impl Into<Raw>) -> Result<()> {
        self.rule(filter, Ruling::Ask, false).await
    }

    /// Asks whether any document refers to these by a reference with a rule of deletion, whatever the rule.
    ///
    /// # Errors
    /// `Referenced` when one does.
    pub async fn refuse_references(&self, filter: impl Into<Raw>) -> Result<()> {
        self.rule(filter, Ruling::AskForNone, false).await
    }

    /// Does to the documents that refer to these what the rules of deletion say, all but deleting these, which is to
    /// follow; where documents cascade, softly if their models say so, unless it is `for_ever`. A deletion does it by
    /// itself. For code that deletes documents together with other writes, best in one transaction with them; asked
    /// again it goes on where it was. Some round trips for each rule.
    ///
    /// ```
    /// # use odm::{Db, Model, Ref, bson::doc};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(referred_by(Book))]
    /// struct Publisher {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Book {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(on_delete = nullify)]
    ///     publisher: Option<Ref<Publisher>>,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let db = Db::open("memory:").await?;
    /// let publishers = db.collection::<Publisher>();
    /// publishers.insert(Publisher { id: 7 }).await?;
    /// db.collection::<Book>().insert(Book { id: 1, publisher: Some(Ref::new(7)) }).await?;
    /// publishers.ask_references(doc! { "_id": 7 }).await?;
    /// assert!(publishers.refuse_references(doc! { "_id": 7 }).await.is_err());
    /// publishers.release_references(doc! { "_id": 7 }, false).await?;
    /// assert_eq!(db.collection::<Book>().get(1).required().await?.publisher, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Referenced` when a document that stays denies it; then nothing is written.
    pub async fn release_references(&self, filter: impl Into<Raw>, for_ever: bool) -> Result<()> {
        self.rule(filter, Ruling::CarryOut, for_ever).await
    }

    async fn rule(&self, filter: impl Into<Raw>, ruling: Ruling, purge: bool) -> Result<()> {
        let Some(plan) = self.target.plan() else {
            return self.target.failure().map_or(Ok(()), Err);
        };
        let ruled = async {
            let filter = filter.into().into_document()?;
            lifecycle::rule(plan, &self.target, filter, ruling, purge).await
        };
        ruled.await.map_err(|error| self.target.explain(error, "delete"))
    }

    /// Looks for references in these documents that are not as they were declared.
    ///
    /// ```
    /// # use odm::{Db, Model, Ref, RelationProblemKind};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(referred_by(Book))]
    /// struct Publisher {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Book {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(on_delete = nullify)]
    ///     publisher: Option<Ref<Publisher>>,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// let books = db.collection::<Book>();
    /// books.insert(Book { id: 1, publisher: Some(Ref::new(7)) }).await?;
    /// let problems = books.verify_relations().await?;
    /// assert_eq!((problems[0].kind, problems[0].field), (RelationProblemKind::Dangling, "publisher"));
    /// assert_eq!(books.verify_relations().repair().await?.repaired, 1);
    /// assert_eq!(books.get(1).required().await?.publisher, None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_relations(&self) -> VerifyRelations {
        VerifyRelations::new(M::DESCRIPTOR, &self.target, false)
    }
}
