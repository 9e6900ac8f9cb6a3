//! Appointments after the rules have changed.

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Error, ErrorKind, Field, Model, Path, Result, Segment};

use super::appointment::Appointment;
use super::zones::Zones;
use crate::own;
use crate::still::still;

/// How often a document that others change at the same time is read again.
const TRIES: usize = 8;

/// An appointment that is at another instant now.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Moved {
    /// The document's `_id`.
    pub id: Bson,
    /// Where in the document it is: `at`, `series.3.at`.
    pub path: String,
    /// The instant by the old rules.
    pub from: DateTime,
    /// The instant by the new ones.
    pub to: DateTime,
}

/// What a revalidation did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Revalidation {
    /// The appointments that are at another instant now.
    pub moved: Vec<Moved>,
    /// How many stayed, and have the new version now.
    pub confirmed: u64,
    /// The documents with appointments that are as they were, and why: the time does not exist any more, and may not be
    /// moved, or its zone does not (`Validation`, with a [`TimeError`](super::TimeError) as the source); a unique index
    /// (`DuplicateKey`) or a rule of the model (`Validation`) refuses the new instant; it is no appointment (`Decode`). The
    /// next run tries them again.
    pub refused: Vec<(Bson, Error)>,
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
/// Appointments in lists are named by [`any`](odm::Field::any): `|v| v.series.any().at.clone()`. Those of a document are
/// changed together.
///
/// The documents are those of the model's kind, softly deleted ones too. Each is changed as an
/// [`update`](Collection::update_one) of the model does: its version is counted, and what is derived or copied from it
/// follows.
///
/// # Errors
/// `Unsupported` for a field whose place a document does not tell, such as `each()` or the values of a map; `Conflict` when a
/// document kept changing; those of the database. What was done stays so, and the next run goes on with the rest.
pub async fn revalidate<M: Model>(
    collection: &Collection<M>,
    field: impl FnOnce(M::Fields<M>) -> Field<M, Appointment>,
    zones: &Zones,
) -> Result<Revalidation> {
    let path = text_of::<M>(field(M::fields()).path())?;
    let stale = stale(&path, zones);
    let mut report = Revalidation::default();
    let mut documents = own::find(collection, stale.clone()).stream();
    while let Some(document) = documents.try_next().await? {
        let id = document.get("_id").cloned().unwrap_or(Bson::Null);
        let located = |error: Error| own::located::<M>(error, &id, &path);
        let mut seen = Some(document);
        for attempt in 0.. {
            let Some(document) = seen.take() else { break };
            let mut places = Places::default();
            for (place, stored) in found_at(&document, &path) {
                places.look_at(place, stored, zones);
            }
            let refused = places.refused.into_iter();
            let mut refused: Vec<Error> = refused.map(located).collect();
            let mut is_done = places.set.is_empty();
            if !is_done {
                let (anchor, value) = anchor(&document, &path);
                let mut unchanged = still(&anchor, value);
                unchanged.insert("_id", doc! { "$eq": &id });
                let change = doc! { "$set": places.set };
                match own::update_one(collection, unchanged, change).await {
                    Ok(done) if done.matched == 1 => {
                        report.confirmed += places.confirmed;
                        let moved = places.moved.into_iter();
                        report.moved.extend(moved.map(|(path, from, to)| Moved {
                            id: id.clone(),
                            path,
                            from,
                            to,
                        }));
                        is_done = true;
                    }
                    Ok(_) => {}
                    Err(error) if own::is_refused(&error) => {
                        refused.push(located(error));
                        is_done = true;
                    }
                    Err(error) => return Err(located(error)),
                }
            }
            if is_done {
                let refused = refused.into_iter();
                report.refused.extend(refused.map(|error| (id.clone(), error)));
                break;
            }
            if attempt == TRIES {
                let error = Error::new(ErrorKind::Conflict, "the document kept changing");
                return Err(located(error).with_namespace(collection.namespace()));
            }
            let mut again = stale.clone();
            again.insert("_id", doc! { "$eq": &id });
            seen = own::find(collection, again).limit(1).await?.pop();
        }
    }
    Ok(report)
}

/// The dotted text of a path that tells of each document where the field is.
fn text_of<M: Model>(path: &Path) -> Result<String> {
    let tells = |segment: &&Segment| {
        matches!(
            segment,
            Segment::Name(_) | Segment::Key(_) | Segment::Index(_) | Segment::Any
        )
    };
    match path.segments().iter().all(tells) {
        true => Ok(path.to_string()),
        false => Err(Error::new(
            ErrorKind::Unsupported,
            "appointments are found by the names of fields, and in lists by `any()`",
        )
        .with_model(M::DESCRIPTOR.name)
        .with_path(path.to_string())),
    }
}

