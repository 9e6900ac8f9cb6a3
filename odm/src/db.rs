//! The database handle.

mod executor;
mod listing;
mod maintenance;
mod memory_limit;
mod models;
mod opener;
mod options;
mod sessions;
mod tenancy;
mod through;
mod transactions;
mod url;
mod wrapped;

use std::fmt;
use std::sync::Arc;

use bson::{Document, RawDocumentBuf};

pub(crate) use self::executor::{Answer, Executor, upserted};
pub use self::listing::CollectionInfo;
pub use self::models::{ModelDrift, SyncedModel, SyncedModels};
pub use self::options::{ChangeLog, Durability, OpenOptions};
pub(crate) use self::tenancy::Tenancy;
pub(crate) use self::url::check_database_name;
use crate::action::{CreateCollection, InferModels, LoadStored, VerifyRelations, Watch};
use crate::backend::{self, Backend, Capabilities, Operation, WatchScope};
use crate::change::Change;
use crate::codec;
use crate::collection::{Collection, Target};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::relation::Relation;
use crate::transaction::Guard;

/// A database: one of the embedded engine's, or one on a MongoDB server. Cheap to clone; clones share all.
///
/// # Example: open, write, read
/// ```
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// use odm::bson::doc;
///
/// let db = odm::Db::open("memory:").await?;
/// assert_eq!((db.backend_name(), db.name()), ("memory", "main"));
/// let books = db.raw_collection("books");
/// books.insert(doc! {"_id": 1, "title": "Emma"}).await?;
/// assert_eq!(books.find(doc! {"title": "Emma"}).await?, [doc! {"_id": 1, "title": "Emma"}]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Db {
    executor: Executor,
    name: Arc<str>,
}

impl Db {
    /// Opens the database at this URL:
    ///
    /// | URL | where |
    /// |---|---|
    /// | `memory:` | the embedded engine in memory; every opening is a new, empty one |
    /// | `native:path/to/dir` | the embedded engine in a directory |
    /// | `mongodb://host/database`, `mongodb+srv://..` | MongoDB through its driver, which reads the options |
    ///
    /// The embedded engine's database is `main` unless the URL says `?database=name`; it also takes
    /// `durability=immediate` (or `none`, or milliseconds such as `100ms`), `create=false` and `readOnly=true`. In the path,
    /// `%` begins an escape of two hexadecimal digits.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use odm::{Db, ErrorKind};
    ///
    /// let db = Db::open("memory:?database=library").await?;
    /// assert_eq!(db.name(), "library");
    /// let error = Db::open("postgres://localhost/library").await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` for a URL that cannot be read or names no database, `Unsupported` when this build
    /// leaves the backend out, `Locked` when the directory is open already, here or in another process,
    /// `NotFound` when it is missing and must not be created, `Network` or
    /// `Unauthorized` as the server has it. No error shows credentials.
    pub async fn open(url: &str) -> Result<Db> {
        OpenOptions::new().open(url).await
    }

    /// Options to open a database with.
    pub fn options() -> OpenOptions {
        OpenOptions::new()
    }

