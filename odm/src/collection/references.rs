//! Keeping the references of a model consistent.

use super::Collection;
use crate::action::{LinkDocuments, VerifyRelations};
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
