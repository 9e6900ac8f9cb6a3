//! The handle, and how it writes.

use std::fmt;

use odm::action::Update as Replacement;
use odm::backend::Modification;
use odm::bson::{Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use odm::{Collection, Db, Error, ErrorKind, Filter, Model, Operand, Result, Update};

use super::error::HistoryError;
use super::version_info::RECORDS;
use crate::dotted::{elements_at, put_at, value_at};
use crate::keyed::integer;
use crate::outbox::outboxes_of;
use crate::own;
use crate::still::is_same_document;
use crate::version::{Optimistic, VersionError};

/// The documents of a model, with what they were before. Cheap to clone. Made in a transaction (`History::new(&tx)`), what
/// it writes is part of it.
pub struct History<M> {
    pub(super) db: Db,
    pub(super) documents: Collection<M>,
    pub(super) records: Collection<Document>,
    attempts: u32,
}

/// A document as it is stored, with its version.
pub(super) struct Current {
    /// The stored `_id`, however the caller spells it.
    pub(super) id: Bson,
    pub(super) stored: RawDocumentBuf,
    pub(super) version: i64,
    /// Whether it is softly deleted: there for the database, and gone for everybody else.
    pub(super) is_deleted: bool,
}

impl<M: Model> History<M> {
    /// The history of the model's collection: the collection of the same name with `_history` behind it.
    pub fn new(db: &Db) -> History<M> {
        let name = M::DESCRIPTOR.collection;
        History::named(db, name, &format!("{name}_history"))
    }

    /// The same with other names.
    pub fn named(db: &Db, documents: &str, history: &str) -> History<M> {
        History {
            db: db.clone(),
            documents: db.collection_named(documents),
            records: db.raw_collection(history),
            attempts: 10,
        }
    }

    /// How often a change is tried at the most when others are first: 10 times unless said otherwise.
    #[must_use]
    pub fn attempts(mut self, attempts: u32) -> History<M> {
        self.attempts = attempts.max(1);
        self
    }

    /// The current documents.
    pub fn collection(&self) -> &Collection<M> {
        &self.documents
    }

    /// The collection of what they were before.
    pub fn records(&self) -> &Collection<Document> {
        &self.records
    }

    /// Builds the index that [`forget_before`](History::forget_before) needs. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn prepare(&self) -> Result<()> {
        let index = doc! { "key": { "until": 1 }, "name": "until_1" };
        self.records.create_indexes().index_raw(index).await
    }

    /// Inserts a document, whose version is 0. Two round trips.
    ///
    /// # Errors
    /// `Clash` when there is a history of this `_id`: [restore](History::restore) the document, or
    /// [forget](History::forget) it, by the history of its kind. Those of an insert.
    pub async fn insert(&self, document: &M) -> Result<M::Key, HistoryError> {
        version_field::<M>()?;
        let id = self.documents.encode_key(document.key())?;
        // Of whatever kind: the entries have the same `_id`s.
        if let Some(last) = self.newest_of(RECORDS.of(&id), false).await? {
            return Err(clash::<M>(&id, RECORDS.number_of(&last)));
        }
        Ok(self.documents.insert(document).await?)
    }

    /// Changes a document; gives its new version. Three round trips, and three for each time that another was first.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, `Clash`, `NoVersion`; `Database` of kind `InvalidArgument` for a change that sets the
    /// version.
    pub async fn update(
        &self,
        id: impl Operand<M::Key>,
        change: impl FnOnce(M::Fields<M>) -> Update<M>,
    ) -> Result<i64, HistoryError> {
        let id = id.with_operand(Clone::clone);
        let change = change(M::fields());
        if let Some(field) = M::version_field()
            && sets(change.clone(), field)?
        {
            let message = "a change that the history keeps does not set the version";
            let error = Error::new(ErrorKind::InvalidArgument, message).with_model(M::DESCRIPTOR.name);
            let error = error.with_id(self.documents.encode_key(&id)?).with_path(field);
            return Err(error.into());
        }
        for _ in 0..self.attempts {
            let current = self.copy(&id, None).await?;
            let changed = self.documents.update_if(&id, current.version, |_| change.clone());
            match changed.await {
                Ok(()) => return Ok(current.version + 1),
                Err(VersionError::Conflict { .. }) => {}
                Err(VersionError::NotFound { .. }) => return Err(missing::<M>(current.id)),
                Err(error) => return Err(self.refused(&current, error.into()).await),
            }
        }
        Err(self.too_often(self.documents.encode_key(&id)?))
    }

    /// Loads a document, lets `change` change it, and stores it, again and again until nobody was faster. Gives what
    /// `change` gave last. Round trips as [`update`](History::update).
    ///
    /// The document is stored whole: what is stored in it and the model does not know is in the version before, and not in
    /// this one. [`update`](History::update) leaves it where it is.
    ///
    /// # Errors
    /// As [`update`](History::update), and what `change` says: then nothing is changed.
    pub async fn change<T>(
        &self,
        id: impl Operand<M::Key>,
        mut change: impl FnMut(&mut M) -> Result<T>,
    ) -> Result<T, HistoryError> {
        let id = id.with_operand(Clone::clone);
        for _ in 0..self.attempts {
            let current = self.there(&id).await?;
            let mut document = self.documents.decode(&current.stored)?;
            let value = change(&mut document)?;
            self.keep(&current, None).await?;
            if self.store(&current, self.documents.replace(&document)).await? {
                return Ok(value);
            }
        }
        Err(self.too_often(self.documents.encode_key(&id)?))
    }

    /// Stores a document that was loaded before and changed since; gives its new version. Three round trips.
    ///
    /// # Errors
    /// `Conflict` when it was changed by somebody else since; `NotFound`, `Clash`, `NoVersion`.
    pub async fn replace(&self, document: &M) -> Result<i64, HistoryError> {
        let current = self.copy(document.key(), None).await?;
        match self.store(&current, self.documents.replace(document)).await? {
            true => Ok(current.version + 1),
            false => Err(HistoryError::Conflict {
                model: M::DESCRIPTOR.name,
                id: current.id,
                attempts: 1,
            }),
        }
    }

    /// Deletes a document; its versions stay. Of a model with `#[odm(soft_delete)]` the document stays too, unseen: here as
    /// elsewhere it is deleted. Three round trips.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, `Clash`, `NoVersion`; those of a deletion.
    pub async fn delete(&self, id: impl Operand<M::Key>) -> Result<(), HistoryError> {
        let id = id.with_operand(Clone::clone);
        for _ in 0..self.attempts {
            let current = self.copy(&id, Some("deleted")).await?;
            let same = self.of_version(&id, current.version)?;
            match self.documents.delete_one(|_| same).await {
                Ok(done) if done.deleted == 1 => return Ok(()),
                Ok(_) => {}
                Err(error) => return Err(self.refused(&current, error).await),
            }
        }
        Err(self.too_often(self.documents.encode_key(&id)?))
    }

    /// Makes a document what it was at a version, as a new version; gives that. Four round trips.
    ///
    /// It is stored as it was, in the present schema version, with the fields that the model does not know. Of a model with
    /// hooks such fields of embedded documents are lost. Copies of other documents in it are those of then: see the guide.
    ///
    /// What it was is not undone of an [`Outbox`](crate::outbox::Outbox): what was published stays so, and what waits is
    /// published.
    ///
    /// # Errors
    /// `NoSuchVersion`; as [`update`](History::update).
    pub async fn revert(&self, id: impl Operand<M::Key>, version: i64) -> Result<i64, HistoryError> {
        let id = id.with_operand(Clone::clone);
        for _ in 0..self.attempts {
            let current = self.there(&id).await?;
            let earlier = match version == current.version {
                true => document(&current.stored)?,
                false => self.recorded(&current.id, version).await?,
            };
            // What the model cannot read is not brought back.
            self.documents.decode(&raw(&earlier)?)?;
            let mut earlier = document(&self.documents.upgraded(raw(&earlier)?)?)?;
            put_version::<M>(&mut earlier, current.version)?;
            keep_outboxes::<M>(&document(&current.stored)?, &mut earlier, &current.id)?;
            self.keep(&current, None).await?;
            let store = self.documents.replace_stored(raw(&earlier)?);
            if self.store(&current, store).await? {
                return Ok(current.version + 1);
            }
        }
        Err(self.too_often(self.documents.encode_key(&id)?))
    }

    /// Brings a deleted document back, as a new version; gives that. It is inserted as it was, without the model's hooks. One
    /// that was deleted softly is restored as [`Collection::restore`] does. Four round trips at the most.
    ///
    /// # Errors
    /// `AlreadyThere` when a document has the `_id`; `NotFound` when there is no history of it; those of an insert, such as a
    /// `DuplicateKey` when another document has what must be unique.
    pub async fn restore(&self, id: impl Operand<M::Key>) -> Result<i64, HistoryError> {
        version_field::<M>()?;
        let id = id.with_operand(Clone::clone);
        let key = self.documents.encode_key(&id)?;
        for _ in 0..self.attempts {
            let Some(current) = self.current(&key).await? else {
                return self.restore_last(&key).await;
            };
            if !current.is_deleted {
                return Err(match self.newest(&current.id, false).await? {
                    Some(_) => already_there::<M>(current.id),
                    None => missing::<M>(current.id),
                });
            }
            // What stays of a deleted document has a version too.
            self.keep(&current, None).await?;
            let same = self.of_version(&id, current.version)?;
            match self.documents.restore(|_| same).await {
                Ok(done) if done.modified == 1 => return Ok(current.version + 1),
                Ok(_) => {}
                Err(error) => return Err(self.refused(&current, error).await),
            }
        }
        Err(self.too_often(key))
    }

    /// Inserts the last version of a document that is not there.
    async fn restore_last(&self, id: &Bson) -> Result<i64, HistoryError> {
        let last = self.newest(id, true).await?;
        let last = last.ok_or_else(|| missing::<M>(id.clone()))?;
        let version = RECORDS.number_of(&last);
        let mut document = last.get_document("document").cloned().unwrap_or_default();
        put_version::<M>(&mut document, version + 1)?;
        if let Some(field) = self.documents.soft_delete_field()
            && document.contains_key(field)
        {
            document.insert(field, Bson::Null);
        }
        let now = self.db.now();
        if let Some(field) = M::updated_field()
            && matches!(document.get(field), Some(Bson::DateTime(_)))
        {
            document.insert(field, now);
        }
        let key = doc! { "_id": RECORDS.key(id, version) };
        let restored = doc! { "$set": { "restored": now } };
        self.records.update_one(key, restored).await?;
        match self.documents.raw().insert(document).await {
            Ok(_) => Ok(version + 1),
            Err(error) if own::is_of_id(&error) => Err(already_there::<M>(id.clone())),
            Err(error) => Err(located::<M>(error, id).into()),
        }
    }

    /// The document, which must be there.
    async fn there(&self, id: &M::Key) -> Result<Current, HistoryError> {
        version_field::<M>()?;
        let key = self.documents.encode_key(id)?;
        let current = self.current(&key).await?.filter(|current| !current.is_deleted);
        current.ok_or_else(|| missing::<M>(key))
    }

    /// Puts the current version into the history, where it may be already. What follows is a change on the condition
    /// that the version still is the current one: so every version that is replaced was copied before.
    async fn copy(&self, id: &M::Key, end: Option<&str>) -> Result<Current, HistoryError> {
        let current = self.there(id).await?;
        self.keep(&current, end).await?;
        Ok(current)
    }

    async fn keep(&self, current: &Current, end: Option<&str>) -> Result<(), HistoryError> {
        let version = current.version;
        let now = self.db.now();
        let mut set = doc! { "until": now };
        if let Some(end) = end {
            set.insert(end, now);
        }
        let stored = document(&current.stored)?;
        let mut first = doc! { "document": stored.clone() };
        if let Some(gone) = self.documents.soft_delete_field().filter(|_| current.is_deleted) {
            first.insert("gone", stored.get(gone));
        }
        if let Some(from @ Bson::DateTime(_)) = M::updated_field().and_then(|field| stored.get(field)) {
            first.insert("from", from);
        }
        let record = doc! { "_id": RECORDS.key(&current.id, version) };
        let update = doc! { "$set": set.clone(), "$setOnInsert": first.clone() };
        let kept = loop {
            let kept = self.records.find_one_and_update(record.clone(), update.clone());
            match kept.upsert().return_new().await {
                // Two upserted it at once.
                Err(error) if error.is_duplicate_key() && !self.db.in_transaction() => {}
                kept => break kept?.unwrap_or_default(),
            }
        };
        let copied = kept.get_document("document").ok();
        if copied.is_some_and(|copied| self.is_same_version(copied, &stored)) {
            // Now it is the copy of another change, which may replace the version.
            if kept.contains_key(REFUSED) {
                let unset = doc! { "$unset": { REFUSED: 1 } };
                self.records.update_one(record, unset).await?;
            }
            return Ok(());
        }
        // The change that the copy was made for was refused, so that no version has replaced it.
        if kept.contains_key(REFUSED) && kept.contains_key("document") {
            let mut refused = record;
            refused.insert(REFUSED, doc! { "$exists": true });
            set.extend(first);
            let mut unset = doc! { REFUSED: 1 };
            for field in ["deleted", "restored", "gone", "from"] {
                if !set.contains_key(field) {
                    unset.insert(field, 1);
                }
            }
            let anew = doc! { "$set": set, "$unset": unset };
            if self.records.update_one(refused, anew).await?.matched == 1 {
                return Ok(());
            }
        }
        Err(clash::<M>(&current.id, version))
    }

    /// Whether two stored documents are the same version: one may be of an older schema version, or its derived fields of
    /// another time.
    pub(super) fn is_same_version(&self, one: &Document, other: &Document) -> bool {
        let essence = |stored: &Document| {
            let stored = self.documents.settled(raw(stored).ok()?);
            let essence = self.documents.essence(stored.clone()).unwrap_or(stored);
            document(&essence).ok().map(without_outboxes::<M>)
        };
        match (essence(one), essence(other)) {
            (Some(one), Some(other)) => is_same_document(&one, &other),
            _ => false,
        }
    }

    /// Says of the copy of the current version that the change which it was made for was refused: should the document be
    /// changed without its version now, it is copied anew. The next change takes that off. Gives the error.
    async fn refused(&self, current: &Current, error: Error) -> HistoryError {
        if own::is_refused(&error) && !self.db.in_transaction() {
            let key = doc! { "_id": RECORDS.key(&current.id, current.version) };
            let refused = doc! { "$set": { REFUSED: self.db.now() } };
            // A copy without it is only copied anew by a repair.
            let _: Result<_> = self.records.update_one(key, refused).await;
        }
        located::<M>(error, &current.id).into()
    }

    /// Stores a document as the successor of the version that it says; whether nobody was faster.
    async fn store(&self, current: &Current, store: Replacement<M>) -> Result<bool, HistoryError> {
        match store.await {
            Ok(result) if result.matched == 1 => Ok(true),
            Ok(_) => Err(missing::<M>(current.id.clone())),
            // The conflict of a version carries the document; that of a transaction does not, and is the caller's.
            Err(error) if error.is_conflict() && error.current::<M>()?.is_some() => Ok(false),
            Err(error) => Err(self.refused(current, error).await),
        }
    }

    /// The document as it is stored now, if it is of the model's kind.
    pub(super) async fn current(&self, id: &Bson) -> Result<Option<Current>> {
        let same = Filter::raw(doc! { "_id": { "$eq": id } });
        let found = self.documents.find(|_| same).with_deleted().unscoped().limit(1);
        let found = found.encoded().await?;
        Ok(found.into_iter().next().map(|stored| {
            // What follows a version is no part of it.
            let stored = self.documents.settled(stored);
            let version = version_in::<M>(&stored);
            let is_deleted = self.is_deleted(&stored);
            let own = stored.get("_id").ok().flatten();
            Current {
                id: own
                    .and_then(|own| Bson::try_from(own).ok())
                    .unwrap_or_else(|| id.clone()),
                stored,
                version,
                is_deleted,
            }
        }))
    }

    /// Whether this is what stays of a document that was deleted softly.
    fn is_deleted(&self, stored: &RawDocument) -> bool {
        let field = self.documents.soft_delete_field();
        let value = field.and_then(|field| stored.get(field).ok().flatten());
        value.is_some_and(|value| value != RawBsonRef::Null)
    }

    fn of_version(&self, id: &M::Key, version: i64) -> Result<Filter<M>, HistoryError> {
        let known = match version {
            // Stored before the model had versions.
            0 => doc! { "$in": [0, Bson::Null] },
            version => doc! { "$eq": version },
        };
        Ok(M::key_field().eq(id) & Filter::raw(doc! { version_field::<M>()?: known }))
    }

    /// The condition of the entries of the model's kind: what was stored of a document says which it was.
    pub(super) fn of_kind(&self, mut records: Document) -> Document {
        if let Some(kind) = M::DESCRIPTOR.kind {
            records.insert(format!("document.{}", kind.tag), kind.name);
        }
        records
    }

    fn too_often(&self, id: Bson) -> HistoryError {
        HistoryError::Conflict {
            model: M::DESCRIPTOR.name,
            id,
            attempts: self.attempts,
        }
    }
}

