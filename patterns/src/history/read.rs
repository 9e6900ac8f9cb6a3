//! Reading what was.

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Model, Operand, Result};

use super::difference::{Difference, differences};
use super::error::HistoryError;
use super::keeper::{History, document, missing, raw, version_field, without_outboxes};
use super::version_info::{Mark, RECORDS, VersionInfo, timeline, was_gone};

/// The field that says which schema version a document has.
const SHAPE: &str = "schema_version";

/// What is known of a document without reading its versions.
struct Seen {
    /// The stored `_id` of one that is there.
    id: Bson,
    /// Of all versions.
    marks: Vec<Mark>,
    /// Whether the document is there now.
    is_there: bool,
}

impl<M: Model> History<M> {
    /// The versions of a document that are kept, the oldest first and the current one last. Of one that was deleted, the
    /// last is when it was. Two round trips; reads a small part of each entry.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn versions(&self, id: impl Operand<M::Key>) -> Result<Vec<VersionInfo>, HistoryError> {
        let id = self.documents.encode_key(id)?;
        let seen = self.seen(id).await?;
        Ok(timeline(&seen.marks, seen.is_there))
    }

    async fn seen(&self, id: Bson) -> Result<Seen, HistoryError> {
        version_field::<M>()?;
        // In this order: what replaces the version that is read here is copied before it is written.
        let current = self.current(&id).await?;
        let id = current.as_ref().map_or(id, |current| current.id.clone());
        let records = self.of_kind(RECORDS.of(&id));
        let records = self.records.find(records).sort_raw(doc! { "_id": 1 });
        let records = records.project_raw(doc! { "document": 0 }).await?;
        let mut marks: Vec<Mark> = records.iter().map(Mark::read).collect();
        if let Some(current) = &current {
            marks.retain(|mark| mark.version < current.version);
            let stored = document(&current.stored)?;
            let date = |field: Option<&str>| field.and_then(|field| stored.get_datetime(field).ok().copied());
            marks.push(match current.is_deleted {
                true => Mark::gone(current.version, date(self.documents.soft_delete_field()), None),
                false => Mark::current(current.version, date(M::updated_field())),
            });
        }
        let is_there = current.is_some_and(|current| !current.is_deleted);
        Ok(Seen { id, marks, is_there })
    }

    /// A document as it was at a version. One round trip, of the current version two.
    ///
    /// # Errors
    /// `NoSuchVersion`; `Decode` when it does not fit the model any more: see the guide on schema versions.
    pub async fn get(&self, id: impl Operand<M::Key>, version: i64) -> Result<M, HistoryError> {
        version_field::<M>()?;
        let id = self.documents.encode_key(id)?;
        self.read(&id, version).await
    }

    async fn read(&self, id: &Bson, version: i64) -> Result<M, HistoryError> {
        let document = self.stored(id, version).await?;
        Ok(self.documents.decode(&raw(&document)?)?)
    }

    /// A document as it was at a time; `None` when it was not there. Four round trips at the most.
    ///
    /// # Errors
    /// `Forgotten` when that is further back than the history; `NotFound` when nothing is known of such a document.
    pub async fn as_of(&self, id: impl Operand<M::Key>, time: DateTime) -> Result<Option<M>, HistoryError> {
        let id = self.documents.encode_key(id)?;
        let Seen { id, marks, is_there } = self.seen(id).await?;
        if was_gone(&marks, time) {
            return Ok(None);
        }
        let versions = timeline(&marks, is_there);
        let first = versions.first().ok_or_else(|| missing::<M>(id.clone()))?;
        let forgotten = || HistoryError::Forgotten {
            model: M::DESCRIPTOR.name,
            id: id.clone(),
        };
        let begun = versions
            .iter()
            .rfind(|version| version.from.is_none_or(|from| from <= time));
        let Some(version) = begun else {
            return match first.version {
                0 => Ok(None),
                _ => Err(forgotten()),
            };
        };
        if version.from.is_none() && version.version > 0 && version.until.is_none_or(|until| until > time) {
            return Err(forgotten());
        }
        match version.was_deleted && version.until.is_none_or(|until| until <= time) {
            true => Ok(None),
            false => self.read(&id, version.version).await.map(Some),
        }
    }

    /// What is different between two versions of a document, but for its version, its schema version, its date and its
    /// outbox. Two round trips.
    ///
    /// # Errors
    /// `NoSuchVersion`.
    pub async fn diff(
        &self,
        id: impl Operand<M::Key>,
        before: i64,
        after: i64,
    ) -> Result<Vec<Difference>, HistoryError> {
        let mut without = vec![version_field::<M>()?, M::updated_field().unwrap_or_default()];
        // That of the framework, not a field of the model's own.
        if M::DESCRIPTOR.fields.iter().all(|field| field.stored != SHAPE) {
            without.push(SHAPE);
        }
        let id = self.documents.encode_key(id)?;
        let (before, after) = (self.stored(&id, before).await?, self.stored(&id, after).await?);
        let (before, after) = (without_outboxes::<M>(before), without_outboxes::<M>(after));
        Ok(differences(&before, &after, &without))
    }

    /// The version as it was stored.
    async fn stored(&self, id: &Bson, version: i64) -> Result<Document, HistoryError> {
        if let Some(record) = self.record(id, version).await? {
            return Ok(record);
        }
        match self.current(id).await? {
            Some(current) if current.version == version && !current.is_deleted => {
                Ok(document(&current.stored)?)
            }
            // It was the current one a moment ago, or the `_id` is spelled in another way.
            Some(current) => self.recorded(&current.id, version).await,
            None => self.recorded(id, version).await,
        }
    }

    /// The version in the history.
    pub(super) async fn recorded(&self, id: &Bson, version: i64) -> Result<Document, HistoryError> {
        let record = self.record(id, version).await?;
        record.ok_or_else(|| HistoryError::NoSuchVersion {
            model: M::DESCRIPTOR.name,
            id: id.clone(),
            version,
        })
    }

    async fn record(&self, id: &Bson, version: i64) -> Result<Option<Document>> {
        let key = doc! { "_id": RECORDS.key(id, version), "gone": { "$exists": false } };
        let mut record = self.records.find_one(self.of_kind(key)).await?;
        Ok(record
            .as_mut()
            .and_then(|record| match record.remove("document") {
                Some(Bson::Document(document)) => Some(document),
                _ => None,
            }))
    }

    /// The newest entry of a document's history.
    pub(super) async fn newest(&self, id: &Bson, whole: bool) -> Result<Option<Document>> {
        self.newest_of(self.of_kind(RECORDS.of(id)), whole).await
    }

    /// The newest of these entries.
    pub(super) async fn newest_of(&self, records: Document, whole: bool) -> Result<Option<Document>> {
        let newest = self.records.find(records).sort_raw(doc! { "_id": -1 }).limit(1);
        let newest = match whole {
            true => newest.await?,
            false => newest.project_raw(doc! { "document": 0 }).await?,
        };
        Ok(newest.into_iter().next())
    }
}
