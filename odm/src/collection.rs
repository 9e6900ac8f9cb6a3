//! Collections of typed documents.

mod administration;
mod copies;
pub(crate) mod encode;
mod find_or_insert;
mod index_info;
mod record;
mod references;
mod related;
mod stored;
mod target;
mod through;
mod untyped;

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

use bson::Document;

pub use self::encode::RawUpdate;
pub(crate) use self::index_info::Kinds;
pub use self::index_info::{IndexChange, IndexDrift, IndexInfo};
pub use self::record::Record;
pub(crate) use self::record::{projected, read, read_rest};
pub(crate) use self::target::Target;
use crate::action::{
    Aggregate, BulkWrite, Count, Delete, Distinct, Exists, Find, FindOne, FindOneAnd, Insert, InsertMany,
    InsertOne, LoadStored, PipelineSource, Update, Watch,
};
use crate::backend::WatchScope;
use crate::change::Change;
use crate::codec::Raw;
use crate::db::Db;
use crate::error::{Error, ErrorKind};
use crate::lifecycle::KindOf;
use crate::model::{Field, Model};
use crate::query::{self, Operand};
use crate::relation::Relation;

/// The documents of a model in a database. Cheap to clone.
///
/// Its methods build [actions](crate::action), which run by `.await`. Closures get the model's fields:
///
/// ```
/// # use serde::{Deserialize, Serialize};
/// # use odm::{Collection, Id};
/// #[derive(Debug, Serialize, Deserialize, odm::Model)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: Id<Book>,
///     title: String,
///     available: i32,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = odm::Db::open("memory:").await?;
/// let books: Collection<Book> = db.collection();
/// let moby = Book { id: Id::new(), title: "Moby-Dick".into(), available: 3 };
/// books.insert(&moby).await?;
/// let lent = books
///     .update_one(|b| b.id.eq(moby.id) & b.available.gt(0), |b| b.available.inc(-1))
///     .await?;
/// assert_eq!(lent.modified, 1);
/// let there = books.find(|b| b.available.gt(0)).sort(|b| b.title.asc()).limit(10).await?;
/// assert_eq!(there[0].available, 2);
/// # Ok(())
/// # }
/// ```
///
/// Errors name the model and the collection; an error of kind `Decode` also names the document's `_id` and
/// the field.
pub struct Collection<D> {
    target: Target,
    marker: PhantomData<fn() -> D>,
}

impl<D: Record> Collection<D> {
    /// The collection's name.
    pub fn name(&self) -> &str {
        &self.target.namespace().collection
    }

    /// The database and the collection as errors name them: `main.books`.
    pub fn namespace(&self) -> String {
        self.target.namespace().to_string()
    }

    /// Inserts a document and gives its `_id`.
    ///
    /// # Errors
    /// `DuplicateKey` when the `_id`, or a unique index's key, is there already.
    pub fn insert(&self, document: impl Borrow<D>) -> Insert<D> {
        Insert::new(&self.target, document.borrow())
    }

    /// Inserts a document; as [`insert`](Collection::insert), with a result type.
    pub fn insert_one(&self, document: impl Borrow<D>) -> InsertOne<D> {
        InsertOne::new(&self.target, document.borrow())
    }

    /// Inserts documents: `insert_many(&books)` or `insert_many(books)`.
    pub fn insert_many<I>(&self, documents: I) -> InsertMany<D>
    where
        I: IntoIterator,
        I::Item: Borrow<D>,
    {
        InsertMany::new(&self.target, documents)
    }

    /// Watches what changes in the collection, from now on. It need not exist yet. See [`ChangeStream`].
    ///
    /// [`ChangeStream`]: crate::ChangeStream
    ///
    /// # Errors
    /// `Unsupported` where there are no change streams, and for the documents of a [tenant](Db::for_tenant) where the
    /// events do not say whose they were; `HistoryLost` when it cannot begin where it should.
    pub fn watch(&self) -> Watch<Change<D>> {
        Watch::new(
            &self.target,
            WatchScope::Collection(self.target.namespace().clone()),
        )
    }

