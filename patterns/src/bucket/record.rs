//! Recording.

use std::collections::BTreeMap;

use odm::Result;
use odm::bson::{Bson, Document, doc};
use serde::Serialize;

use super::buckets::{BUCKETS, Buckets, Kind};
use super::encoded::{Encoded, push};
use crate::computed::Amount;
use crate::numbered::{Filled, Numbered};
use crate::value;

/// What became of entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recorded {
    /// How many were recorded.
    pub recorded: u64,
    /// How many were there before.
    pub repeated: u64,
}

impl<S: Serialize, E: Serialize, V: Amount> Buckets<S, E, V> {
    /// Records entries of a series. Round trips: by span one for each bucket that they belong to; by count two for each
    /// bucket that is filled, and one more where one is opened.
    ///
    /// # Errors
    /// `Encode` when an entry's time is not stored as a date, or its value cannot be summed; then nothing is recorded.
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
    async fn fill(
        &self,
        series: &Bson,
        size: usize,
        mut entries: Vec<Encoded<V>>,
        all: &mut Recorded,
    ) -> Result<()> {
        all.repeated += self.without_repeated(&mut entries);
        if self.names.unique.is_some() {
            let series = doc! { "_id.series": { "$eq": series } };
            all.repeated += self.repeated_in(series, &mut entries).await?;
        }
        let buckets = Numbered {
            db: self.db.clone(),
            documents: self.buckets.clone(),
            keyed: BUCKETS,
            list: "entries",
            size,
        };
        let mut rest = entries.as_slice();
        while !rest.is_empty() {
            let pushed = |count| push(rest.get(..count).unwrap_or(rest));
            match buckets.fill(series, rest.len(), pushed).await? {
                Filled::Put(count) => {
                    all.recorded += count as u64;
                    rest = rest.get(count..).unwrap_or_default();
                }
                // Buckets are never closed.
                Filled::Sealed => return Ok(()),
            }
        }
        Ok(())
    }

    /// Drops the entries that are there more than once; gives how many.
    fn without_repeated(&self, entries: &mut Vec<Encoded<V>>) -> u64 {
        let before = entries.len();
        if self.names.unique.is_some() {
            let mut seen: Vec<Bson> = Vec::new();
            entries.retain(|entry| match &entry.unique {
                Some(unique) if seen.contains(unique) => false,
                unique => {
                    seen.extend(unique.clone());
                    true
                }
            });
        }
        (before - entries.len()) as u64
    }

    /// Drops the entries that are in these buckets; gives how many.
    async fn repeated_in(&self, mut buckets: Document, entries: &mut Vec<Encoded<V>>) -> Result<u64> {
        let Some(unique) = &self.names.unique else {
            return Ok(0);
        };
        let path = format!("entries.{unique}");
        let known: Vec<&Bson> = entries.iter().filter_map(|entry| entry.unique.as_ref()).collect();
        buckets.insert(path.clone(), doc! { "$in": known });
        let there = self
            .buckets
            .find(buckets)
            .project_raw(doc! { "_id": 0, path: 1 })
            .await?;
        let is_there = |entry: &Encoded<V>| {
            there
                .iter()
                .flat_map(|bucket| crate::dotted::elements_at(bucket, "entries"))
                .any(|stored| crate::dotted::value_at(stored, unique) == entry.unique.as_ref())
        };
        let before = entries.len();
        entries.retain(|entry| entry.unique.is_none() || !is_there(entry));
        Ok((before - entries.len()) as u64)
    }
}
