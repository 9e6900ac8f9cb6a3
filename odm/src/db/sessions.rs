//! The same database with concerns of its own, in a session, at one moment.

use std::sync::Arc;

use super::{Db, Executor};
use crate::backend::{Backend, Concerns, ReadConcern, ReadPreference, WriteConcern};
use crate::error::{Error, ErrorKind, Result};
use crate::session::CausalSession;

impl Db {
    /// The same database, read from this member of a replica set, whatever the URL says. No round trip.
    ///
    /// What other members have may be old; to read there what was written before, see
    /// [`causal_session`](Db::causal_session). The embedded engine is one member.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// use odm::backend::{ReadPreference, WriteConcern};
    ///
    /// # let db = odm::Db::open("memory:").await?;
    /// let reports = db.with_read_preference(ReadPreference::SecondaryPreferred)?;
    /// assert_eq!(reports.raw_collection("orders").count(doc! {}).await?, 0);
    /// let safe = db.with_write_concern(WriteConcern::majority())?;
    /// safe.raw_collection("orders").insert(doc! {"_id": 1}).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` inside a transaction, which has its own; `Unsupported` of a snapshot, and of a backend around
    /// another one that does not pass it on.
    pub fn with_read_preference(&self, preference: ReadPreference) -> Result<Db> {
        self.concerned(Concerns {
            read_preference: Some(preference),
            ..Concerns::default()
        })
    }

    /// The same database as its primary has it: other members may lack the last writes. A snapshot is what it is, and a
    /// transaction reads from the primary already.
    pub(crate) fn newest(&self) -> Db {
        self.with_read_preference(ReadPreference::Primary)
            .unwrap_or_else(|_| self.clone())
    }

    /// The same database, whose finds, counts, distinct values and aggregations read the data of this level, whatever the
    /// URL says. No round trip. The embedded engine gives the strongest.
    ///
    /// # Errors
    /// As [`with_read_preference`](Db::with_read_preference).
    pub fn with_read_concern(&self, concern: ReadConcern) -> Result<Db> {
        self.concerned(Concerns {
            read_concern: Some(concern),
            ..Concerns::default()
        })
    }

    /// The same database, whose writes are acknowledged when they are as safe as this, whatever the URL says. No round
    /// trip. Transactions that it begins have it too, unless their options say otherwise.
    ///
    /// A write that took effect and was not found to be as safe in time is `InDoubt`.
    ///
    /// On the embedded engine `journal(true)` puts each write on the disk before it is acknowledged, for the price of a
    /// flush, where the database was opened with another durability; more than one member is unsupported.
    ///
    /// # Errors
    /// As [`with_read_preference`](Db::with_read_preference); `Unsupported` too for what the embedded engine cannot give,
    /// `InvalidArgument` for an acknowledgement by no member.
    pub fn with_write_concern(&self, concern: WriteConcern) -> Result<Db> {
        self.concerned(Concerns {
            write_concern: Some(concern),
            ..Concerns::default()
        })
    }

    /// What the operations of this handle ask for, be it by itself or by the URL, as far as it is said: for code that asks
    /// for more, and keeps the rest. A transaction says nothing.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// use std::time::Duration;
    /// use odm::backend::WriteConcern;
    ///
    /// # let db = odm::Db::open("memory:").await?;
    /// let asked = db.concerns().write_concern.unwrap_or(WriteConcern::members(1));
    /// let patient = db.with_write_concern(asked.timeout(Duration::from_secs(60)))?;
    /// # drop(patient);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// No round trip.
    pub fn concerns(&self) -> Concerns {
        self.executor.backend.concerns()
    }

    fn concerned(&self, concerns: Concerns) -> Result<Db> {
        self.check_outside("concerns cannot be chosen inside a transaction", "startSession")?;
        Ok(match self.executor.backend.concerned(concerns)? {
            Some(backend) => self.on(backend),
            None => self.clone(),
        })
    }

