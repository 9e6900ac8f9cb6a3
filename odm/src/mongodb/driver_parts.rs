//! The driver's own client and session, for code that uses the driver beside this crate.

use std::any::Any;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use ::mongodb::error::Error as DriverError;
use ::mongodb::{Client, ClientSession};
use tokio::sync::OwnedMutexGuard;

use super::SharedSession;
use crate::db::Db;
use crate::error::{Error, ErrorKind, Result};
use crate::transaction::Tx;

/// What a database on MongoDB is made of.
#[derive(Clone)]
pub(super) struct DriverParts {
    pub(super) client: Client,
    /// Of a transaction.
    pub(super) session: Option<SharedSession>,
}

impl DriverParts {
    pub(super) fn boxed(self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(Arc::new(self))
    }

    fn of(db: &Db) -> Result<DriverParts> {
        let parts = db.backend().parts();
        let own = parts.and_then(|parts| parts.downcast_ref::<DriverParts>().cloned());
        own.ok_or_else(|| {
            let message = format!("the backend `{}` has no MongoDB driver", db.backend_name());
            Error::new(ErrorKind::Unsupported, message)
        })
    }
}

/// The driver's client of a database on MongoDB, opened by a URL or by a client of your own.
///
/// For what is the driver's alone. What is written through it goes around the models: no version is counted, no date set,
/// no copy told.
///
/// # Errors
/// `Unsupported` on another backend.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let db = odm::Db::open("mongodb://localhost/library").await?;
/// let client = odm::mongodb::client(&db)?;
/// println!("{:?}", client.list_database_names().await?);
/// # Ok(()) }
/// ```
pub fn client(db: &Db) -> Result<Client> {
    DriverParts::of(db).map(|parts| parts.client)
}

/// The driver's session of a transaction, for operations of the driver that are to be a part of it.
///
/// The transaction waits for as long as it is held: drop it before the next operation through `tx`, which would wait for
/// ever. Neither commit nor abort by it; that is the transaction's. The driver's errors become errors of this crate by
/// [`error`], so that the transaction is run again where that may cure it.
///
/// # Errors
/// `Unsupported` on another backend, `Locked` when the transaction is over.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # use odm::bson::doc;
/// use odm::mongodb::driver::bson::Document;
/// # let db = odm::Db::open("mongodb://localhost/library").await?;
/// # let legacy = odm::mongodb::client(&db)?.database("library").collection::<Document>("legacy");
/// db.transaction(async |tx| {
///     tx.raw_collection("books").insert(doc! {"_id": 1}).await?;
///     let mut session = odm::mongodb::session(&tx).await?;
///     legacy.insert_one(doc! {"book": 1}).session(&mut *session).await.map_err(odm::mongodb::error)?;
///     Ok(())
/// })
/// .await?;
/// # Ok(()) }
/// ```
pub async fn session(tx: &Tx) -> Result<Session> {
    let parts = DriverParts::of(tx)?;
    tx.guard().check_running()?;
    let Some(session) = parts.session else {
        let message = "the database is not in a transaction";
        return Err(Error::new(ErrorKind::Unsupported, message).with_backend(super::NAME));
    };
    let held = session.driver.clone().lock_owned().await;
    session.check_running()?;
    Ok(Session(held))
}

/// The driver's error of an operation of which it is not known whether it writes, as an error of this crate: after a
/// network failure it is in doubt.
pub fn error(error: DriverError) -> Error {
    super::error::from_driver(error, true).with_backend(super::NAME)
}

/// The driver's session of a transaction; the transaction waits until it is dropped.
pub struct Session(OwnedMutexGuard<ClientSession>);

impl Deref for Session {
    type Target = ClientSession;

    fn deref(&self) -> &ClientSession {
        &self.0
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut ClientSession {
        &mut self.0
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}
