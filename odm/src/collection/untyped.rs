//! Collections of untyped documents, in MongoDB's own words.

use std::borrow::Borrow;
use std::marker::PhantomData;

use bson::{Bson, Document};

use super::encode::{self, RawUpdate};
use super::{Collection, Target};
use crate::action::{Count, CreateIndexes, Delete, Distinct, Exists, Find, FindOne, FindOneAnd, Update};
use crate::codec::Raw;
use crate::db::Db;

/// The raw door: filters and updates as documents.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = odm::Db::open("memory:").await?;
/// use odm::bson::doc;
///
/// let books = db.raw_collection("books");
/// books.insert(doc! {"title": "Moby-Dick", "year": 1851}).await?;
/// books.update_many(doc! {"year": {"$lt": 1900}}, doc! {"$set": {"classic": true}}).await?;
/// let classics = books.find(doc! {"classic": true}).sort_raw(doc! {"year": 1}).await?;
/// assert_eq!(classics[0].get_str("title").ok(), Some("Moby-Dick"));
/// # Ok(())
/// # }
/// ```
impl Collection<Document> {
    pub(crate) fn untyped(db: &Db, name: &str) -> Collection<Document> {
        Collection {
            target: Target::untyped(db, name),
            marker: PhantomData,
        }
    }

    /// Finds the documents that match.
    pub fn find(&self, filter: impl Into<Raw>) -> Find<Document> {
        Find::new(&self.target, encode::raw(filter))
    }

    /// Finds one document that matches, or `None`.
    pub fn find_one(&self, filter: impl Into<Raw>) -> FindOne<Document> {
        self.find(filter).first()
    }

    /// Changes the first document that matches.
    pub fn update_one(&self, filter: impl Into<Raw>, update: impl Into<RawUpdate>) -> Update<Document> {
        Update::new(
            &self.target,
            encode::raw(filter),
            encode::raw_update(update.into()),
            false,
        )
    }

    /// Changes every document that matches. Each change is atomic, all together are not.
    pub fn update_many(&self, filter: impl Into<Raw>, update: impl Into<RawUpdate>) -> Update<Document> {
        Update::new(
            &self.target,
            encode::raw(filter),
            encode::raw_update(update.into()),
            true,
        )
    }

    /// Changes the first document that matches, or inserts one of the filter's equalities and the update.
    pub fn upsert(&self, filter: impl Into<Raw>, update: impl Into<RawUpdate>) -> Update<Document> {
        self.update_one(filter, update).upsert()
    }

    /// Replaces the first document that matches. The `_id` must stay the same.
    pub fn replace_one(&self, filter: impl Into<Raw>, document: impl Borrow<Document>) -> Update<Document> {
        Update::new(
            &self.target,
            encode::raw(filter),
            encode::replacement(document.borrow()),
            false,
        )
    }

    /// Deletes the first document that matches.
    pub fn delete_one(&self, filter: impl Into<Raw>) -> Delete {
        Delete::new(&self.target, encode::raw(filter), false)
    }

    /// Deletes every document that matches. Each deletion is atomic, all together are not.
    pub fn delete_many(&self, filter: impl Into<Raw>) -> Delete {
        Delete::new(&self.target, encode::raw(filter), true)
    }

    /// Changes one document and gives it, in one atomic step.
    pub fn find_one_and_update(
        &self,
        filter: impl Into<Raw>,
        update: impl Into<RawUpdate>,
    ) -> FindOneAnd<Document> {
        FindOneAnd::new(
            &self.target,
            encode::raw(filter),
            Some(encode::raw_update(update.into())),
        )
    }

    /// Replaces one document and gives it, in one atomic step.
    pub fn find_one_and_replace(
        &self,
        filter: impl Into<Raw>,
        document: impl Borrow<Document>,
    ) -> FindOneAnd<Document> {
        FindOneAnd::new(
            &self.target,
            encode::raw(filter),
            Some(encode::replacement(document.borrow())),
        )
    }

    /// Deletes one document and gives it, in one atomic step.
    pub fn find_one_and_delete(&self, filter: impl Into<Raw>) -> FindOneAnd<Document> {
        FindOneAnd::new(&self.target, encode::raw(filter), None)
    }

    /// Counts the documents that match, exactly.
    pub fn count(&self, filter: impl Into<Raw>) -> Count {
        Count::new(&self.target, encode::raw(filter), false)
    }

    /// Whether any document matches.
    pub fn exists(&self, filter: impl Into<Raw>) -> Exists {
        Exists::new(&self.target, encode::raw(filter))
    }

    /// The different values at a dotted path.
    pub fn distinct(&self, path: impl Into<String>) -> Distinct<Document, Bson> {
        Distinct::new(&self.target, path.into())
    }

    /// Builds indexes: name them with [`index_raw`](CreateIndexes::index_raw).
    pub fn create_indexes(&self) -> CreateIndexes {
        CreateIndexes::new(&self.target, &[])
    }
}
