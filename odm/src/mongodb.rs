//! MongoDB through its official driver: the only module that names it.
//!
//! Pool, TLS, authentication, read and write concern, read preference and retryable writes are the driver's,
//! reachable through the URL and through [`backend`] with a client of your own.

mod collections;
mod command;
mod cursor;
mod cursors;
mod document;
mod driver_parts;
mod error;
mod limit;
mod read;
mod statistics;
mod transaction;
mod watch;
mod write;

use std::any::Any;
use std::fmt;
use std::future::ready;
use std::sync::Arc;

use self::cursors::CursorSessions;
use self::driver_parts::DriverParts;
pub use self::driver_parts::{Session, client, error, session};
use ::mongodb::options::ClientOptions;
use ::mongodb::{Client, ClientSession, Collection, Database};
use bson::RawDocumentBuf;
use futures_core::future::BoxFuture;

use crate::backend::{
    Backend, Capabilities, Namespace, Operation, Response, Transaction, TransactionOptions,
};
use crate::error::{Error, ErrorKind, Result};

/// The backend's name in errors and capabilities.
pub(crate) const NAME: &str = "mongodb";

/// A driver client as a backend.
struct MongoBackend {
    client: Client,
    /// Of commands.
    cursors: CursorSessions,
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
    Arc::new(MongoBackend {
        client,
        cursors: CursorSessions::default(),
    })
}

/// The driver itself, in the version this crate was built with.
pub use ::mongodb as driver;

impl MongoBackend {
    fn database(&self, name: &str) -> Database {
        self.client.database(name)
    }

    fn collection(&self, namespace: &Namespace) -> Collection<RawDocumentBuf> {
        self.client
            .database(&namespace.database)
            .collection(&namespace.collection)
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
        Box::pin(async move {
            let (name, is_write) = (operation.name(), operation.is_write());
            let namespace = operation.namespace().map(ToString::to_string);
            self.run(operation, None)
                .await
                .map_err(|e| error::located(e, name, is_write, namespace))
        })
    }

    fn begin(&self, options: TransactionOptions) -> BoxFuture<'_, Result<Arc<dyn Transaction>>> {
        Box::pin(async move {
            let client = self.client.clone();
            let transaction = transaction::begin(client, options).await?;
            Ok(Arc::new(transaction) as Arc<dyn Transaction>)
        })
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

/// The session of a transaction, shared by its operations and cursors. Operations of one transaction run one
/// after another: the server allows no other way.
type SharedSession = Arc<tokio::sync::Mutex<ClientSession>>;

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
            Operation::Flush(_) if session.is_some() => {
                refused("a transaction's writes are not durable before it commits")
            }
            // An acknowledged write is as durable as its write concern says.
            Operation::Flush(_) => Box::pin(ready(Ok(Response::Done))),
            Operation::MeasureStore(_) => refused("MongoDB tells such figures by its `serverStatus` command"),
        }
    }

    /// Runs a command with the client's write concern where it is a write; the reply's write errors are not
    /// looked at.
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
                let mut session = session.lock().await;
                Ok(database.run_raw_command(command).session(&mut *session).await?)
            }
        }
    }
}