    /// A database of any backend, such as a wrapped one.
    pub fn from_backend(backend: Arc<dyn Backend>, name: impl Into<Arc<str>>) -> Db {
        Db {
            executor: Executor {
                backend,
                guard: None,
                clock: None,
                tenancy: Tenancy::default(),
            },
            name: name.into(),
        }
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Another database of the same server or engine; inside a transaction, of the same transaction.
    ///
    /// # Errors
    /// `InvalidArgument` when MongoDB does not allow the name.
    pub fn database(&self, name: &str) -> Result<Db> {
        check_database_name(name)?;
        Ok(Db {
            executor: self.executor.clone(),
            name: name.into(),
        })
    }

    /// The collection of a model. No round trip.
    ///
    /// The first time that a model is used, its declaration is compared with what serde does; a difference
    /// comes out of every action on the collection as an error of kind `Schema`.
    pub fn collection<M: Model>(&self) -> Collection<M> {
        self.collection_named(M::DESCRIPTOR.collection)
    }

    /// A collection of another name with the documents of a model: `logs_2026_11`. No round trip.
    pub fn collection_named<M: Model>(&self, name: &str) -> Collection<M> {
        Collection::of_model(self, name)
    }

    /// Loads what fields of documents in memory refer to; as [`Collection::load`] of the model's own collection.
    pub fn load<M: Model, L: Relation<M>>(
        &self,
        documents: &[M],
        relation: impl FnOnce(M::Fields<M>) -> L,
    ) -> LoadStored<M, L> {
        self.collection::<M>().load(documents, relation)
    }

    /// Looks for references that are not as they were declared, in the documents of this model and of all models that
    /// can be reached from it by references, in either direction (against it, where they are named by
    /// `#[odm(referred_by(..))]`); as [`Collection::verify_relations`] of each model's own collection.
    pub fn verify_relations<M: Model>(&self) -> VerifyRelations {
        VerifyRelations::new(M::DESCRIPTOR, self.collection::<M>().target(), true)
    }

    /// A collection of untyped documents. No round trip. Nothing is known of whose they are:
    /// [`Collection::raw`] of a model's collection is the [tenant](Db::for_tenant)'s.
    pub fn raw_collection(&self, name: &str) -> Collection<Document> {
        Collection::untyped(self, name)
    }

    /// The backend: `memory`, `native` or `mongodb`.
    pub fn backend_name(&self) -> &'static str {
        self.executor.backend.name()
    }

    /// What the backend can do.
    pub fn capabilities(&self) -> Capabilities {
        self.executor.backend.capabilities()
    }

