//! What sequences have in common.

use std::fmt;
use std::sync::Arc;

use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Result};

use super::blocks::Blocks;
use super::gap_free::GapFree;
use super::ledger::Ledger;
use super::loose::Loose;
use crate::period::{Unit, Zone};

/// How often a sequence is tried that somebody else begins at the same time.
const TRIES: usize = 16;

/// A sequence of numbers in the collection `sequences`; choose its kind by [`loose`](Sequence::loose),
/// [`blocks`](Sequence::blocks), [`gap_free`](Sequence::gap_free) or [`ledger`](Sequence::ledger), and keep to it: the
/// others refuse it afterwards.
#[derive(Clone)]
#[must_use]
pub struct Sequence {
    pub(super) db: Db,
    pub(super) collection: String,
    name: Arc<str>,
    scope: Option<Arc<str>>,
    period: Option<(Unit, Zone)>,
    first: i64,
}

/// A number of a sequence. It shows as the period and the number: `2026-42`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Number {
    /// The period that it is of, where the sequence begins anew with each: `2026`, `2026-11`.
    pub period: Option<String>,
    /// The number.
    pub value: i64,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.period {
            Some(period) => write!(f, "{period}-{}", self.value),
            None => self.value.fmt(f),
        }
    }
}

impl Sequence {
    /// The sequence of this name: 1, 2, 3. No round trip.
    pub fn new(db: &Db, name: &str) -> Sequence {
        Sequence {
            db: db.clone(),
            collection: "sequences".to_owned(),
            name: name.into(),
            scope: None,
            period: None,
            first: 1,
        }
    }

    /// Another collection than `sequences`.
    pub fn in_collection(mut self, name: &str) -> Sequence {
        self.collection = name.to_owned();
        self
    }

    /// A sequence of its own for each of these: a shop, a tenant.
    pub fn scope(mut self, scope: &str) -> Sequence {
        self.scope = Some(scope.into());
        self
    }

    /// Begins anew with each period, by [`Db::now`].
    pub fn per(mut self, unit: Unit, zone: Zone) -> Sequence {
        self.period = Some((unit, zone));
        self
    }

    /// The first number, 1 unless said otherwise. It counts when the sequence begins, and not any more afterwards.
    pub fn first(mut self, first: i64) -> Sequence {
        self.first = first;
        self
    }

    /// Numbers that may have gaps.
    pub fn loose(self) -> Loose {
        Loose { sequence: self }
    }

    /// Numbers that are fetched by so many, and given out in memory.
    pub fn blocks(self, size: u32) -> Blocks {
        Blocks::new(self, size)
    }

    /// Numbers without gaps, each taken in the transaction that uses it.
    pub fn gap_free(self) -> GapFree {
        GapFree { sequence: self }
    }

    /// Numbers each of which is used, void with a reason, or known to be open.
    pub fn ledger(self) -> Ledger {
        Ledger::new(self)
    }

    pub(super) fn first_number(&self) -> i64 {
        self.first
    }

    /// Whether it begins anew with each period.
    pub(super) fn has_periods(&self) -> bool {
        self.period.is_some()
    }

    /// The present period.
    pub(super) fn label(&self) -> Result<Option<String>> {
        let period = self.period.as_ref();
        period
            .map(|(unit, zone)| zone.label(*unit, self.db.now()))
            .transpose()
    }

    /// The `_id` of the sequence in a period.
    pub(super) fn id(&self, period: Option<&str>) -> String {
        // Only the last parts are free of colons, so that no two sequences share an id.
        let escaped = |text: &str| text.replace('%', "%25").replace(':', "%3A");
        let scope = self.scope.as_deref().map(escaped).unwrap_or_default();
        format!("{}:{scope}:{}", escaped(&self.name), period.unwrap_or_default())
    }

    pub(super) fn documents(&self, db: &Db) -> Collection<Document> {
        db.raw_collection(&self.collection)
    }

