//! Recording.

use std::collections::{BTreeMap, HashSet};

use odm::bson::{Bson, Document, doc};
use odm::{Error, ErrorKind, Result};
use serde::Serialize;

use super::buckets::{BUCKETS, Buckets, Kind};
use super::encoded::{Encoded, Names, push};
use crate::computed::Amount;
use crate::dotted::{elements_at, value_at};
use crate::exact::holds_text;
use crate::identity::identity;
use crate::numbered::{Newest, Numbered, fits, is_too_large, too_large};
use crate::value;

/// What became of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// How many were recorded.
    pub recorded: u64,
    /// How many were there before, or came more than once.
    pub repeated: u64,
}

impl<S: Serialize, E: Serialize, V: Amount, K> Buckets<S, E, V, K> {
    /// Records entries of a series. Round trips, by span: one for each bucket that they belong to, one more where all were
    /// there before, two more where a part was, and one more then for unique keys that have text. By count: two for each
    /// bucket that they go into, one more in a transaction, one more where a part was there before and the unique keys have
    /// text, two more where one is left for its size, and one where all were there before.
    ///
    /// # Errors
    /// `Encode` when an entry's time is not stored as a date, its value cannot be summed, or its unique key is an array;
    /// `InvalidArgument` when it is larger than a document can be (16 MiB). Then nothing is recorded.
    /// By span, `InvalidArgument` when the bucket has no room for an entry: choose a shorter span.
    /// Those of the database: then those that belong to buckets before the failure are recorded.
    pub async fn record<I>(&self, series: &S, entries: I) -> Result<Recorded>
    where
        I: IntoIterator,
        I::Item: std::borrow::Borrow<E>,
    {
        let series = value::to_bson(series)?;
        let encoded = entries
            .into_iter()
            .map(|entry| self.names.encode(std::borrow::Borrow::borrow(&entry)));
        let encoded: Vec<Encoded<V>> = encoded.collect::<Result<_>>()?;
        for entry in &encoded {
            fits(entry.bytes).map_err(|error| self.of_bucket(error, doc! { BUCKETS.owner: &series }))?;
        }
        let mut all = Recorded::default();
        match self.kind {
            Kind::Span(span) => {
                let mut groups: BTreeMap<i64, Vec<Encoded<V>>> = BTreeMap::new();
                for entry in encoded {
                    let number = entry.at.timestamp_millis().div_euclid(span);
                    groups.entry(number).or_default().push(entry);
                }
                for (number, entries) in groups {
                    self.put(&series, number, entries, &mut all).await?;
                }
            }
            Kind::Count(size) => self.fill(&series, size, encoded, &mut all).await?,
        }
        Ok(all)
    }

