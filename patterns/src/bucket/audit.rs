//! Whether buckets are what their entries say.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use odm::Result;
use odm::bson::{Bson, DateTime, Document, doc};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::buckets::{BUCKETS, Buckets, Kind};
use crate::computed::{Amount, Running};
use crate::dotted::value_at;
use crate::identity::identity;
use crate::keyed::integer;
use crate::value;

/// What is wrong with a bucket.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BucketProblem {
    /// The series.
    pub series: Bson,
    /// Which of its buckets.
    pub number: i64,
    /// What is wrong.
    pub kind: BucketProblemKind,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BucketProblemKind {
    /// The count is not that of the entries. [`Buckets::repair`] counts anew.
    WrongCount {
        /// What is stored.
        stored: i64,
        /// How many there are.
        actual: i64,
    },
    /// The times of the oldest and the newest entry are not what is stored. [`Buckets::repair`] makes them so.
    WrongTimes,
    /// The figures are not those of the entries. [`Buckets::repair`] computes them anew.
    WrongFigures,
    /// An entry is of another time than the bucket's: the span was another once.
    Misplaced {
        /// The entry's time.
        at: DateTime,
    },
    /// There are more entries than a bucket takes: the size was another once.
    Overfull {
        /// How many there are.
        entries: usize,
    },
    /// A unique key is there more than once: in this bucket, or by count in one before it. [`Buckets::repair`] keeps the
    /// first.
    Repeated {
        /// The key.
        key: Bson,
    },
    /// An entry without a time, or something that is no entry.
    Malformed,
}

/// A problem, and of a unique key that is repeated whether it is in a bucket before.
type Found = (BucketProblem, bool);

impl<S, E, V: Amount, K> Buckets<S, E, V, K> {
    /// The stage of an update that computes anew what is kept beside the entries.
    pub(super) fn recount(&self) -> Result<Document> {
        let at = format!("$entries.{}", self.names.at);
        let count = doc! { "$toLong": { "$size": "$entries" } };
        let mut set = doc! {
            "count": count.clone(),
            "from": { "$ifNull": [{ "$min": at.clone() }, DateTime::MAX] },
            "to": { "$ifNull": [{ "$max": at }, DateTime::MIN] },
        };
        if let Some(path) = &self.names.value {
            let values = format!("$entries.{path}");
            let zero = value::to_bson(&V::zero())?;
            let squares = doc! {
                "$map": { "input": values.clone(), "in": { "$multiply": ["$$this", "$$this"] } },
            };
            let figures = doc! {
                "count": count,
                "sum": { "$add": [zero.clone(), { "$sum": values.clone() }] },
                "squares": { "$add": [zero, { "$sum": squares }] },
                // Null would be less than all that comes.
                "min": { "$ifNull": [{ "$min": values.clone() }, "$$REMOVE"] },
                "max": { "$ifNull": [{ "$max": values }, "$$REMOVE"] },
            };
            set.insert("figures", figures);
        }
        Ok(doc! { "$set": set })
    }

    /// The stage behind it that fails where whole numbers have become too large to be summed exactly.
    pub(super) fn exact(&self) -> Result<Option<Document>> {
        let is_whole = matches!(value::to_bson(&V::zero())?, Bson::Int64(_));
        let exact = doc! { "$set": {
            "figures.sum": { "$toLong": "$figures.sum" },
            "figures.squares": { "$toLong": "$figures.squares" },
        } };
        Ok(self.names.value.as_ref().filter(|_| is_whole).map(|_| exact))
    }
}