    /// Starts a session in which each operation sees those before it, whichever member of a replica set answers: reads
    /// see what was written, and never go back in time. It [derefs](std::ops::Deref) to `Db`, so that whatever takes
    /// `&Db` runs in it.
    ///
    /// Its operations run one after another. On the embedded engine every operation sees those before it anyway.
    /// To keep the promise across failovers too, read and write by majority: [`with_read_concern`](Db::with_read_concern),
    /// [`with_write_concern`](Db::with_write_concern).
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// use odm::CausalToken;
    /// use odm::backend::ReadPreference;
    ///
    /// # let db = odm::Db::open("memory:").await?;
    /// // One request writes, and gives the client how far it has come ..
    /// let session = db.causal_session().await?;
    /// session.raw_collection("orders").insert(doc! {"_id": 1}).await?;
    /// let cookie = session.token().await?.map(|token| token.to_string());
    ///
    /// // .. and the next one, perhaps in another process, reads from any member what was written there.
    /// let session = db.with_read_preference(ReadPreference::SecondaryPreferred)?.causal_session().await?;
    /// if let Some(cookie) = cookie {
    ///     session.advance_to(&cookie.parse::<CausalToken>()?).await?;
    /// }
    /// assert_eq!(session.raw_collection("orders").count(doc! {}).await?, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` inside a transaction, which is one; `Unsupported` on a server without sessions.
    pub async fn causal_session(&self) -> Result<CausalSession> {
        self.check_outside("a session cannot be started inside a transaction", "startSession")?;
        let session = self.executor.backend.session().await;
        let session = session.map_err(|error| self.explain(error, "startSession"))?;
        let db = match &session {
            Some(session) => self.on(session.clone()),
            None => self.clone(),
        };
        Ok(CausalSession::new(db, session))
    }

    /// The database as it is now, to be read for as long as it is kept, whatever is written meanwhile: several finds,
    /// counts and aggregations that agree with each other, loads of relations and verifying among them. Of all
    /// databases of the server or engine, by [`database`](Db::database).
    ///
    /// Everything but reading is `Unsupported`. On MongoDB the indexes and the list of collections are those of now, what a
    /// majority did not have yet is not in it, and the server keeps the past for five minutes
    /// (`minSnapshotHistoryWindowInSeconds`): later reads are errors of kind `Conflict`, and so are those of what was
    /// dropped. The embedded engine keeps it for as long as the handle lives, and does not
    /// use the space of what was replaced meanwhile again before.
    ///
    /// One round trip on MongoDB, none on the embedded engine.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # use odm::bson::doc;
    /// # let db = odm::Db::open("memory:").await?;
    /// let orders = db.raw_collection("orders");
    /// orders.insert(doc! {"_id": 1}).await?;
    /// let then = db.snapshot().await?;
    /// orders.insert(doc! {"_id": 2}).await?;
    /// assert_eq!(then.raw_collection("orders").count(doc! {}).await?, 1);
    /// assert_eq!(orders.count(doc! {}).await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument` inside a transaction, which reads one; `Unsupported` on MongoDB before 5.0 or without a replica
    /// set, and of a backend around another one that does not pass it on.
    pub async fn snapshot(&self) -> Result<Db> {
        self.check_outside("a transaction reads a snapshot of its own", "snapshot")?;
        let snapshot = self.executor.backend.snapshot(&self.name).await;
        let snapshot = snapshot.map_err(|error| self.explain(error, "snapshot"))?;
        let Some(backend) = snapshot else {
            let error = Error::new(ErrorKind::Unsupported, "the backend has no snapshots");
            return Err(self.explain(error, "snapshot"));
        };
        Ok(self.on(backend))
    }

    fn check_outside(&self, text: &'static str, operation: &'static str) -> Result<()> {
        match self.in_transaction() {
            false => Ok(()),
            true => Err(self.explain(Error::new(ErrorKind::InvalidArgument, text), operation)),
        }
    }

    /// The same on another backend.
    fn on(&self, backend: Arc<dyn Backend>) -> Db {
        let mut db = self.clone();
        db.executor = Executor {
            backend,
            ..db.executor
        };
        db
    }
}
