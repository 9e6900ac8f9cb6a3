//! Whether buckets are what their entries say.

use odm::Result;
use odm::bson::{Bson, DateTime, Document, doc};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::buckets::{BUCKETS, Buckets, Kind};
use crate::computed::{Amount, Running};
use crate::dotted::value_at;
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
    /// There is no entry. [`Buckets::repair`] deletes the bucket.
    Empty,
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
    /// A unique key is there more than once.
    Repeated {
        /// The key.
        key: Bson,
    },
    /// An entry without a time, or something that is no entry.
    Malformed,
}

impl<S, E, V: Amount> Buckets<S, E, V> {
    /// The stage of an update that computes anew what is kept beside the entries.
    pub(super) fn recount(&self) -> Result<Document> {
        let at = format!("$entries.{}", self.names.at);
        let count = doc! { "$toLong": { "$size": "$entries" } };
        let mut set = doc! {
            "count": count.clone(),
            "from": { "$ifNull": [{ "$min": at.clone() }, "$from"] },
            "to": { "$ifNull": [{ "$max": at }, "$to"] },
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
                "min": { "$min": values.clone() },
                "max": { "$max": values },
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

impl<S: Serialize + DeserializeOwned, E: DeserializeOwned, V: Amount> Buckets<S, E, V> {
    /// Holds all buckets against their entries. Reads the whole collection.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<BucketProblem>> {
        let mut problems = Vec::new();
        let mut buckets = self.buckets.find_all().sort_raw(doc! { "_id": 1 }).stream();
        while let Some(bucket) = buckets.try_next().await? {
            let (series, number) = (BUCKETS.owner_of(&bucket), BUCKETS.number_of(&bucket));
            let found = self.problems_of(&bucket, number).into_iter();
            problems.extend(found.map(|kind| BucketProblem {
                series: series.clone(),
                number,
                kind,
            }));
        }
        Ok(problems)
    }

    /// Makes counts, times and figures what the entries say, each bucket in one update, and deletes empty buckets; gives
    /// what is left.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn repair(&self) -> Result<Vec<BucketProblem>> {
        let mut left = Vec::new();
        let mut done = None;
        for problem in self.verify().await? {
            let key = doc! { "_id": BUCKETS.key(&problem.series, problem.number) };
            match problem.kind {
                BucketProblemKind::WrongCount { .. }
                | BucketProblemKind::WrongTimes
                | BucketProblemKind::WrongFigures => {
                    if done.as_ref() != Some(&key) {
                        self.buckets
                            .update_one(key.clone(), vec![self.recount()?])
                            .await?;
                        done = Some(key);
                    }
                }
                BucketProblemKind::Empty => {
                    let mut empty = key;
                    empty.insert("entries.0", doc! { "$exists": false });
                    self.buckets.delete_one(empty).await?;
                }
                _ => left.push(problem),
            }
        }
        Ok(left)
    }

    fn problems_of(&self, bucket: &Document, number: i64) -> Vec<BucketProblemKind> {
        let Ok(entries) = self.entries(bucket) else {
            return vec![BucketProblemKind::Malformed];
        };
        let entries: Vec<(DateTime, Bson)> = entries.collect();
        let times = entries.iter().map(|(at, _)| *at);
        let Some((from, to)) = times.clone().min().zip(times.max()) else {
            return vec![BucketProblemKind::Empty];
        };
        let mut found = Vec::new();
        let stored = bucket.get("count").and_then(integer).unwrap_or(0);
        let actual = i64::try_from(entries.len()).unwrap_or(i64::MAX);
        if stored != actual {
            found.push(BucketProblemKind::WrongCount { stored, actual });
        }
        if bucket.get_datetime("from").ok() != Some(&from) || bucket.get_datetime("to").ok() != Some(&to) {
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
        if let Some(unique) = &self.names.unique {
            let mut seen: Vec<&Bson> = Vec::new();
            for (_, entry) in &entries {
                match entry.as_document().and_then(|entry| value_at(entry, unique)) {
                    Some(key) if seen.contains(&key) => {
                        found.push(BucketProblemKind::Repeated { key: key.clone() });
                    }
                    key => seen.extend(key),
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
