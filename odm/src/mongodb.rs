//! MongoDB through its official driver: the only module that names it.
//!
//! Pool, TLS, authentication, read and write concern, read preference and retryable writes are the driver's,
//! reachable through the URL and through [`backend()`] with a client of your own.

mod collections;
mod command;
mod concerns;
mod cursor;
mod cursors;
mod document;
mod driver_parts;
mod error;
mod limit;
mod read;
mod session;
mod snapshot;
mod statistics;
mod task;
mod transaction;
mod watch;
mod write;

use std::any::Any;
use std::fmt;
use std::future::ready;
use std::sync::{Arc, OnceLock};

use self::cursors::CursorSessions;
use self::driver_parts::DriverParts;
pub use self::driver_parts::{Session, client, error, session};
use ::mongodb::options::ClientOptions;
use ::mongodb::{Client, ClientSession, Collection, Database};
use bson::RawDocumentBuf;
use bson::raw::cstr;
use futures_core::future::BoxFuture;

use crate::backend::{
    self, Backend, Capabilities, Concerns, Namespace, Operation, ReadConcern, Response, Transaction,
    TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

/// The backend's name in errors and capabilities.
pub(crate) const NAME: &str = "mongodb";

/// A driver client as a backend.
#[derive(Clone)]
struct MongoBackend {
    client: Client,
    /// What operations ask for beside what the client's options say.
    concerns: Concerns,
    /// Of commands.
    cursors: Arc<CursorSessions>,
}

impl fmt::Debug for MongoBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MongoBackend")
    }
}

/// The most connections to each node unless the URL says how many: what the drivers of other languages have.
const POOL: u32 = 100;

/// Connects to the server that a `mongodb://` or `mongodb+srv://` URL names, and gives the backend with the
/// database of the URL's path. No round trip happens before the first operation.
///
/// # Errors
/// `InvalidArgument` when the URL is malformed or names no database.
pub(crate) async fn open(url: &str, app_name: Option<&str>) -> Result<(Arc<dyn Backend>, String)> {
    let mut options = ClientOptions::parse(url)
        .await
        .map_err(|e| error::from_driver(e, false))?;
    // A write that meets a document of a running transaction waits on the server and keeps its connection. With the few
    // that the driver allows by itself, the transaction might find none to end with.
    options.max_pool_size.get_or_insert(POOL);
    if let Some(name) = app_name {
        options.app_name = Some(name.to_owned());
    }
    let database = options.default_database.clone().ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidArgument,
            "the url names no database; add one as its path: mongodb://host/database",
        )
        .with_backend(NAME)
    })?;
    let client = Client::with_options(options).map_err(|e| error::from_driver(e, false))?;
    Ok((backend(client), database))
}

/// A backend over a client that the program made itself: for driver options that no URL can say.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use odm::mongodb::driver::Client;
///
/// let client = Client::with_uri_str("mongodb://localhost").await?;
/// let db = odm::Db::from_backend(odm::mongodb::backend(client), "library");
/// # Ok(()) }
/// ```
pub fn backend(client: Client) -> Arc<dyn Backend> {
    Arc::new(MongoBackend::of(client))
}

/// The driver itself, in the version this crate was built with.
pub use ::mongodb as driver;

impl MongoBackend {
    fn of(client: Client) -> MongoBackend {
        MongoBackend {
            client,
            concerns: Concerns::default(),
            cursors: Arc::default(),
        }
    }

    fn database(&self, name: &str) -> Database {
        match concerns::of_database(&self.concerns) {
            None => self.client.database(name),
            Some(options) => self.client.database_with_options(name, options),
        }
    }

    fn collection(&self, namespace: &Namespace) -> Collection<RawDocumentBuf> {
        self.database(&namespace.database)
            .collection(&namespace.collection)
    }

    /// Executes an operation, perhaps in a session that is no transaction's.
    fn execute_in<'a>(
        &'a self,
        operation: Operation,
        session: Option<&'a SharedSession>,
    ) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            let (name, is_write) = (operation.name(), operation.is_write());
            let namespace = operation.namespace().map(ToString::to_string);
            self.run(operation, session)
                .await
                .map_err(|e| error::located(e, name, is_write, namespace))
        })
    }

    /// The same, asking for this too.
    fn asking(&self, concerns: Concerns) -> Result<MongoBackend> {
        concerns::check(&concerns)?;
        Ok(MongoBackend {
            concerns: concerns.or(self.concerns),
            ..self.clone()
        })
    }

    /// The same for a causal session, whose reads wait for what it has seen: what is available may not.
    fn causal(mut self) -> MongoBackend {
        if self.concerns().read_concern == Some(ReadConcern::Available) {
            self.concerns.read_concern = Some(ReadConcern::Local);
        }
        self
    }
}