impl<S: Serialize + DeserializeOwned, E: DeserializeOwned, V: Amount, K> Buckets<S, E, V, K> {
    /// Holds all buckets against their entries. Reads the whole collection. By count, the unique keys of one series at a
    /// time are kept in memory.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<BucketProblem>> {
        let found = self.found().await?.into_iter();
        Ok(found.map(|(problem, _)| problem).collect())
    }

    /// Makes counts, times and figures what the entries say, and takes out what is repeated, each bucket in one update;
    /// gives what is left. Reads the whole collection, twice where something was wrong.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn repair(&self) -> Result<Vec<BucketProblem>> {
        let found = self.found().await?;
        let mut is_changed = false;
        for problems in
            found.chunk_by(|(one, _), (other, _)| one.number == other.number && one.series == other.series)
        {
            let Some((first, _)) = problems.first() else {
                continue;
            };
            let can_be_mended = |(problem, _): &Found| {
                matches!(
                    problem.kind,
                    BucketProblemKind::WrongCount { .. }
                        | BucketProblemKind::WrongTimes
                        | BucketProblemKind::WrongFigures
                        | BucketProblemKind::Repeated { .. }
                )
            };
            if problems.iter().any(can_be_mended) {
                let key = doc! { "_id": BUCKETS.key(&first.series, first.number) };
                let mut stages = self.without_repeated_of(problems);
                stages.push(self.recount()?);
                self.buckets.update_one(key, stages).await?;
                is_changed = true;
            }
        }
        match is_changed {
            true => self.verify().await,
            false => Ok(found.into_iter().map(|(problem, _)| problem).collect()),
        }
    }

    /// The stages that take the entries out whose keys are in a bucket before, or before them in this one.
    fn without_repeated_of(&self, problems: &[Found]) -> Vec<Document> {
        let (mut before, mut here) = (Vec::new(), Vec::new());
        for (problem, is_before) in problems {
            if let BucketProblemKind::Repeated { key } = &problem.kind {
                match is_before {
                    true => before.push(key),
                    false => here.push(key),
                }
            }
        }
        let Some(unique) = self
            .names
            .unique
            .as_ref()
            .filter(|_| before.len() + here.len() > 0)
        else {
            return Vec::new();
        };
        let key = format!("$$this.{unique}");
        let is_repeated = doc! { "$or": [
            { "$in": [&key, { "$literal": before }] },
            { "$and": [
                { "$in": [&key, { "$literal": here }] },
                { "$in": [&key, format!("$$value.{unique}")] },
            ] },
        ] };
        let kept = doc! { "$reduce": {
            "input": "$entries",
            "initialValue": [],
            "in": { "$cond": [is_repeated, "$$value", { "$concatArrays": ["$$value", ["$$this"]] }] },
        } };
        let mut stages = Vec::from_iter(self.stays_full());
        stages.push(doc! { "$set": { "entries": kept } });
        stages
    }

    async fn found(&self) -> Result<Vec<Found>> {
        let mut found = Vec::new();
        let mut buckets = self.buckets.find_all().sort_raw(doc! { "_id": 1 }).stream();
        // In which bucket a key of the series is first.
        let (mut of, mut seen) = (None, HashMap::new());
        while let Some(bucket) = buckets.try_next().await? {
            let (series, number) = (BUCKETS.owner_of(&bucket), BUCKETS.number_of(&bucket));
            let is_apart = matches!(self.kind, Kind::Span(_));
            if is_apart || of.as_ref() != Some(&series) {
                seen.clear();
                of = Some(series.clone());
            }
            let problems = self.problems_of(&bucket, number, &mut seen).into_iter();
            found.extend(problems.map(|(kind, is_before)| {
                let series = series.clone();
                (BucketProblem { series, number, kind }, is_before)
            }));
        }
        Ok(found)
    }

    fn problems_of(
        &self,
        bucket: &Document,
        number: i64,
        seen: &mut HashMap<Vec<u8>, i64>,
    ) -> Vec<(BucketProblemKind, bool)> {
        let Ok(entries) = self.entries(bucket) else {
            return vec![(BucketProblemKind::Malformed, false)];
        };
        let entries: Vec<(DateTime, Bson)> = entries.collect();
        let mut found = Vec::new();
        let stored = bucket.get("count").and_then(integer).unwrap_or(0);
        let actual = i64::try_from(entries.len()).unwrap_or(i64::MAX);
        if stored != actual {
            found.push(BucketProblemKind::WrongCount { stored, actual });
        }
        // Times of nothing are such that what comes next is before and behind them.
        let times = entries.iter().map(|(at, _)| at);
        let from = times.clone().min().unwrap_or(&DateTime::MAX);
        let to = times.max().unwrap_or(&DateTime::MIN);
        if bucket.get_datetime("from").ok() != Some(from) || bucket.get_datetime("to").ok() != Some(to) {
            found.push(BucketProblemKind::WrongTimes);
        }
        if !self.has_right_figures(bucket, &entries) {
            found.push(BucketProblemKind::WrongFigures);
        }
        match self.kind {
            Kind::Span(span) => {
                let others = entries
                    .iter()
                    .map(|(at, _)| *at)
                    .filter(|at| at.timestamp_millis().div_euclid(span) != number);
                found.extend(others.map(|at| BucketProblemKind::Misplaced { at }));
            }
            Kind::Count(size) if entries.len() > size => {
                let entries = entries.len();
                found.push(BucketProblemKind::Overfull { entries });
            }
            Kind::Count(_) => {}
        }
        let mut found: Vec<_> = found.into_iter().map(|kind| (kind, false)).collect();
        if let Some(unique) = &self.names.unique {
            for (_, entry) in &entries {
                let key = entry.as_document().and_then(|entry| value_at(entry, unique));
                let Some(key) = key.filter(|key| **key != Bson::Null) else {
                    continue;
                };
                match seen.entry(identity(key)) {
                    Entry::Vacant(entry) => {
                        entry.insert(number);
                    }
                    Entry::Occupied(first) => {
                        let repeated = BucketProblemKind::Repeated { key: key.clone() };
                        found.push((repeated, *first.get() != number));
                    }
                }
            }
        }
        found
    }

    fn has_right_figures(&self, bucket: &Document, entries: &[(DateTime, Bson)]) -> bool {
        let Some(path) = &self.names.value else {
            return true;
        };
        let stored = bucket.get("figures").cloned().unwrap_or(Bson::Null);
        let Ok(stored) = value::from_bson::<Running<V>>(stored) else {
            return false;
        };
        let values = entries.iter().map(|(_, entry)| {
            let value = value_at(entry.as_document()?, path)?.clone();
            value::from_bson::<V>(value).ok()
        });
        let Some(values) = values.collect::<Option<Vec<V>>>() else {
            return false;
        };
        let Some(actual) = Running::of(values) else {
            return false;
        };
        let agree = |one: Option<V>, other: Option<V>| match (one, other) {
            (Some(one), Some(other)) => one.agrees(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        stored.count == actual.count
            && stored.sum.agrees(actual.sum)
            && stored.squares.agrees(actual.squares)
            && agree(stored.min, actual.min)
            && agree(stored.max, actual.max)
    }
}