    /// The backend, for operations that have no method here.
    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.executor.backend
    }

    /// Watches what changes in all collections of this database, from now on. See [`ChangeStream`].
    ///
    /// ```
    /// # async fn example() -> odm::Result<()> {
    /// use odm::{ChangeEvent, Db, bson::doc};
    ///
    /// let db = Db::open("memory:").await?;
    /// let mut changes = db.watch().await?;
    /// db.raw_collection("books").insert(doc! {"_id": 1}).await?;
    /// let change = changes.try_next().await?.expect("the stream goes on");
    /// assert_eq!(change.collection.as_deref(), Some("books"));
    /// assert!(matches!(change.event, ChangeEvent::Insert { .. }));
    /// # Ok(())
    /// # }
    /// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    /// # runtime.block_on(example()).unwrap();
    /// ```
    ///
    /// [`ChangeStream`]: crate::ChangeStream
    ///
    /// # Errors
    /// `Unsupported` where there are no change streams, `HistoryLost` when it cannot begin where it should, `Tenant` on the
    /// database of a tenant.
    pub fn watch(&self) -> Watch<Change> {
        let scope = WatchScope::Database(self.name.to_string());
        Watch::new(&Target::untyped(self, ""), scope)
    }

    /// Watches what changes in all databases of the server or engine, from now on; as [`watch`](Db::watch).
    ///
    /// # Errors
    /// As [`watch`](Db::watch).
    pub fn watch_everything(&self) -> Watch<Change> {
        Watch::new(&Target::untyped(self, ""), WatchScope::Everything)
    }

    /// Runs a command in MongoDB's vocabulary on this database. One round trip. It knows no
    /// [tenants](Db::for_tenant).
    ///
    /// A cursor in the reply goes on with `getMore`, asked of the same `Db` or a clone of it.
    ///
    /// # Errors
    /// The command's failure, with MongoDB's code.
    pub async fn run_command(&self, command: Document) -> Result<Document> {
        let command = codec::encode_untyped(&command)?;
        let operation = Operation::RunCommand(backend::RunCommand {
            database: self.name.to_string(),
            command,
        });
        let reply = self.execute(operation).await?.document()?;
        match reply {
            Some(reply) => codec::decode_untyped(&reply),
            None => Ok(Document::new()),
        }
    }

    /// The collections of the database, with their options. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn list_collections(&self) -> Result<Vec<CollectionInfo>> {
        self.collections_where(RawDocumentBuf::new()).await
    }

    /// The collection of this name, if it is there. One round trip.
    pub(crate) async fn collection_info(&self, name: &str) -> Result<Option<CollectionInfo>> {
        let found = self.collections_where(bson::rawdoc! { "name": name }).await?;
        Ok(found.into_iter().next())
    }

    async fn collections_where(&self, filter: RawDocumentBuf) -> Result<Vec<CollectionInfo>> {
        let operation = Operation::ListCollections(backend::ListCollections {
            database: self.name.to_string(),
            filter,
        });
        let documents = self.execute(operation).await?.documents()?;
        documents
            .iter()
            .map(|document| CollectionInfo::read(document))
            .collect()
    }

    /// Looks at what the database holds, and gives the models for it, as data and as Rust source: types of `_id`, fields
    /// and nested documents, what is missing or null, maps, indexes, references, options. Writes nothing.
    ///
    /// Each document that was looked at reads into the models and writes back as it was: the same fields with equal
    /// values, those of nested documents in the order of the struct. `index_drift` finds no difference.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let db = odm::Db::open("memory:").await?;
    /// db.raw_collection("books").insert(odm::bson::doc! {"title": "Emma", "pages": 474}).await?;
    ///
    /// let models = db.infer_models().all_documents().await?;
    /// let pages = models.collection("books").and_then(|books| books.field("pages")).expect("it was seen");
    /// assert_eq!((pages.types.as_slice(), pages.missing()), ([("int", 1)].as_slice(), 0.0));
    /// assert!(models.to_rust().contains("pub pages: i32,"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cost: one round trip to list the collections; for each one to list its indexes, and those of a sample of 1,000
    /// documents, unless [`sample`](InferModels::sample) or [`all_documents`](InferModels::all_documents) says otherwise;
    /// for each field that could refer to other documents one count of at most 24 `_id`s in each collection in question.
    /// What is held grows with the different fields there are, not with the documents.
    ///
    /// # Errors
    /// Of `.await`: as any read, and `Tenant` on the database of a tenant. MongoDB lists no collections in a transaction.
    pub fn infer_models(&self) -> InferModels {
        InferModels::new(self)
    }

    /// Creates a collection with options. Collections without options need not be created: the first write
    /// does it.
    pub fn create_collection(&self, name: &str) -> CreateCollection {
        CreateCollection::new(Target::untyped(self, name))
    }

    /// Drops a collection with its indexes; no error when there is none. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn drop_collection(&self, name: &str) -> Result<()> {
        self.raw_collection(name).drop().await
    }

    /// Drops the database with all its collections; no error when there is none. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn drop(&self) -> Result<()> {
        self.check_whole("dropDatabase")?;
        let operation = Operation::DropDatabase(backend::DropDatabase {
            database: self.name.to_string(),
        });
        self.execute(operation).await?.done()
    }

    /// As [`drop`](Db::drop), which in an `Arc<Db>` is hidden by the destructor's.
    ///
    /// # Errors
    /// As any operation.
    pub async fn drop_database(&self) -> Result<()> {
        self.drop().await
    }

    pub(crate) fn of(executor: Executor, name: &str) -> Db {
        Db {
            executor,
            name: name.into(),
        }
    }

    /// The database outside of the transaction.
    pub(crate) fn outer(&self) -> Db {
        match &self.executor.guard {
            Some(guard) => {
                let mut outer = guard.outer().clone();
                outer.name = self.name.clone();
                outer.executor.tenancy = self.executor.tenancy.clone();
                outer
            }
            None => self.clone(),
        }
    }

    pub(crate) fn executor(&self) -> &Executor {
        &self.executor
    }

    pub(crate) fn guard(&self) -> Option<&Arc<Guard>> {
        self.executor.guard.as_ref()
    }

    pub(crate) async fn execute(&self, operation: Operation) -> Result<Answer> {
        let name = operation.name();
        self.executor
            .execute(operation)
            .await
            .map_err(|error| self.explain(error, name))
    }

    fn explain(&self, error: Error, operation: &'static str) -> Error {
        error.within(self.backend_name(), operation, None, || {
            Some(self.name.to_string())
        })
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("backend", &self.backend_name())
            .field("name", &self.name)
            .finish()
    }
}
