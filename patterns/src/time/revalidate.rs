//! Appointments after the rules have changed.

use odm::bson::{Bson, DateTime, doc};
use odm::{Collection, Error, ErrorKind, Field, Model, Result};

use super::appointment::Appointment;
use super::error::TimeError;
use super::zones::Zones;
use crate::dotted::value_at;
use crate::still::still;

/// How often a document that others change at the same time is read again.
const TRIES: usize = 8;

/// An appointment that is at another instant now.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Moved {
    /// The document's `_id`.
    pub id: Bson,
    /// The instant by the old rules.
    pub from: DateTime,
    /// The instant by the new ones.
    pub to: DateTime,
}

/// What a revalidation did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Revalidation {
    /// The appointments that are at another instant now.
    pub moved: Vec<Moved>,
    /// How many stayed, and have the new version now.
    pub confirmed: u64,
    /// The documents whose time does not exist any more, and may not be moved, or whose zone does not. They are as they
    /// were.
    pub refused: Vec<(Bson, TimeError)>,
}

/// Computes the instants of all appointments anew that were computed by other rules than these. An index on the field's
/// `tzdb` finds them.
///
/// ```
/// use odm::{Db, Model};
/// use odm_patterns::time::jiff::tz::TimeZone;
/// use odm_patterns::time::{Appointment, Choice, Zones, revalidate};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Meeting {
///     #[serde(rename = "_id")]
///     id: i32,
///     at: Appointment,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let meetings = Db::open("memory:").await?.collection::<Meeting>();
/// let at = Appointment::new("2030-07-01T10:00".parse()?, "Europe/Berlin", Choice::Compatible, &Zones::bundled())?;
/// meetings.insert(Meeting { id: 1, at }).await?;
///
/// // Summer time is abolished.
/// let abolished = Zones::new("2029a", |_| TimeZone::posix("CET-1").ok());
/// let report = revalidate(&meetings, |m| m.at.clone(), &abolished).await?;
/// assert_eq!(report.moved.len(), 1);
/// assert_eq!(meetings.get(1).required().await?.at.offset, 3600);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `Conflict` when a document kept changing; `Decode` for one that holds no appointment; those of the database. What was
/// done stays so, and the next run goes on with the rest.
pub async fn revalidate<M: Model>(
    collection: &Collection<M>,
    field: impl FnOnce(M::Fields<M>) -> Field<M, Appointment>,
    zones: &Zones,
) -> Result<Revalidation> {
    let path = field(M::fields()).path().to_string();
    let stale = doc! {
        format!("{path}.tzdb"): { "$ne": zones.version() },
        format!("{path}.civil"): { "$type": "date" },
    };
    let raw = collection.raw();
    let mut report = Revalidation::default();
    let mut documents = raw.find(&stale).stream();
    while let Some(document) = documents.try_next().await? {
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        let mut seen = Some(document);
        for attempt in 0.. {
            let Some(document) = seen.take() else { break };
            let stored = value_at(&document, &path).cloned().unwrap_or(Bson::Null);
            let old: Appointment = odm::bson::deserialize_from_bson(stored.clone()).map_err(|error| {
                Error::new(ErrorKind::Decode, "the document holds no appointment")
                    .with_id(id.clone())
                    .with_path(path.clone())
                    .with_source(error)
            })?;
            let new = match old.revalidated(zones) {
                Ok(new) => new,
                Err(error) => {
                    report.refused.push((id.clone(), error));
                    break;
                }
            };
            let mut unchanged = still(&path, &stored);
            unchanged.insert("_id", doc! { "$eq": &id });
            let update = doc! { "$set": {
                format!("{path}.date"): new.date,
                format!("{path}.offset"): new.offset,
                format!("{path}.tzdb"): &new.tzdb,
            } };
            if raw.update_one(unchanged, update).await?.matched == 1 {
                match old.date == new.date {
                    true => report.confirmed += 1,
                    false => report.moved.push(Moved {
                        id: id.clone(),
                        from: old.date,
                        to: new.date,
                    }),
                }
                break;
            }
            if attempt == TRIES {
                return Err(Error::new(ErrorKind::Conflict, "the document kept changing").with_id(id));
            }
            let mut again = stale.clone();
            again.insert("_id", doc! { "$eq": &id });
            seen = raw.find_one(again).await?;
        }
    }
    Ok(report)
}
