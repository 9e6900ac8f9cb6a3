//! Numbers all of which are accounted for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::definition::{Number, Sequence, used_up, whole};
use super::error::LedgerError;

/// A sequence with a ledger: a number is reserved, and then used or void. Numbers are unique and in the order of reserving;
/// each of them is used, or void with a reason, or known to be open, whatever crashes when. See the [table](super).
///
/// The open numbers stand in the document of the sequence, the void ones in the collection `sequences_void`.
#[derive(Clone, Debug)]
pub struct Ledger {
    sequence: Sequence,
    most_open: usize,
}

/// A number that is reserved and neither used nor void.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Reservation {
    /// The number.
    pub n: i64,
    /// Whose it is.
    pub key: String,
    /// Since when.
    pub since: DateTime,
}

/// A number that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Void {
    /// The number.
    pub number: Number,
    /// Why.
    pub reason: String,
    /// Since when.
    pub at: DateTime,
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LedgerProblem {
    /// The number is neither used nor void nor open: a gap.
    Missing(i64),
    /// The number is used more than once.
    UsedTwice(i64),
    /// The number is used and void.
    UsedAndVoid(i64),
    /// The number was never given.
    NeverGiven(i64),
}

impl Ledger {
    pub(super) fn new(sequence: Sequence) -> Ledger {
        Ledger {
            sequence,
            most_open: 1_000,
        }
    }

    /// How many numbers can be open at once: 1,000 unless said otherwise.
    #[must_use]
    pub fn most_open(mut self, numbers: usize) -> Ledger {
        self.most_open = numbers.max(1);
        self
    }

    /// The same ledger through another handle of the database, such as a transaction. It stays in its own database, whichever
    /// the transaction was begun on: see [`Db::through`].
    #[must_use]
    pub fn on(&self, db: &Db) -> Ledger {
        let mut on = self.clone();
        on.sequence.db = on.sequence.db.through(db);
        on
    }

    /// Reserves the next number. The key is the caller's, the id of the order, say: while its number is open, asking again
    /// gives the same, so that a lost reply costs no number. One round trip, which gives the number and notes it as open in
    /// one write.
    ///
    /// A sequence that begins anew with each period looks for the key in the earlier ones first, so that the same order gets
    /// no second number by asking again when the period has turned: two round trips, and the first reads the document of
    /// each period. Only who asks twice at the same moment, on both sides of the turn, can be given two.
    ///
    /// # Errors
    /// `TooManyOpen`; `Database` of kind `InvalidArgument` when the sequence is of another kind.
    pub async fn reserve(&self, key: &str) -> Result<Number, LedgerError> {
        if self.sequence.has_periods()
            && let Some(number) = self.open_of_key(key).await?
        {
            return Ok(number);
        }
        let period = self.sequence.label()?;
        let db = &self.sequence.db;
        let filter = doc! { "_id": self.sequence.id(period.as_deref()), "kind": "ledger" };
        let stages = self.reserving(key);
        let action =
            |documents: &Collection<Document>| documents.find_one_and_update(&filter, stages.clone());
        let document = self.sequence.modify(db, &filter, action).await?;
        let open = open_of(&document)?;
        match open.into_iter().find(|open| open.key == key) {
            Some(open) => Ok(Number {
                period,
                value: open.n,
            }),
            None => Err(LedgerError::TooManyOpen { most: self.most_open }),
        }
    }

    /// The update that adds a number and its reservation, unless the key has one, or there are too many.
    fn reserving(&self, key: &str) -> Vec<Document> {
        let key = doc! { "$literal": key };
        let most = i64::try_from(self.most_open).unwrap_or(i64::MAX);
        let given = doc! { "$ifNull": ["$given", 0_i64] };
        let first = doc! { "$ifNull": ["$first", self.sequence.first_number()] };
        let open = doc! { "$ifNull": ["$open", []] };
        let entry = doc! { "n": { "$add": [&first, &given] }, "key": &key, "since": self.sequence.db.now() };
        let full = doc! { "$gte": [{ "$size": &open }, most] };
        let known = doc! { "$in": [key, { "$ifNull": ["$open.key", []] }] };
        let stays = doc! { "$or": [known, full] };
        // All expressions of a stage see the document as it was before the stage.
        vec![doc! { "$set": {
            "first": &first,
            "given": { "$cond": [&stays, &given, { "$add": [&given, 1_i64] }] },
            "open": { "$cond": [&stays, &open, { "$concatArrays": [&open, [entry]] }] },
        } }]
    }

