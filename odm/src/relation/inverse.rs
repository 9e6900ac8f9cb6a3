//! References seen from the other side.

use super::db_ref::DbRef;
use super::has_many::HasMany;
use super::key::ReferenceKey;
use super::link::Link;
use super::plan::Links;
use super::reference::Ref;
use super::shape::Reference;
use super::to::links;
use crate::model::{Field, Model, Path};
use crate::query::every_value;

/// A link that can point to documents of `P`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not refer to `{P}`",
    label = "this inverse does not point back to `{P}`",
    note = "an inverse is loaded for documents of the model that the reference is to"
)]
pub trait LinksTo<P: Model>: Link {}

impl<T: Model, K: ReferenceKey<T>> LinksTo<T> for Ref<T, K> {}

impl<M: Model> LinksTo<M> for DbRef<M> {}
impl<M: Model> LinksTo<M> for DbRef<bson::Document> {}

impl<C: Model, X> Field<C, X> {
    /// The documents whose field this is and that refer to a document of `P`: an inverse that is not declared.
    ///
    /// ```
    /// # use odm::{Db, Model, Ref};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Publisher {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// # }
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     publisher: Ref<Publisher>,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// # db.collection::<Publisher>().insert(Publisher { id: 1 }).await?;
    /// # db.collection::<Book>().insert(Book { id: 1, publisher: Ref::new(1) }).await?;
    /// let publishers = db.collection::<Publisher>();
    /// let found = publishers.find_all().with(Book::fields().publisher.inverse()).await?;
    /// let (publisher, books) = &found[0];
    /// assert_eq!((publisher.id, books.len()), (1, 1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn inverse<P: Model>(&self) -> HasMany<P, C>
    where
        X: Reference<Link: LinksTo<P>>,
    {
        HasMany::new::<X>(self.path().clone())
    }
}

/// Where the references in a field of the type `X` are, a map's values included, and how they are taken apart.
pub(super) fn through<X: Reference>(mut path: Path) -> (Path, Links) {
    for _ in 0..X::MAPS {
        path = path.then(every_value());
    }
    match X::MAPS {
        0 => (path, links::<X>()),
        _ => (path, links::<X::Link>()),
    }
}

/// The key that a reference of the type `X` holds, where its targets have it.
pub(super) fn key_path<X: Reference>() -> String {
    <X::Link as Link>::key_path()
}
