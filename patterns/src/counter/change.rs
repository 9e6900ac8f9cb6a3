//! What is added to one document.

use std::collections::{BTreeMap, BTreeSet};

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Error, ErrorKind, Result};

use super::key::Key;
use super::report::{Cell, Summary};
use super::shape::{Measure, Shape};
use crate::computed::Amount;

/// A document: of which layout, for what and which period.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) layout: usize,
    pub(super) collection: String,
    pub(super) id: String,
    pub(super) key: Key,
    pub(super) from: Option<DateTime>,
    pub(super) shard: u16,
}

/// What is added to a document. Adding two is the same as adding one after the other.
#[derive(Clone, Debug)]
pub(super) struct Change<T> {
    pub(super) place: Place,
    numbers: BTreeMap<String, i64>,
    sums: BTreeMap<String, T>,
    minima: BTreeMap<String, T>,
    maxima: BTreeMap<String, T>,
    loose: BTreeSet<String>,
    pub(super) seen: Vec<String>,
}

impl<T: Amount> Change<T> {
    pub(super) fn of(place: Place) -> Change<T> {
        Change {
            place,
            numbers: BTreeMap::new(),
            sums: BTreeMap::new(),
            minima: BTreeMap::new(),
            maxima: BTreeMap::new(),
            loose: BTreeSet::new(),
            seen: Vec::new(),
        }
    }

    /// Adds a cell's figures at a path.
    pub(super) fn add(&mut self, shape: &Shape<T>, path: &str, cell: &Cell<T>) -> Result<()> {
        self.add_number(path.to_owned(), cell.count)?;
        for measure in &shape.measures {
            let Some(summary) = cell.values.get(&measure.name) else {
                continue;
            };
            self.add_summary(measure, &format!("{}.{path}", measure.name), summary)?;
        }
        Ok(())
    }

    fn add_summary(&mut self, measure: &Measure<T>, at: &str, summary: &Summary<T>) -> Result<()> {
        self.add_number(format!("{at}.n"), summary.count)?;
        let sum = self.sums.entry(format!("{at}.sum")).or_insert_with(T::zero);
        *sum = sum.plus(summary.sum).ok_or_else(too_great)?;
        for (bucket, count) in summary.histogram.iter().enumerate() {
            self.add_number(format!("{at}.h.{bucket}"), *count)?;
        }
        if !measure.has_extremes {
            return Ok(());
        }
        if let Some(min) = summary.min {
            let own = self.minima.entry(format!("{at}.min")).or_insert(min);
            if min.order(*own).is_lt() {
                *own = min;
            }
        }
        if let Some(max) = summary.max {
            let own = self.maxima.entry(format!("{at}.max")).or_insert(max);
            if max.order(*own).is_gt() {
                *own = max;
            }
        }
        if !summary.is_exact {
            self.loose.insert(format!("{at}.loose"));
        }
        Ok(())
    }

    fn add_number(&mut self, path: String, number: i64) -> Result<()> {
        let own = self.numbers.entry(path).or_insert(0);
        *own = own.checked_add(number).ok_or_else(too_great)?;
        Ok(())
    }

    /// Adds another change of the same document.
    pub(super) fn merge(&mut self, other: Change<T>) -> Result<()> {
        for (path, number) in other.numbers {
            self.add_number(path, number)?;
        }
        for (path, amount) in other.sums {
            let sum = self.sums.entry(path).or_insert_with(T::zero);
            *sum = sum.plus(amount).ok_or_else(too_great)?;
        }
        for (path, min) in other.minima {
            let own = self.minima.entry(path).or_insert(min);
            if min.order(*own).is_lt() {
                *own = min;
            }
        }
        for (path, max) in other.maxima {
            let own = self.maxima.entry(path).or_insert(max);
            if max.order(*own).is_gt() {
                *own = max;
            }
        }
        self.loose.extend(other.loose);
        self.seen.extend(other.seen);
        Ok(())
    }

    /// The update that adds it, to a document that may not be there yet. All of it are operators that need not know what
    /// is stored, so that no two can be in each other's way.
    pub(super) fn update(&self, name: &str, remember: u16) -> Result<Document> {
        let mut increments: Document = self
            .numbers
            .iter()
            .map(|(path, n)| (path.clone(), Bson::Int64(*n)))
            .collect();
        increments.extend(encoded(&self.sums)?);
        let mut described = doc! { "span": name, "by": self.place.key.document() };
        if let Some(from) = self.place.from {
            described.insert("from", from);
        }
        if self.place.shard > 0 {
            described.insert("shard", i32::from(self.place.shard));
        }
        let mut update = doc! { "$inc": increments, "$setOnInsert": described };
        let mut put = |operator: &str, operands: Document| {
            if !operands.is_empty() {
                update.insert(operator, operands);
            }
        };
        put("$min", encoded(&self.minima)?);
        put("$max", encoded(&self.maxima)?);
        put(
            "$set",
            self.loose
                .iter()
                .map(|path| (path.clone(), Bson::Boolean(true)))
                .collect(),
        );
        if !self.seen.is_empty() {
            let push = doc! { "$each": self.seen.clone(), "$slice": -i32::from(remember.max(1)) };
            put("$push", doc! { "seen": push });
        }
        Ok(update)
    }
}

fn encoded<T: Amount>(amounts: &BTreeMap<String, T>) -> Result<Document> {
    let mut document = Document::new();
    for (path, amount) in amounts {
        let value = odm::bson::serialize_to_bson(amount).map_err(|error| {
            Error::new(ErrorKind::Encode, "the value does not fit bson")
                .with_path(path.as_str())
                .with_source(error)
        })?;
        document.insert(path.as_str(), value);
    }
    Ok(document)
}

pub(super) fn too_great() -> Error {
    Error::new(ErrorKind::Encode, "the sum is too great to be exact")
}