    /// Notes that a number is used. In the transaction that stores what uses it (`ledger.on(&tx).used(..)`) both happen or
    /// neither; without a transaction, store first, and let [`settle`](Ledger::settle) ask for what a crash left open.
    /// One round trip; two when it is refused or was done before.
    ///
    /// # Errors
    /// `Void` when the number was made void meanwhile: it must not be used then; `NeverGiven`.
    pub async fn used(&self, number: &Number) -> Result<(), LedgerError> {
        if self.close(number).await? {
            return Ok(());
        }
        match self.void_of(number).await? {
            Some(void) => Err(LedgerError::Void { reason: void.reason }),
            None if self.is_given(number).await? => Ok(()),
            None => Err(LedgerError::NeverGiven),
        }
    }

    /// Makes an open number void, in a transaction of two writes, so that no number is ever void and used. Sent twice it
    /// keeps the first reason.
    ///
    /// # Errors
    /// `NotOpen` when the number was used, or never given; `Database` of kind `Unsupported` where there are no
    /// transactions.
    pub async fn void(&self, number: &Number, reason: &str) -> Result<(), LedgerError> {
        let db = &self.sequence.db;
        let id = self.sequence.id(number.period.as_deref());
        let done = db
            .transaction(async |tx| {
                let inner = self.on(&tx);
                if !inner.close(number).await? {
                    return Ok(inner.void_of(number).await?.is_some());
                }
                let entry = doc! {
                    "_id": void_id(&id, number.value),
                    "sequence": &id,
                    "n": number.value,
                    "reason": reason,
                    "at": tx.now(),
                };
                self.voids(&tx).insert(entry).await?;
                Ok(true)
            })
            .await?;
        match done {
            true => Ok(()),
            false => Err(LedgerError::NotOpen),
        }
    }