/// The field of an entry that says that the change it was made for was refused.
const REFUSED: &str = "refused";

pub(super) fn missing<M: Model>(id: Bson) -> HistoryError {
    HistoryError::NotFound {
        model: M::DESCRIPTOR.name,
        id,
    }
}

fn already_there<M: Model>(id: Bson) -> HistoryError {
    HistoryError::AlreadyThere {
        model: M::DESCRIPTOR.name,
        id,
    }
}

fn clash<M: Model>(id: &Bson, version: i64) -> HistoryError {
    HistoryError::Clash {
        model: M::DESCRIPTOR.name,
        id: id.clone(),
        version,
    }
}

fn located<M: Model>(error: Error, id: &Bson) -> Error {
    let error = match error.id() {
        Some(_) => error,
        None => error.with_id(id.clone()),
    };
    error.with_model(M::DESCRIPTOR.name)
}

pub(super) fn version_field<M: Model>() -> Result<&'static str, HistoryError> {
    M::version_field().ok_or(HistoryError::NoVersion {
        model: M::DESCRIPTOR.name,
    })
}

/// The version in a stored document: 0 where it was stored before the model had versions.
pub(super) fn version_in<M: Model>(stored: &RawDocument) -> i64 {
    let value = M::version_field().and_then(|field| stored.get(field).ok().flatten());
    value
        .and_then(|value| Bson::try_from(value).ok())
        .and_then(|value| integer(&value))
        .unwrap_or(0)
}