    /// Finds all documents.
    pub fn find_all(&self) -> Find<D> {
        Find::new(&self.target, Ok(bson::RawDocumentBuf::new()))
    }

    /// Gets the document with this `_id`, or `None`; [`required`](FindOne::required) makes `None` an error.
    pub fn get(&self, id: impl Operand<D::Key>) -> FindOne<D> {
        Find::new(&self.target, id.with_operand(encode::by_key::<D>)).first()
    }

    /// Gets the documents with these `_id`s, in no order that is promised; those that are not there are left
    /// out.
    pub fn get_many<I>(&self, ids: I) -> Find<D>
    where
        I: IntoIterator,
        I::Item: Operand<D::Key>,
    {
        Find::new(&self.target, encode::by_keys::<D, _>(ids))
    }

    /// Replaces the document with the same `_id`; changes nothing when there is none.
    pub fn replace(&self, document: impl Borrow<D>) -> Update<D> {
        let (filter, update) = encode::in_its_place(document.borrow());
        Update::new(&self.target, filter, update, false)
    }

    /// Stores the document: replaces the one with the same `_id`, or inserts it.
    ///
    /// With a version field it replaces the version that was loaded, and inserts only what has version 0: a document
    /// that was deleted since it was loaded does not come back. One of version 0 may be new or loaded: it replaces what is
    /// stored at version 0, whoever made that. Where others may make a document of the same `_id`,
    /// [`insert`](Collection::insert) what is new.
    ///
    /// # Errors
    /// `Conflict` when the stored document is of another version, or gone though it was stored before.
    pub fn save(&self, document: impl Borrow<D>) -> Update<D> {
        self.replace(document).upsert()
    }

    /// Deletes the document with this `_id`.
    pub fn delete(&self, id: impl Operand<D::Key>) -> Delete {
        Delete::new(&self.target, id.with_operand(encode::by_key::<D>), false)
    }

    /// How many documents there are, as the collection says of itself: fast, and exact unless the server had a
    /// crash or is sharded. In a transaction, a snapshot, and of a model with a condition of its own, it is counted.
    pub fn estimated_count(&self) -> Count {
        Count::new(&self.target, Ok(bson::RawDocumentBuf::new()), true)
    }

    /// A batch of writes of several kinds.
    pub fn bulk_write(&self) -> BulkWrite<D> {
        BulkWrite::new(&self.target)
    }

    /// Runs a pipeline in MongoDB's words.
    ///
    /// # Errors
    /// `Unsupported` where the backend does not know a stage; `Tenant` on the database of a tenant for a stage that names
    /// another collection.
    pub fn aggregate_raw<I>(&self, pipeline: I) -> Aggregate
    where
        I: IntoIterator,
        I::Item: Into<Raw>,
    {
        Aggregate::new(&self.target, pipeline)
    }

    /// The same collection as untyped documents. Those of a tenant's database are the tenant's still.
    pub fn raw(&self) -> Collection<Document> {
        Collection {
            target: self.target.without_model(),
            marker: PhantomData,
        }
    }
}

impl<D> Collection<D> {
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }
}

impl<M: Model> Collection<M> {
    pub(crate) fn of_model(db: &Db, name: &str) -> Collection<M> {
        Collection {
            target: Target::of::<M>(db, name),
            marker: PhantomData,
        }
    }