    /// Settles what has been open for longer than this, because its program died: `is_used` says of each number whether
    /// something uses it. Those are noted as used, the others become void as abandoned. How many there were.
    ///
    /// A program that is only slow, and stores its document after this has asked, is told by [`used`](Ledger::used) that the
    /// number is void; in a transaction its document is then rolled back.
    ///
    /// # Errors
    /// Those of `is_used` and of the database.
    pub async fn settle<F, Fut>(&self, older_than: Duration, mut is_used: F) -> Result<u64, LedgerError>
    where
        F: FnMut(Number) -> Fut,
        Fut: Future<Output = Result<bool>>,
    {
        let now = self.sequence.db.now().timestamp_millis();
        let oldest = now.saturating_sub(i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX));
        let mut settled = 0;
        for (number, reservation) in self.open_of_all().await? {
            if reservation.since.timestamp_millis() > oldest {
                continue;
            }
            let done = match is_used(number.clone()).await? {
                true => self.used(&number).await,
                false => self.void(&number, "abandoned").await,
            };
            match done {
                // Its program came first.
                Err(LedgerError::NotOpen | LedgerError::Void { .. }) => {}
                done => {
                    done?;
                    settled += 1;
                }
            }
        }
        Ok(settled)
    }

    /// The open numbers of the present period; of the others too: [`open_of_all`](Ledger::open_of_all). One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn open(&self) -> Result<Vec<Reservation>> {
        let period = self.sequence.label()?;
        match self.document(period.as_deref()).await? {
            Some(document) => open_of(&document),
            None => Ok(Vec::new()),
        }
    }

    /// The void numbers of a period (`None` where the sequence has none), by number. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn voids_of(&self, period: Option<&str>) -> Result<Vec<Void>> {
        let id = self.sequence.id(period);
        let ids = doc! { "_id": { "$gt": format!("{id}#"), "$lt": format!("{id}$") } };
        let found = self
            .voids(&self.sequence.db)
            .find(ids)
            .sort_raw(doc! { "_id": 1 })
            .await?;
        found.iter().map(|document| read_void(document, period)).collect()
    }

    /// The number that was given last, in the present period. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn last(&self) -> Result<Option<Number>> {
        self.sequence.last(&self.sequence.db).await
    }

    /// Holds the numbers of a period that are used against those that were given: which are missing, used twice, used though
    /// void, used though never given. Two round trips. For exact answers while numbers are taken, read what is used in a
    /// transaction with this.
    ///
    /// # Errors
    /// As any operation.
    pub async fn audit(
        &self,
        period: Option<&str>,
        used: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<LedgerProblem>> {
        let Some(document) = self.document(period).await? else {
            return Ok(used.into_iter().map(LedgerProblem::NeverGiven).collect());
        };
        let void: BTreeSet<i64> = self
            .voids_of(period)
            .await?
            .iter()
            .map(|void| void.number.value)
            .collect();
        let open: BTreeSet<i64> = open_of(&document)?.iter().map(|open| open.n).collect();
        let (first, given) = (whole(&document, "first")?, whole(&document, "given")?);
        let end = first.checked_add(given).ok_or_else(used_up)?;
        let mut times: BTreeMap<i64, u64> = BTreeMap::new();
        for number in used {
            *times.entry(number).or_insert(0) += 1;
        }
        let mut problems = Vec::new();
        for number in first..end {
            let is_void = void.contains(&number);
            match times.get(&number) {
                None if !is_void && !open.contains(&number) => problems.push(LedgerProblem::Missing(number)),
                None => {}
                Some(_) if is_void => problems.push(LedgerProblem::UsedAndVoid(number)),
                Some(1) => {}
                Some(_) => problems.push(LedgerProblem::UsedTwice(number)),
            }
        }
        let beyond = times.keys().filter(|number| !(first..end).contains(number));
        problems.extend(beyond.copied().map(LedgerProblem::NeverGiven));
        Ok(problems)
    }

    /// Takes a number out of the open ones; whether it was one.
    async fn close(&self, number: &Number) -> Result<bool> {
        let documents = self.sequence.documents(&self.sequence.db);
        let filter = doc! {
            "_id": self.sequence.id(number.period.as_deref()),
            "open.n": number.value,
        };
        let update = doc! { "$pull": { "open": { "n": number.value } } };
        Ok(documents.update_one(filter, update).await?.matched == 1)
    }

    async fn is_given(&self, number: &Number) -> Result<bool> {
        let Some(document) = self.document(number.period.as_deref()).await? else {
            return Ok(false);
        };
        let (first, given) = (whole(&document, "first")?, whole(&document, "given")?);
        Ok((first..first.saturating_add(given)).contains(&number.value))
    }

    async fn void_of(&self, number: &Number) -> Result<Option<Void>> {
        let period = number.period.as_deref();
        let id = void_id(&self.sequence.id(period), number.value);
        let found = self.voids(&self.sequence.db).get(Bson::String(id)).await?;
        found.map(|document| read_void(&document, period)).transpose()
    }

    async fn document(&self, period: Option<&str>) -> Result<Option<Document>> {
        let documents = self.sequence.documents(&self.sequence.db);
        documents.get(Bson::String(self.sequence.id(period))).await
    }

    /// The open numbers of all periods, the oldest period first. One round trip.
    ///
    /// # Errors
    /// As any operation.
    pub async fn open_of_all(&self) -> Result<Vec<(Number, Reservation)>> {
        self.open_where(doc! { "open.0": { "$exists": true } }).await
    }

    /// The open number of a key, of whatever period.
    async fn open_of_key(&self, key: &str) -> Result<Option<Number>> {
        let open = self.open_where(doc! { "open.key": { "$eq": key } }).await?;
        let mut open = open.into_iter();
        Ok(open
            .find(|(_, reservation)| reservation.key == key)
            .map(|(number, _)| number))
    }

    async fn open_where(&self, mut filter: Document) -> Result<Vec<(Number, Reservation)>> {
        let prefix = self.sequence.id(None);
        let documents = self.sequence.documents(&self.sequence.db);
        let ids = doc! { "$gte": &prefix, "$lt": format!("{prefix};") };
        filter.extend(doc! { "_id": ids, "kind": "ledger" });
        let found = documents.find(filter).sort_raw(doc! { "_id": 1 });
        let mut all = Vec::new();
        for document in found.await? {
            let id = document.get_str("_id").unwrap_or_default();
            let period = id.strip_prefix(&prefix).filter(|period| !period.is_empty());
            for reservation in open_of(&document)? {
                let number = Number {
                    period: period.map(str::to_owned),
                    value: reservation.n,
                };
                all.push((number, reservation));
            }
        }
        Ok(all)
    }

    fn voids(&self, db: &Db) -> Collection<Document> {
        db.raw_collection(&format!("{}_void", self.sequence.collection))
    }
}

/// Sorts by number.
fn void_id(sequence: &str, number: i64) -> String {
    format!("{sequence}#{:020}", i128::from(number) - i128::from(i64::MIN))
}

fn open_of(document: &Document) -> Result<Vec<Reservation>> {
    let open = document.get("open").cloned().unwrap_or(Bson::Array(Vec::new()));
    odm::bson::deserialize_from_bson(open).map_err(|error| {
        let error = Error::new(ErrorKind::Decode, "the open numbers are malformed").with_source(error);
        error.with_path("open")
    })
}

fn read_void(document: &Document, period: Option<&str>) -> Result<Void> {
    let malformed = |_| Error::new(ErrorKind::Decode, "the void number is malformed");
    Ok(Void {
        number: Number {
            period: period.map(str::to_owned),
            value: whole(document, "n")?,
        },
        reason: document.get_str("reason").map_err(malformed)?.to_owned(),
        at: *document.get_datetime("at").map_err(malformed)?,
    })
}