fn put_version<M: Model>(document: &mut Document, version: i64) -> Result<(), HistoryError> {
    let field = version_field::<M>()?;
    let value = match (document.get(field), i32::try_from(version)) {
        (Some(Bson::Int32(_)), Ok(version)) => Bson::Int32(version),
        _ => Bson::Int64(version),
    };
    document.insert(field, value);
    Ok(())
}

/// A document without what relays change in it: that is no part of a version.
pub(super) fn without_outboxes<M: Model>(mut document: Document) -> Document {
    for path in outboxes_of::<M>().iter() {
        put_at(&mut document, path, None);
    }
    document
}

/// Leaves the outboxes of a document as they are when it becomes what it was.
fn keep_outboxes<M: Model>(current: &Document, earlier: &mut Document, id: &Bson) -> Result<()> {
    for path in outboxes_of::<M>().iter() {
        let outbox = value_at(current, path);
        let waits = elements_at(current, &format!("{path}.events")).next().is_some();
        if !put_at(earlier, path, outbox) && waits {
            let message = "events wait in a place that this version does not have";
            let error = Error::new(ErrorKind::Validation, message).with_model(M::DESCRIPTOR.name);
            return Err(error.with_id(id.clone()).with_path(path.clone()));
        }
    }
    Ok(())
}