    /// Takes the next numbers; the first of them. One round trip; two when somebody else begins the sequence at the same time.
    pub(super) async fn take(&self, db: &Db, kind: &str, count: i64) -> Result<Number> {
        if count < 1 {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "at least one number is taken",
            ));
        }
        let period = self.label()?;
        let taken = self
            .change(db, kind, period.as_deref(), doc! { "$inc": { "given": count } })
            .await?;
        let (first, given) = (whole(&taken, "first")?, whole(&taken, "given")?);
        if first.checked_add(given - 1).is_none() {
            // Back to what was given: all that are refused take back their own.
            let id = self.id(period.as_deref());
            let back = doc! { "$inc": { "given": -count } };
            self.documents(db).update_one(doc! { "_id": &id }, back).await?;
            return Err(used_up().with_id(id));
        }
        let value = first + (given - count);
        Ok(Number { period, value })
    }

    /// Changes the document of the sequence, which is made if it is not there, and gives it as it is then.
    pub(super) async fn change(
        &self,
        db: &Db,
        kind: &str,
        period: Option<&str>,
        mut update: Document,
    ) -> Result<Document> {
        let filter = doc! { "_id": self.id(period), "kind": kind };
        let mut inserted = match update.remove("$setOnInsert") {
            Some(Bson::Document(inserted)) => inserted,
            _ => Document::new(),
        };
        inserted.insert("first", self.first);
        update.insert("$setOnInsert", inserted);
        self.modify(db, &filter, |documents| {
            documents.find_one_and_update(&filter, &update)
        })
        .await
    }

    pub(super) async fn modify(
        &self,
        db: &Db,
        filter: &Document,
        action: impl Fn(&Collection<Document>) -> odm::action::FindOneAnd<Document>,
    ) -> Result<Document> {
        let documents = self.documents(db);
        for _ in 0..TRIES {
            match action(&documents).upsert().return_new().await {
                Ok(Some(document)) => return Ok(document),
                Ok(None) => {}
                Err(error) if error.is_duplicate_key() => {
                    if db.in_transaction() {
                        return Err(other_kind(filter).with_source(error));
                    }
                    // Somebody else began it, or it is of another kind.
                    if !documents.exists(filter).await? {
                        return Err(other_kind(filter));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(ErrorKind::Conflict, "the sequence kept being begun"))
    }

    /// The number that was given last; none before the first. One round trip.
    pub(super) async fn last(&self, db: &Db) -> Result<Option<Number>> {
        let period = self.label()?;
        let found = self
            .documents(db)
            .get(Bson::String(self.id(period.as_deref())))
            .await?;
        let Some(found) = found else { return Ok(None) };
        let (first, given) = (whole(&found, "first")?, whole(&found, "given")?);
        // One that was refused at the end may not have been taken back.
        let value = first.saturating_add(given.saturating_sub(1));
        Ok((given > 0).then_some(Number { period, value }))
    }
}

fn other_kind(filter: &Document) -> Error {
    let error = Error::new(ErrorKind::InvalidArgument, "the sequence is of another kind");
    match filter.get("_id") {
        Some(id) => error.with_id(id.clone()),
        None => error,
    }
}

pub(super) fn used_up() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the sequence is used up")
}

pub(super) fn whole(document: &Document, name: &str) -> Result<i64> {
    match document.get(name) {
        Some(Bson::Int64(number)) => Ok(*number),
        Some(Bson::Int32(number)) => Ok(i64::from(*number)),
        _ => {
            let error =
                Error::new(ErrorKind::Decode, "the document of the sequence is malformed").with_path(name);
            Err(match document.get("_id") {
                Some(id) => error.with_id(id.clone()),
                None => error,
            })
        }
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence")
            .field("db", &self.db)
            .field("name", &self.name)
            .field("scope", &self.scope)
            .field("period", &self.period)
            .finish_non_exhaustive()
    }
}