impl Backend for MongoBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            transactions: true,
            change_streams: true,
            text_indexes: true,
            hashed_indexes: true,
            aggregation: true,
            persistent: true,
            commands: true,
            ..Capabilities::minimal()
        }
    }

    fn execute(&self, operation: Operation) -> BoxFuture<'_, Result<Response>> {
        self.execute_in(operation, None)
    }

    fn concerned(&self, concerns: Concerns) -> Result<Option<Arc<dyn Backend>>> {
        Ok(Some(Arc::new(self.asking(concerns)?)))
    }

    fn concerns(&self) -> Concerns {
        concerns::asked(self.concerns, &self.client)
    }

    fn session(&self) -> BoxFuture<'_, Result<Option<Arc<dyn backend::Session>>>> {
        Box::pin(async move {
            let session = session::start(self.clone()).await?;
            Ok(Some(Arc::new(session) as Arc<dyn backend::Session>))
        })
    }

    fn snapshot<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Backend>>>> {
        Box::pin(async move {
            let snapshot = snapshot::take(self.clone(), database, None).await?;
            Ok(Some(Arc::new(snapshot) as Arc<dyn Backend>))
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let transaction = transaction::begin(self, options, None).await?;
            Ok(Arc::new(transaction) as Arc<dyn Transaction>)
        })
    }

    fn connection(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.cursors.clone())
    }

    fn parts(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        DriverParts {
            client: self.client.clone(),
            session: None,
        }
        .boxed()
    }
}

/// A failure before it is known where it happened.
enum Failure {
    Driver(::mongodb::error::Error),
    Own(Error),
}

impl From<::mongodb::error::Error> for Failure {
    fn from(error: ::mongodb::error::Error) -> Failure {
        Failure::Driver(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Own(error)
    }
}

/// What only the embedded engine does.
fn refused<'a>(text: &'static str) -> BoxFuture<'a, Attempt<Response>> {
    Box::pin(ready(Err(Error::new(ErrorKind::Unsupported, text).into())))
}

type Attempt<T> = std::result::Result<T, Failure>;

/// A session, shared by its operations and cursors, which run one after another: the driver, and in a transaction the
/// server, allows no other way.
#[derive(Clone)]
struct SharedSession {
    driver: Arc<tokio::sync::Mutex<ClientSession>>,
    /// What became of the transaction, where it is one's; said under the lock.
    end: Option<Arc<OnceLock<&'static str>>>,
}

impl SharedSession {
    fn of(session: ClientSession) -> SharedSession {
        SharedSession {
            driver: Arc::new(tokio::sync::Mutex::new(session)),
            end: None,
        }
    }

    fn of_transaction(session: ClientSession) -> SharedSession {
        SharedSession {
            end: Some(Arc::default()),
            ..SharedSession::of(session)
        }
    }

    async fn lock(&self) -> tokio::sync::MutexGuard<'_, ClientSession> {
        self.driver.lock().await
    }

    /// For an operation, which may have waited until the transaction was over: the driver would make it outside of it.
    async fn enter(&self) -> Result<tokio::sync::MutexGuard<'_, ClientSession>> {
        let session = self.lock().await;
        self.check_running()?;
        Ok(session)
    }

    /// For the end of a transaction, behind which no operation enters.
    async fn end(&self, text: &'static str) -> tokio::sync::MutexGuard<'_, ClientSession> {
        let session = self.lock().await;
        if let Some(end) = &self.end {
            end.get_or_init(|| text);
        }
        session
    }

    /// To be asked under the lock.
    fn check_running(&self) -> Result<()> {
        match self.end.as_ref().and_then(|end| end.get()) {
            Some(text) => Err(Error::new(ErrorKind::Locked, *text).with_backend(NAME)),
            None => Ok(()),
        }
    }
}

/// Whether what runs in this session is a part of a transaction.
fn in_transaction(session: Option<&SharedSession>) -> bool {
    session.is_some_and(|session| session.end.is_some())
}