    /// Puts entries into the bucket where they belong.
    async fn put(
        &self,
        series: &Bson,
        number: i64,
        mut entries: Vec<Encoded<V>>,
        all: &mut Recorded,
    ) -> Result<()> {
        all.repeated += self.without_repeated(&mut entries);
        let key = doc! { "_id": BUCKETS.key(series, number) };
        if self.db.in_transaction() {
            // A duplicate key would end the transaction. Nobody else can come in between.
            let there = self.repeated_in(key.clone(), &mut entries).await?;
            all.repeated += there;
        }
        while !entries.is_empty() {
            let mut condition = key.clone();
            if !self.db.in_transaction() {
                condition.extend(self.names.absent(&entries));
            }
            match self.buckets.upsert(condition, push(&entries)?).await {
                Ok(_) => {
                    all.recorded += entries.len() as u64;
                    return Ok(());
                }
                // Some are there. Without a unique key, two opened the bucket at once.
                Err(error) if error.is_duplicate_key() && !self.db.in_transaction() => {
                    all.repeated += self.repeated_in(key.clone(), &mut entries).await?;
                }
                Err(error) if is_too_large(&error) => {
                    let full = Error::new(
                        ErrorKind::InvalidArgument,
                        "the bucket of this span has no room for the entries (16 MiB): choose a shorter span",
                    );
                    let full = full
                        .with_code(error.code().unwrap_or_default())
                        .with_source(error);
                    return Err(self.of_bucket(full, BUCKETS.key(series, number)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn of_bucket(&self, error: Error, id: Document) -> Error {
        let error = error.with_namespace(self.buckets.namespace());
        error.with_path("entries").with_id(id)
    }

    /// Puts entries wherever there is room.
    ///
    /// What is looked at are the buckets up to the newest. Those before it are full for ever, by number or because they say
    /// so, so that no key comes into them any more; that none has come into the newest, or into the one to be opened, is a
    /// condition of the update.
    async fn fill(
        &self,
        series: &Bson,
        size: usize,
        mut entries: Vec<Encoded<V>>,
        all: &mut Recorded,
    ) -> Result<()> {
        all.repeated += self.without_repeated(&mut entries);
        let buckets = Numbered {
            db: self.db.clone(),
            documents: self.buckets.clone(),
            keyed: BUCKETS,
            list: "entries",
            size,
            reopened: 0,
        };
        while !entries.is_empty() {
            let newest = self.newest(&buckets, series, &mut entries, all).await?;
            if entries.is_empty() {
                return Ok(());
            }
            let place = buckets.place(newest.as_ref(), entries.iter().map(|entry| entry.bytes));
            if place.count == 0 {
                buckets.fill_up(series, place.number).await?;
                continue;
            }
            let here = entries.get(..place.count).unwrap_or(&entries);
            let (absent, push) = (self.names.absent(here), push(here)?);
            let put = buckets.put(series, &place, absent, push).await;
            let put = put.map_err(|error| match is_too_large(&error) {
                true => self.of_bucket(too_large().with_source(error), BUCKETS.key(series, place.number)),
                false => error,
            });
            if put? {
                all.recorded += here.len() as u64;
                entries.drain(..place.count);
            }
        }
        Ok(())
    }

    /// The newest bucket of a series; drops the entries that are in any of them. One round trip, in a transaction two; one
    /// more where a part of the entries is there and their keys have text.
    async fn newest(
        &self,
        buckets: &Numbered,
        series: &Bson,
        entries: &mut Vec<Encoded<V>>,
        all: &mut Recorded,
    ) -> Result<Option<Newest>> {
        let keys = Names::keys(entries);
        let Some(unique) = self.names.unique.as_ref().filter(|_| !keys.is_empty()) else {
            return buckets.newest(series).await;
        };
        let mut known = doc! { "_id.series": { "$eq": series } };
        if self.db.in_transaction() {
            // Where MongoDB knows no unions; and nothing changes between two reads.
            all.repeated += self.repeated_in(known, entries).await?;
            return buckets.newest(series).await;
        }
        let path = format!("entries.{unique}");
        known.insert(path.clone(), doc! { "$in": keys });
        // The newest first: what is put into a bucket behind it meanwhile is seen when that is opened.
        let pipeline = [
            doc! { "$match": BUCKETS.of(series) },
            doc! { "$sort": { "_id": -1 } },
            doc! { "$limit": 1 },
            doc! { "$project": buckets.projection() },
            doc! { "$unionWith": { "coll": self.buckets.name(), "pipeline": [
                { "$match": known },
                { "$project": { "_id": 0, path: 1 } },
            ] } },
        ];
        let found = self.buckets.aggregate_raw(pipeline).await?;
        let (newest, there) = match found.split_first() {
            Some((newest, there)) if newest.contains_key("_id") => (Some(buckets.read(newest)?), there),
            _ => (None, found.as_slice()),
        };
        let of_series = doc! { "_id.series": { "$eq": series } };
        all.repeated += self.without(of_series, there, entries).await?;
        Ok(newest)
    }

    /// Drops the entries that are there more than once; gives how many.
    fn without_repeated(&self, entries: &mut Vec<Encoded<V>>) -> u64 {
        let before = entries.len();
        let mut seen = HashSet::new();
        entries.retain(|entry| match &entry.unique {
            Some(unique) => seen.insert(identity(unique)),
            None => true,
        });
        (before - entries.len()) as u64
    }

    /// Drops the entries that are in these buckets; gives how many.
    async fn repeated_in(&self, buckets: Document, entries: &mut Vec<Encoded<V>>) -> Result<u64> {
        let keys = Names::keys(entries);
        let Some(unique) = self.names.unique.as_ref().filter(|_| !keys.is_empty()) else {
            return Ok(0);
        };
        let path = format!("entries.{unique}");
        let mut known = buckets.clone();
        known.insert(path.clone(), doc! { "$in": keys });
        let there = self
            .buckets
            .find(known)
            .project_raw(doc! { "_id": 0, path: 1 })
            .await?;
        self.without(buckets, &there, entries).await
    }

    /// Drops the entries whose keys are in those of some buckets that have one of their keys; gives how many.
    async fn without(
        &self,
        buckets: Document,
        there: &[Document],
        entries: &mut Vec<Encoded<V>>,
    ) -> Result<u64> {
        let Some(unique) = self.names.unique.as_ref().filter(|_| !there.is_empty()) else {
            return Ok(0);
        };
        let known: HashSet<Vec<u8>> = there
            .iter()
            .flat_map(|bucket| elements_at(bucket, "entries"))
            .filter_map(|stored| value_at(stored, unique).map(identity))
            .collect();
        let before = entries.len();
        entries.retain(|entry| {
            let key = entry.unique.as_ref();
            key.is_none_or(|key| !known.contains(&identity(key)))
        });
        if entries.len() < before {
            // Of the rest, those of text can be there by the collection's collation: that is asked for them alone.
            let gone = (before - entries.len()) as u64;
            let mut keys = entries.iter().filter_map(|entry| entry.unique.as_ref());
            return match keys.any(holds_text) {
                true => Ok(gone + Box::pin(self.repeated_in(buckets, entries)).await?),
                false => Ok(gone),
            };
        }
        // The collection has a collation, which holds them for the same as others: it knows which.
        let mut left = Vec::with_capacity(before);
        for entry in entries.drain(..) {
            let mut this = buckets.clone();
            this.insert(format!("entries.{unique}"), doc! { "$eq": &entry.unique });
            if entry.unique.is_none() || !self.buckets.exists(this).await? {
                left.push(entry);
            }
        }
        *entries = left;
        Ok((before - entries.len()) as u64)
    }
}
