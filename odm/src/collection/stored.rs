//! Between documents and values without a query: for code that reads or writes stored documents itself.

use bson::{Bson, RawDocument, RawDocumentBuf};

use super::{Collection, Record};
use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Model;
use crate::query::Operand;

impl<D: Record> Collection<D> {
    /// A document that was read as bytes, as a query of this collection would give it. No round trip.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Debug, Serialize, Deserialize, Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let books = Db::open("memory:").await?.collection::<Book>();
    /// books.insert(Book { id: 1 }).await?;
    /// for stored in books.find_all().encoded().await? {
    ///     assert_eq!(books.decode(&stored)?.id, 1);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Decode` when the document does not fit its type.
    pub fn decode(&self, document: &RawDocument) -> Result<D> {
        D::decode(document).map_err(|error| self.target().explain(error, "find"))
    }

    /// The stored value of an `_id`.
    ///
    /// # Errors
    /// `Encode` when the value does not fit BSON.
    pub fn encode_key(&self, id: impl Operand<D::Key>) -> Result<Bson> {
        let value = id.with_operand(|key| match D::encode_key(key) {
            Some(value) => value,
            None => codec::encode_value(key),
        })?;
        Bson::try_from(value)
            .map_err(|error| Error::new(ErrorKind::Encode, "the `_id` does not fit bson").with_source(error))
    }

    /// The `_id` that is stored as this value.
    ///
    /// # Errors
    /// `Decode` when the value does not fit the type of `_id`.
    pub fn decode_key(&self, id: &Bson) -> Result<D::Key> {
        D::decode_key(id).map_err(|error| self.target().explain(error.with_path("_id"), "find"))
    }
}

impl<M: Model> Collection<M> {
    /// Whether the model declares anything of the life of its documents that their writes go through: dates, a version,
    /// hooks, rules, soft deletion, copies, references with rules.
    pub fn has_lifecycle(&self) -> bool {
        self.target().plan().is_some()
    }

    /// A stored document without the fields that say for a time that copies or derived fields are to follow.
    pub fn settled(&self, stored: RawDocumentBuf) -> RawDocumentBuf {
        let plan = self.target().plan();
        plan.and_then(|plan| plan.settled(&stored)).unwrap_or(stored)
    }

    /// The stored name of the field of `#[odm(soft_delete)]`.
    pub fn soft_delete_field(&self) -> Option<&'static str> {
        M::LIFECYCLE.soft_delete_field()
    }
}
