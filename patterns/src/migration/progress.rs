//! How far a resumable step is.

use odm::bson::Bson;
use odm::{Collection, Db, Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::StepError;
use super::lease::LeaseGone;
use super::ledger::fence;
use super::record::{StepRecord, StepState};
use super::term::Term;
use crate::value::{decode, encode, from_bson};

/// What a [resumable](super::Step::resumable) step gets: the database, and where it was.
///
/// ```
/// # use odm::{Db, bson::doc};
/// # use odm_patterns::migration::{Migrations, Progress, Step};
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let step = Step::resumable("2026_11_02_years", async |progress: Progress| {
///     let first = progress.position::<i32>()?.unwrap_or(1900);
///     for year in first..2000 {
///         let years = progress.db().raw_collection("years");
///         years.upsert(doc! {"_id": year}, doc! {"$set": {"leap": year % 4 == 0}}).await?;
///         progress.save(&(year + 1)).await?;
///     }
///     Ok(())
/// });
/// let db = Db::open("memory:").await?;
/// Migrations::new().step(step).run(&db).await?;
/// assert_eq!(db.raw_collection("years").count(doc! {}).await?, 100);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Progress {
    pub(super) db: Db,
    pub(super) records: Collection<StepRecord>,
    pub(super) term: Term,
    pub(super) id: String,
    pub(super) attempt: u32,
    pub(super) position: Option<Bson>,
}

impl Progress {
    /// The database.
    pub fn db(&self) -> &Db {
        &self.db
    }

    /// Which attempt this is, counted from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// A number that grows with whoever takes over: a fence for other systems.
    pub fn token(&self) -> i64 {
        self.term.token()
    }

    /// What an earlier attempt saved last.
    ///
    /// # Errors
    /// `Decode` when it is none of this type.
    pub fn position<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        self.position.clone().map(from_bson).transpose()
    }

    /// Saves where the next attempt goes on, unless somebody else has taken over; and makes the lease last anew where no
    /// [sign of life](super::Migrations::heartbeat) was given for so long. One round trip, and one for the lease then.
    ///
    /// # Errors
    /// That the lease is lost, or that the record is gone: pass it on. `Encode` for a position that does not fit BSON, or
    /// that could not be read back as what looks like extended JSON cannot; those of the database.
    pub async fn save<T: Serialize>(&self, position: &T) -> Result<(), StepError> {
        let position = encode(position)?;
        // A record that cannot be read would hold up every run.
        let position: Bson = decode(&position).map_err(|error| {
            Error::new(ErrorKind::Encode, "the position could not be read back").with_source(error)
        })?;
        if !self.term.renew_if_due().await? {
            return Err(LeaseGone.into());
        }
        let saved = self.records.update_one(
            |r| fence(&r, &self.id, self.token(), StepState::Running),
            |r| r.position.set(Some(position)),
        );
        match saved.await?.matched {
            0 => Err(LeaseGone.into()),
            _ => Ok(()),
        }
    }
}