impl MongoBackend {
    /// A future of its own for each verb: the stack holds no room for the others while one of them runs.
    fn run<'a>(
        &'a self,
        operation: Operation,
        session: Option<&'a SharedSession>,
    ) -> BoxFuture<'a, Attempt<Response>> {
        match operation {
            Operation::Find(find) => Box::pin(read::find(self, find, session)),
            Operation::Aggregate(aggregate) => Box::pin(read::aggregate(self, aggregate, session)),
            Operation::Count(count) => Box::pin(read::count(self, count, session)),
            Operation::Distinct(distinct) => Box::pin(read::distinct(self, distinct, session)),
            Operation::Explain(explain) => Box::pin(read::explain(self, explain, session)),
            Operation::Insert(insert) => Box::pin(write::insert(self, insert, session)),
            Operation::Update(update) => Box::pin(write::update(self, update, session)),
            Operation::Delete(delete) => Box::pin(write::delete(self, delete, session)),
            Operation::BulkWrite(bulk) => Box::pin(write::bulk(self, bulk, session)),
            Operation::FindAndModify(change) => Box::pin(write::find_and_modify(self, change, session)),
            Operation::CreateIndexes(indexes) => {
                Box::pin(collections::create_indexes(self, indexes, session))
            }
            Operation::DropIndexes(indexes) => Box::pin(collections::drop_indexes(self, indexes, session)),
            Operation::ListIndexes(list) => Box::pin(collections::list_indexes(self, list, session)),
            Operation::CreateCollection(create) => Box::pin(collections::create(self, create, session)),
            Operation::ModifyCollection(modify) => Box::pin(collections::modify(self, modify, session)),
            Operation::RenameCollection(rename) => Box::pin(collections::rename(self, rename, session)),
            Operation::Statistics(asked) => Box::pin(statistics::statistics(self, asked, session)),
            Operation::DropCollection(drop) => Box::pin(collections::drop(self, drop, session)),
            Operation::ListCollections(list) => Box::pin(collections::list(self, list, session)),
            Operation::DropDatabase(drop) => Box::pin(collections::drop_database(self, drop, session)),
            Operation::RunCommand(command) => Box::pin(read::run_command(self, command, session)),
            Operation::Watch(watch) => Box::pin(watch::watch(self, watch, session)),
            Operation::Check(_) => refused("MongoDB checks a collection by its `validate` command"),
            Operation::Repair(_) => refused("MongoDB repairs a collection by its `validate` command"),
            Operation::Backup(_) => {
                refused("MongoDB is backed up by `mongodump` or by snapshots of its files")
            }
            Operation::Compact(_) => refused("MongoDB compacts a collection by its `compact` command"),
            Operation::Flush(_) if in_transaction(session) => {
                refused("a transaction's writes are not durable before it commits")
            }
            // An acknowledged write is as durable as its write concern says.
            Operation::Flush(_) => Box::pin(ready(Ok(Response::Done))),
            Operation::MeasureStore(_) => refused("MongoDB tells such figures by its `serverStatus` command"),
        }
    }

    /// Runs a command that changes something; a write concern that is not met is an error.
    async fn change(
        &self,
        database: &str,
        command: RawDocumentBuf,
        session: Option<&SharedSession>,
    ) -> Attempt<bson::Document> {
        let reply = self.write(database, command, session).await?;
        match error::concern_of(&reply) {
            Some(error) => Err(error.into()),
            None => Ok(reply),
        }
    }

    /// Runs a command that changes something, with the write concern that the driver adds to its own methods only; inside
    /// a transaction none is allowed. The reply's errors are not looked at.
    async fn write(
        &self,
        database: &str,
        mut command: RawDocumentBuf,
        session: Option<&SharedSession>,
    ) -> Attempt<bson::Document> {
        if !in_transaction(session)
            && let Some(concern) = self.database(database).write_concern()
            && let Ok(concern) = bson::serialize_to_raw_document_buf(concern)
            && !concern.is_empty()
        {
            command.append(cstr!("writeConcern"), concern);
        }
        self.command(database, command, session).await
    }

    /// Runs a command as it is.
    async fn command(
        &self,
        database: &str,
        command: RawDocumentBuf,
        session: Option<&SharedSession>,
    ) -> Attempt<bson::Document> {
        let database = self.database(database);
        match session {
            None => Ok(database.run_raw_command(command).await?),
            Some(session) => {
                let mut session = session.enter().await?;
                Ok(database.run_raw_command(command).session(&mut *session).await?)
            }
        }
    }
}