    /// The documents of one kind, where the model is an enum of models that share the collection. No round trip.
    ///
    /// ```
    /// # use odm::{Db, Model};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(collection = "animals", kind = "cat")]
    /// struct Cat {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     lives: i32,
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(collection = "animals")]
    /// #[serde(tag = "kind", rename_all = "lowercase")]
    /// enum Animal {
    ///     Cat(Cat),
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let animals = Db::open("memory:").await?.collection::<Animal>();
    /// animals.of::<Cat>().insert(Cat { id: 1, lives: 9 }).await?;
    /// assert!(matches!(animals.get(1).await?, Some(Animal::Cat(cat)) if cat.lives == 9));
    /// # Ok(())
    /// # }
    /// ```
    pub fn of<K: KindOf<M>>(&self) -> Collection<K> {
        Collection {
            target: self.target.as_model::<K>(),
            marker: PhantomData,
        }
    }

    /// Finds the documents that match.
    pub fn find(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Find<M> {
        Find::new(&self.target, encode::filter(filter))
    }

    /// Loads what fields of documents in memory refer to, in the order of the documents:
    /// `books.load(&found, |b| b.publisher)` gives `Vec<Option<Publisher>>`.
    ///
    /// The documents are looked at as they would be stored now. Cost: one query for each relation, and each
    /// document is encoded once.
    pub fn load<L: Relation<M>>(
        &self,
        documents: &[M],
        relation: impl FnOnce(M::Fields<M>) -> L,
    ) -> LoadStored<M, L> {
        self.load_with(documents, relation(M::fields()))
    }

    /// Loads what refers to documents in memory: `publishers.load_with(&found, Book::by_publisher())`.
    pub fn load_with<L: Relation<M>>(&self, documents: &[M], relation: L) -> LoadStored<M, L> {
        LoadStored::new(&self.target, documents, relation)
    }

    /// Begins a pipeline of typed stages over the documents: see [`Pipeline`](crate::Pipeline).
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// use odm::expr::{avg, count};
    ///
    /// #[derive(Serialize, Deserialize, odm::Model)]
    /// struct Book {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     year: i32,
    ///     pages: i32,
    /// }
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize, odm::Embedded)]
    /// struct Year {
    ///     #[serde(rename = "_id")]
    ///     year: i32,
    ///     books: u32,
    ///     pages: f64,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let books = odm::Db::open("memory:").await?.collection::<Book>();
    /// # books.insert_many((0..5).map(|id| Book { id, year: 1850 + id / 2, pages: id * 100 })).await?;
    /// let years = books
    ///     .aggregate()
    ///     .filter(|b| b.pages.gt(0))
    ///     .group::<Year>(|b, y| y.year.by(b.year) & y.books.is(count()) & y.pages.is(avg(b.pages)))
    ///     .sort(|y| y.year.asc())
    ///     .await?;
    /// assert_eq!(years[1], Year { year: 1851, books: 2, pages: 250.0 });
    /// # Ok(())
    /// # }
    /// ```
    pub fn aggregate(&self) -> query::Pipeline<M, PipelineSource> {
        PipelineSource::pipeline(self.aggregate_raw(std::iter::empty::<Raw>()))
    }

    /// Finds one document that matches, or `None`.
    pub fn find_one(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> FindOne<M> {
        self.find(filter).first()
    }

    /// Changes the first document that matches.
    ///
    /// # Errors
    /// `DuplicateKey` when the changed document has a unique index's key that is there already.
    pub fn update_one(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> query::Update<M>,
    ) -> Update<M> {
        Update::new(&self.target, encode::asked(filter), encode::update(update), false)
    }

    /// Changes every document that matches. Each change is atomic, all together are not.
    ///
    /// # Errors
    /// As [`update_one`](Collection::update_one); documents changed before the error stay changed.
    pub fn update_many(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> query::Update<M>,
    ) -> Update<M> {
        Update::new(&self.target, encode::asked(filter), encode::update(update), true)
    }

    /// Changes the first document that matches, or inserts one of the filter's equalities and the update.
    ///
    /// Two at a time may both insert, unless a unique index covers the filter; then one of them fails with
    /// `DuplicateKey` and can be run again.
    pub fn upsert(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> query::Update<M>,
    ) -> Update<M> {
        self.update_one(filter, update).upsert()
    }

    /// Replaces the first document that matches. The `_id` must stay the same.
    pub fn replace_one(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
        document: impl Borrow<M>,
    ) -> Update<M> {
        Update::new(
            &self.target,
            encode::filter(filter),
            encode::replacement(document.borrow()),
            false,
        )
    }

    /// Lets the documents that match live again, where the model says `#[odm(soft_delete)]`: the date of their
    /// deletion becomes null.
    ///
    /// What went with them by [delete rules](crate::DeleteRule) stays as it is: documents that cascaded are softly deleted
    /// still (of the same date, where their model is deleted softly) or gone, references that became null or were taken
    /// out stay so.
    ///
    /// # Errors
    /// `InvalidArgument` when the model is not deleted softly; `DuplicateKey` when a partial unique index that leaves
    /// out the deleted holds the key of another document by now.
    pub fn restore(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Update<M> {
        let update = match M::LIFECYCLE.soft_delete_field() {
            Some(name) => query::Update::<M>::raw(bson::doc! { "$set": { name: null } }).build(),
            None => Err(Error::new(
                ErrorKind::InvalidArgument,
                "the model has no field that says `#[odm(soft_delete)]`",
            )),
        };
        Update::new(&self.target, encode::filter(filter), update, true).only_deleted()
    }

    /// Takes every document that matches out for ever, softly deleted or not.
    pub fn purge(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Delete {
        self.delete_many(filter).for_ever().with_deleted()
    }

    /// Deletes the first document that matches.
    pub fn delete_one(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Delete {
        Delete::new(&self.target, encode::filter(filter), false)
    }

    /// Deletes every document that matches. Each deletion is atomic, all together are not.
    pub fn delete_many(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Delete {
        Delete::new(&self.target, encode::filter(filter), true)
    }

    /// Changes one document and gives it, in one atomic step.
    pub fn find_one_and_update(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
        update: impl FnOnce(M::Fields<M>) -> query::Update<M>,
    ) -> FindOneAnd<M> {
        FindOneAnd::new(&self.target, encode::asked(filter), Some(encode::update(update)))
    }

    /// Replaces one document and gives it, in one atomic step.
    pub fn find_one_and_replace(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
        document: impl Borrow<M>,
    ) -> FindOneAnd<M> {
        FindOneAnd::new(
            &self.target,
            encode::filter(filter),
            Some(encode::replacement(document.borrow())),
        )
    }

    /// Deletes one document and gives it, in one atomic step.
    pub fn find_one_and_delete(
        &self,
        filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>,
    ) -> FindOneAnd<M> {
        FindOneAnd::new(&self.target, encode::filter(filter), None)
    }

    /// Counts the documents that match, exactly.
    pub fn count(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Count {
        Count::new(&self.target, encode::filter(filter), false)
    }

    /// Whether any document matches.
    pub fn exists(&self, filter: impl FnOnce(M::Fields<M>) -> query::Filter<M>) -> Exists {
        Exists::new(&self.target, encode::filter(filter))
    }

    /// The different values of a field: `books.distinct(|b| b.publisher)`.
    ///
    /// Values are decoded by the type's own `Deserialize`: where the field is stored in a way of its own
    /// (`#[serde(with = ..)]`), choose a type that reads it with [`values`](Distinct::values).
    pub fn distinct<T>(&self, field: impl FnOnce(M::Fields<M>) -> Field<M, T>) -> Distinct<M, T> {
        let field = field(M::fields());
        Distinct::new(&self.target, field.path().to_string()).reading(field.reader())
    }
}

impl<D> Clone for Collection<D> {
    fn clone(&self) -> Self {
        Collection {
            target: self.target.clone(),
            marker: PhantomData,
        }
    }
}

impl<D> fmt::Debug for Collection<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Collection")
            .field(&format_args!("{}", self.target.namespace()))
            .finish()
    }
}
