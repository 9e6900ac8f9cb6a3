//! What is done to a collection as a whole: its indexes, its options, its documents of older shapes.

use super::{Collection, Record, encode};
use crate::action::{
    CreateCollection, CreateIndexes, IndexDriftCheck, ListIndexes, Migrate, ModifyCollection, Rederive,
    RenameCollection, SyncIndexes,
};
use crate::backend::{self, CollectionStatistics, Operation};
use crate::error::Result;
use crate::model::Model;
use crate::query;
use crate::schema::validator;

impl<D: Record> Collection<D> {
    /// Lists the indexes.
    pub fn list_indexes(&self) -> ListIndexes {
        ListIndexes::new(&self.target)
    }

    /// Drops the index of this name. One round trip.
    ///
    /// # Errors
    /// Code 27 when there is none.
    pub async fn drop_index(&self, name: &str) -> Result<()> {
        let index = bson::RawBson::String(name.to_owned());
        let operation = backend::DropIndexes {
            namespace: self.target.namespace().clone(),
            index,
        };
        self.target
            .execute(Operation::DropIndexes(operation))
            .await?
            .done()
    }

    /// Creates the collection with options. Without options it need not be created: the first write does it.
    pub fn create(&self) -> CreateCollection {
        CreateCollection::new(self.target.clone())
    }

    /// Changes the collection's options: validator, capped bounds, an index's expiry, a view's pipeline.
    pub fn modify(&self) -> ModifyCollection {
        ModifyCollection::new(self.target.clone())
    }

    /// Gives the collection another name. This handle keeps the old one.
    pub fn rename(&self, to: impl Into<String>) -> RenameCollection {
        RenameCollection::new(self.target.clone(), to.into())
    }

    /// How much the collection holds; zeros where there is none. One round trip. The embedded engine counts all
    /// documents and index entries, so that the time grows with them.
    ///
    /// # Errors
    /// Code 166 for a view.
    pub async fn stats(&self) -> Result<CollectionStatistics> {
        let namespace = self.target.namespace();
        let operation = backend::Statistics {
            database: namespace.database.clone(),
            collection: Some(namespace.collection.clone()),
        };
        self.target
            .execute(Operation::Statistics(operation))
            .await?
            .statistics()
    }

    /// Drops the collection with its indexes; no error when there is none. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn drop(&self) -> Result<()> {
        let operation = backend::DropCollection {
            namespace: self.target.namespace().clone(),
        };
        self.target
            .execute(Operation::DropCollection(operation))
            .await?
            .done()
    }
}

impl<M: Model> Collection<M> {
    /// Has the database hold every write, whoever makes it, against the rules that the model declares
    /// ([`json_schema`](Model::json_schema)), and against the validator of its `options`, if there is one: sets the
    /// collection's validator, and creates the collection if need be. Documents that are stored already stay as they are.
    ///
    /// Of a model that is one kind of its collection's documents, it is about the documents of that kind, and what other
    /// kinds have set stays: their validators are read first and all set together, so two that are set at the same moment
    /// may lose one of them. Two round trips, or three.
    ///
    /// # Errors
    /// As any operation.
    pub async fn sync_validator(&self) -> Result<()> {
        let failure = self.target.failure();
        failure.map_or(Ok(()), Err)?;
        let name = self.target.namespace().collection.as_str();
        let db = self.target.db();
        for is_first in [true, false] {
            let existing = db.collection_info(name).await?;
            let stored = existing
                .as_ref()
                .and_then(|info| info.options.get_document("validator").ok());
            let parts = M::DESCRIPTOR.validator_parts(true);
            let validator = validator(stored, parts).unwrap_or_default();
            if existing.is_some() {
                return self.modify().validator(validator).await;
            }
            match self.create().validator(validator).await {
                // Another program was faster.
                Err(error) if error.code() == Some(48) && is_first => {}
                created => return created,
            }
        }
        Ok(())
    }

    /// Creates the collection with the options that the model declares (`#[odm(options = function)]`), and adds others.
    /// Fails with code 48 when it is there; [`Db::sync_models`](crate::Db::sync_models) creates what is missing.
    pub fn create_declared(&self) -> CreateCollection {
        let declared = M::DESCRIPTOR.declared_options();
        let parts = M::DESCRIPTOR.validator_parts(declared.is_validated());
        CreateCollection::with_options(self.target.clone(), declared.options(), validator(None, parts))
    }

    /// Brings all documents of older schema versions into the present one. See [`Migrate`].
    pub fn migrate(&self) -> Migrate<M> {
        Migrate::new(&self.target)
    }

    /// Makes the [derived](crate::Derivation) fields of these documents anew: of those that raw writes went around, that
    /// an interruption left behind (`derived_pending`), or that were derived in another way before. To be started again
    /// when it was interrupted.
    ///
    /// ```
    /// # use odm::{Db, Derivation, Derived, Filter, Model};
    /// # use odm::bson::{DateTime, RawBson, RawDocument, doc};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Debug)]
    /// # struct Length;
    /// # impl Derivation for Length {
    /// #     type Value = i32;
    /// #     fn sources() -> Vec<String> { vec!["title".into()] }
    /// #     fn derive(document: &RawDocument, _now: DateTime) -> odm::Result<RawBson> {
    /// #         Ok(RawBson::Int32(document.get_str("title").unwrap_or_default().len() as i32))
    /// #     }
    /// # }
    /// # #[derive(Debug, Serialize, Deserialize, Model)]
    /// # struct Book {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     title: String,
    /// #     length: Derived<Length>,
    /// # }
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let books = Db::open("memory:").await?.collection::<Book>();
    /// books.raw().insert(doc! { "_id": 1, "title": "Emma" }).await?;
    /// let done = books.rederive(|b| !b.length.exists()).await?;
    /// assert_eq!((done.examined, done.derived), (1, 1));
    /// assert_eq!(books.get(1).required().await?.length.get(), Some(&4));
    /// # Ok(())
    /// # }
    /// ```
    pub fn rederive(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Rederive {
        Rederive::new(&self.target, encode::filter(filter))
    }

    /// Builds the indexes that the model declares.
    pub fn create_indexes(&self) -> CreateIndexes {
        CreateIndexes::new(&self.target, &M::DESCRIPTOR.all_indexes())
    }

    /// Compares the indexes that the model declares with those that exist.
    pub fn index_drift(&self) -> IndexDriftCheck {
        IndexDriftCheck::new(&self.target, M::DESCRIPTOR)
    }

    /// Builds the declared indexes that are missing; drops and rebuilds others only when asked.
    pub fn sync_indexes(&self) -> SyncIndexes {
        SyncIndexes::new(&self.target, M::DESCRIPTOR)
    }
}
