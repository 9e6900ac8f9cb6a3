//! Between documents and values without a query: for code that reads or writes stored documents itself.

use bson::{Bson, RawDocument, RawDocumentBuf};

use super::{Collection, Record, encode};
use crate::action::Update;
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

    /// A stored document in the present schema version of the model. No round trip.
    ///
    /// # Errors
    /// `NewerVersion`; `Decode` when a migration refuses the document.
    pub fn upgraded(&self, stored: RawDocumentBuf) -> Result<RawDocumentBuf> {
        let upgraded = M::LIFECYCLE.versions.map(|versions| versions.upgraded(&stored));
        match upgraded.transpose() {
            Ok(upgraded) => Ok(upgraded.flatten().unwrap_or(stored)),
            Err(error) => Err(self.target().explain(error, "find")),
        }
    }

    /// What a stored document says by itself: in the present schema version, [settled](Collection::settled), and without
    /// what is derived from the rest. What migrations and derivations change in a document is not in it. No round trip.
    ///
    /// # Errors
    /// As [`upgraded`](Collection::upgraded).
    pub fn essence(&self, stored: RawDocumentBuf) -> Result<RawDocumentBuf> {
        let stored = self.settled(self.upgraded(stored)?);
        let plan = self.target().plan();
        Ok(plan.and_then(|plan| plan.underived(&stored)).unwrap_or(stored))
    }

    /// As [`replace`](Collection::replace), by a document as it is stored, with fields that the model does not know.
    ///
    /// Hooks get the document as the model reads it: of what they change, fields of the document itself that the model does
    /// not know are kept, and those of embedded documents are not.
    pub fn replace_stored(&self, document: RawDocumentBuf) -> Update<M> {
        let filter = encode::by_id_of(&document);
        Update::new(self.target(), filter, Ok(encode::replacement_of(document)), false)
    }

    /// The stored name of the field of `#[odm(tenant)]`, and the value that documents have in it which are shown here; none
    /// where the model has no tenants, and where those of all are shown. No round trip.
    ///
    /// For programs that keep something of their own for each tenant.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Note {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     #[odm(tenant)]
    ///     owner: String,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let db = Db::open("memory:").await?;
    /// assert_eq!(db.for_tenant("ann").collection::<Note>().tenant()?, Some(("owner", "ann".into())));
    /// assert_eq!(db.across_tenants().collection::<Note>().tenant()?, None);
    /// assert!(db.collection::<Note>().tenant().unwrap_err().is_tenant());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Tenant` where the database is bound to no tenant, or to one of another type than the field's; `Encode`.
    pub fn tenant(&self) -> Result<Option<(&'static str, Bson)>> {
        let target = self.target();
        let value = target.confinement().and_then(|confinement| {
            let Some(confinement) = confinement else {
                return Ok(None);
            };
            let value = codec::decode_value(confinement.value().as_raw_bson_ref())?;
            Ok(Some((confinement.tenant().name, value)))
        });
        value.map_err(|error| target.explain(error, "find"))
    }

    /// The stored name of the field of `#[odm(soft_delete)]`.
    pub fn soft_delete_field(&self) -> Option<&'static str> {
        M::LIFECYCLE.soft_delete_field()
    }
}