/// The condition that an appointment is of other rules. Of a list `$ne` would ask that none is of these.
fn stale(path: &str, zones: &Zones) -> Document {
    let (tzdb, version) = (format!("{path}.tzdb"), zones.version());
    doc! {
        "$or": [
            { &tzdb: { "$lt": version } },
            { &tzdb: { "$gt": version } },
            { &tzdb: Bson::Null },
        ],
        format!("{path}.civil"): { "$type": "date" },
    }
}

/// What is at a dotted path, and where: several values, when there are lists on the way.
fn found_at<'a>(document: &'a Document, path: &str) -> Vec<(String, &'a Bson)> {
    fn collect<'a>(value: &'a Bson, place: String, rest: &str, found: &mut Vec<(String, &'a Bson)>) {
        let (name, behind) = rest.split_once('.').unwrap_or((rest, ""));
        match value {
            Bson::Array(all) => match name.parse::<usize>() {
                Ok(index) => {
                    if let Some(value) = all.get(index) {
                        collect(value, format!("{place}.{index}"), behind, found);
                    }
                }
                Err(_) => {
                    for (index, value) in all
                        .iter()
                        .enumerate()
                        .filter(|(_, value)| value.as_document().is_some())
                    {
                        collect(value, format!("{place}.{index}"), rest, found);
                    }
                }
            },
            value if rest.is_empty() => found.push((place, value)),
            Bson::Document(inner) => {
                if let Some(value) = inner.get(name) {
                    collect(value, format!("{place}.{name}"), behind, found);
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    let (name, behind) = path.split_once('.').unwrap_or((path, ""));
    if let Some(value) = document.get(name) {
        collect(value, name.to_owned(), behind, &mut found);
    }
    found
}

/// What is at a path, or the first list on the way: a path behind that does not say which element is meant.
fn anchor<'a>(document: &'a Document, path: &str) -> (String, &'a Bson) {
    let mut inner = document;
    let mut end = 0;
    loop {
        let rest = &path[end..];
        let length = rest.find('.').unwrap_or(rest.len());
        let value = inner.get(&rest[..length]).unwrap_or(&Bson::Null);
        end += length;
        match value {
            Bson::Document(next) if end < path.len() => {
                inner = next;
                end += 1;
            }
            value => return (path[..end].to_owned(), value),
        }
    }
}

/// The appointments of a document that are of other rules.
#[derive(Default)]
struct Places {
    set: Document,
    moved: Vec<(String, DateTime, DateTime)>,
    confirmed: u64,
    refused: Vec<Error>,
}

impl Places {
    fn look_at(&mut self, place: String, stored: &Bson, zones: &Zones) {
        let Some(fields) = stored.as_document() else {
            return;
        };
        if fields.get_str("tzdb").is_ok_and(|tzdb| tzdb == zones.version())
            || fields.get_datetime("civil").is_err()
        {
            return;
        }
        let old: Appointment = match odm::bson::deserialize_from_bson(stored.clone()) {
            Ok(old) => old,
            Err(error) => {
                let refused = Error::new(ErrorKind::Decode, "the document holds no appointment");
                self.refused.push(refused.with_path(place).with_source(error));
                return;
            }
        };
        let new = match old.revalidated(zones) {
            Ok(new) => new,
            Err(error) => {
                self.refused.push(Error::from(error).with_path(place));
                return;
            }
        };
        self.set.insert(format!("{place}.date"), new.date);
        self.set.insert(format!("{place}.offset"), new.offset);
        self.set.insert(format!("{place}.tzdb"), &new.tzdb);
        match old.date == new.date {
            true => self.confirmed += 1,
            false => self.moved.push((place, old.date, new.date)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appointments_are_found_through_lists() {
        let document = doc! {
            "at": { "x": 1 },
            "series": [{ "at": { "x": 2 } }, 7, { "at": { "x": 3 } }],
            "inner": { "list": [{ "x": 4 }] },
        };
        let places = |path: &str| -> Vec<String> {
            let found = found_at(&document, path);
            found.into_iter().map(|(place, _)| place).collect()
        };
        assert_eq!(places("at"), ["at"]);
        assert_eq!(places("series.at"), ["series.0.at", "series.2.at"]);
        assert_eq!(places("series.2.at"), ["series.2.at"]);
        assert_eq!(places("inner.list"), ["inner.list.0"]);
        assert_eq!(places("inner.none"), Vec::<String>::new());
        assert_eq!(anchor(&document, "at").0, "at");
        assert_eq!(anchor(&document, "series.at").0, "series");
        assert_eq!(anchor(&document, "inner.list").0, "inner.list");
    }
}
