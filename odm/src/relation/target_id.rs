//! The `_id`s inside of references that name their collection.

use bson::Bson;

use super::db_ref::DbRef;
use super::link::Link;
use super::shape::{Reference, Searchable};
use crate::collection::Record;
use crate::model::Field;

/// A reference that is stored as a DBRef: [`DbRef`], and enums that derive [`Reference`](macro@crate::Reference).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no reference that names its collection",
    label = "holds no `$id`",
    note = "a `DbRef<T>` or an enum that derives `odm::Reference` is one; a `Ref<T>` is the `_id` itself"
)]
pub trait NamedLink: Link {}

impl<D: Record> NamedLink for DbRef<D> {}

impl<R, X: Searchable + Reference<Link: NamedLink>> Field<R, X> {
    /// The `_id` in a reference that names its collection, whatever its type: what inverses, conditions on related
    /// documents and delete rules search by, and so what their index is over. An index over the field itself is one over
    /// whole references.
    ///
    /// ```
    /// # use odm::{Db, Model, Ref, Reference};
    /// # use odm::bson::Bson;
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Person {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// # }
    /// #[derive(Reference)]
    /// enum Owner {
    ///     Person(Ref<Person>),
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(index(keys(owner.target_id())))]
    /// struct House {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(inverse = by_owner)]
    ///     owner: Owner,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// let houses = db.collection::<House>();
    /// houses.sync_indexes().await?;
    /// houses.insert(House { id: 1, owner: Owner::Person(Ref::new(7)) }).await?;
    /// assert_eq!(houses.count(|h| h.owner.target_id().eq(Bson::Int32(7))).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn target_id(&self) -> Field<R, Bson> {
        Field::new(self.path().child("$id"))
    }
}
