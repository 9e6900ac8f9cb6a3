//! Recording.

use std::collections::{BTreeMap, HashSet};

use odm::Result;
use odm::bson::{Bson, Document, doc};
use serde::Serialize;

use super::buckets::{BUCKETS, Buckets, Kind};
use super::encoded::{Encoded, Names, push};
use super::identity::identity;
use crate::computed::Amount;
use crate::dotted::{elements_at, value_at};
use crate::numbered::{Newest, Numbered};
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
    /// Records entries of a series. Round trips: by span one for each bucket that they belong to; by count two for each
    /// bucket that they go into, one more in a transaction, and one where all were there before.
    ///
    /// # Errors
    /// `Encode` when an entry's time is not stored as a date, its value cannot be summed, or its unique key is an array;
    /// then nothing is recorded.
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
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Puts entries wherever there is room.
    ///
    /// What is looked at are the buckets up to the newest. Those before it are full for ever, so that no key comes into
    /// them any more; that none has come into the newest, or into the one to be opened, is a condition of the update.
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
        };
        while !entries.is_empty() {
            let newest = self.newest(&buckets, series, &mut entries, all).await?;
            let place = buckets.place(newest.as_ref(), entries.len());
            let here = entries.get(..place.count).unwrap_or(&entries);
            if here.is_empty() {
                return Ok(());
            }
            let (absent, push) = (self.names.absent(here), push(here)?);
            if buckets.put(series, &place, absent, push).await? {
                all.recorded += here.len() as u64;
                entries.drain(..place.count);
            }
        }
        Ok(())
    }

    /// The newest bucket of a series; drops the entries that are in any of them. One round trip, in a transaction two.
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
            Some((newest, there)) if newest.contains_key("_id") => (Some(buckets.read(newest)), there),
            _ => (None, found.as_slice()),
        };
        all.repeated += without(unique, there, entries);
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
    async fn repeated_in(&self, mut buckets: Document, entries: &mut Vec<Encoded<V>>) -> Result<u64> {
        let keys = Names::keys(entries);
        let Some(unique) = self.names.unique.as_ref().filter(|_| !keys.is_empty()) else {
            return Ok(0);
        };
        let path = format!("entries.{unique}");
        buckets.insert(path.clone(), doc! { "$in": keys });
        let there = self
            .buckets
            .find(buckets)
            .project_raw(doc! { "_id": 0, path: 1 })
            .await?;
        Ok(without(unique, &there, entries))
    }
}

/// Drops the entries whose keys are in these buckets; gives how many.
fn without<V>(unique: &str, buckets: &[Document], entries: &mut Vec<Encoded<V>>) -> u64 {
    let there: HashSet<Vec<u8>> = buckets
        .iter()
        .flat_map(|bucket| elements_at(bucket, "entries"))
        .filter_map(|stored| value_at(stored, unique).map(identity))
        .collect();
    let before = entries.len();
    if !there.is_empty() {
        entries.retain(|entry| {
            entry
                .unique
                .as_ref()
                .is_none_or(|key| !there.contains(&identity(key)))
        });
    }
    (before - entries.len()) as u64
}