/// Whether a change sets this field.
fn sets<M: Model>(change: Update<M>, field: &str) -> Result<bool> {
    let is = |name: &str| {
        let rest = name.strip_prefix(field);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let of = |operator: &str, names: &Bson| match names {
        Bson::Document(fields) => fields
            .iter()
            .any(|(name, value)| is(name) || operator == "$rename" && value.as_str().is_some_and(is)),
        Bson::Array(names) => names.iter().any(|name| name.as_str().is_some_and(is)),
        Bson::String(name) => is(name),
        _ => false,
    };
    Ok(match change.build()?.modification {
        Modification::Pipeline(stages) => {
            let stages: Result<Vec<Document>> = stages.iter().map(|stage| document(stage)).collect();
            let changes = |name: &str| matches!(name, "$set" | "$addFields" | "$unset");
            let mut stages = stages?.into_iter().flatten();
            stages.any(|(name, fields)| changes(&name) && of(&name, &fields))
        }
        Modification::Operators(operators) => {
            let mut operators = document(&operators)?.into_iter();
            operators.any(|(name, fields)| of(&name, &fields))
        }
        _ => false,
    })
}

pub(super) fn document(stored: &RawDocument) -> Result<Document> {
    Document::try_from(stored)
        .map_err(|error| Error::new(ErrorKind::Decode, "the stored document is malformed").with_source(error))
}

pub(super) fn raw(document: &Document) -> Result<RawDocumentBuf> {
    RawDocumentBuf::try_from(document)
        .map_err(|error| Error::new(ErrorKind::Encode, "the document does not fit bson").with_source(error))
}

impl<M> Clone for History<M> {
    fn clone(&self) -> History<M> {
        History {
            db: self.db.clone(),
            documents: self.documents.clone(),
            records: self.records.clone(),
            attempts: self.attempts,
        }
    }
}

impl<M> fmt::Debug for History<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History")
            .field("documents", &self.documents)
            .field("records", &self.records)
            .finish()
    }
}
