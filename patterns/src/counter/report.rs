//! Figures that were read.

use std::collections::BTreeMap;

use odm::bson::{Bson, DateTime, Document};
use odm::{Error, ErrorKind, Result};

use super::change::too_great;
use super::event::Event;
use super::shape::{Measure, Shape};
use crate::computed::Amount;
use crate::dotted::value_at;
use crate::period::Unit;

/// The figures of a period.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cell<T = i64> {
    /// How many events.
    pub count: i64,
    /// The figures of each measure, by its name.
    pub values: BTreeMap<String, Summary<T>>,
}

/// The figures of a measure.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary<T> {
    /// How many values.
    pub count: i64,
    /// Their sum.
    pub sum: T,
    /// The least; none of no values, and where extremes are not kept.
    pub min: Option<T>,
    /// The greatest.
    pub max: Option<T>,
    /// Whether the extremes are those of the values: not when an event with a value was taken back.
    pub is_exact: bool,
    /// How many values are at most the first bound, and so on; one more than there are bounds.
    pub histogram: Vec<i64>,
}

/// Figures of periods, one after another, without holes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report<T = i64> {
    /// What the periods are.
    pub unit: Unit,
    /// Their beginnings and figures.
    pub cells: Vec<(DateTime, Cell<T>)>,
}

impl<T: Amount> Summary<T> {
    fn zero(measure: &Measure<T>) -> Summary<T> {
        Summary {
            count: 0,
            sum: T::zero(),
            min: None,
            max: None,
            is_exact: true,
            histogram: match measure.bounds.len() {
                0 => Vec::new(),
                bounds => vec![0; bounds + 1],
            },
        }
    }

    /// The mean; none of no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count != 0).then(|| self.sum.as_f64() / self.count as f64)
    }

    fn add(&mut self, other: &Summary<T>) -> Result<()> {
        self.count = self.count.checked_add(other.count).ok_or_else(too_great)?;
        self.sum = self.sum.plus(other.sum).ok_or_else(too_great)?;
        self.min = chosen(self.min, other.min, |a, b| a.order(b).is_le());
        self.max = chosen(self.max, other.max, |a, b| a.order(b).is_ge());
        self.is_exact &= other.is_exact;
        let more = other.histogram.len().saturating_sub(self.histogram.len());
        self.histogram.extend(std::iter::repeat_n(0, more));
        for (own, other) in self.histogram.iter_mut().zip(&other.histogram) {
            *own = own.checked_add(*other).ok_or_else(too_great)?;
        }
        Ok(())
    }
}

fn chosen<T: Copy>(a: Option<T>, b: Option<T>, is_first: impl Fn(T, T) -> bool) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if is_first(a, b) { a } else { b }),
        (a, b) => a.or(b),
    }
}

impl<T: Amount> Cell<T> {
    pub(super) fn zero(shape: &Shape<T>) -> Cell<T> {
        let zero = |measure: &Measure<T>| (measure.name.clone(), Summary::zero(measure));
        Cell {
            count: 0,
            values: shape.measures.iter().map(zero).collect(),
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.count == 0
            && self.values.values().all(|summary| {
                let nothing = summary.count == 0 && summary.sum.order(T::zero()).is_eq();
                nothing && summary.min.is_none() && summary.max.is_none() && summary.is_exact
            })
    }

    /// What an event adds.
    pub(super) fn of_event(shape: &Shape<T>, event: &Event<T>) -> Result<Cell<T>> {
        let sign = if event.is_taken_back { -1 } else { 1 };
        let mut cell = Cell {
            count: event.times.checked_mul(sign).ok_or_else(too_great)?,
            values: BTreeMap::new(),
        };
        for (name, value) in &event.values {
            let Some(measure) = shape.measures.iter().find(|measure| measure.name == *name) else {
                let error = Error::new(ErrorKind::InvalidArgument, "the counters have no such measure");
                return Err(error.with_path(name.as_str()));
            };
            let value = *value;
            if !value.as_f64().is_finite() {
                let error = Error::new(ErrorKind::InvalidArgument, "the value is not a number");
                return Err(error.with_path(name.as_str()));
            }
            let mut summary = Summary::zero(measure);
            summary.count = sign;
            summary.is_exact = !event.is_taken_back;
            summary.sum = value;
            if event.is_taken_back {
                summary.sum = value.negated().ok_or_else(too_great)?;
            } else if measure.has_extremes {
                (summary.min, summary.max) = (Some(value), Some(value));
            }
            if let Some(count) = summary.histogram.get_mut(measure.bucket(value)) {
                *count = sign;
            }
            cell.values.insert(name.clone(), summary);
        }
        Ok(cell)
    }

    /// Adds the figures of another cell.
    ///
    /// # Errors
    /// `Encode` when a sum cannot be held exactly.
    pub fn add(&mut self, other: &Cell<T>) -> Result<()> {
        self.count = self.count.checked_add(other.count).ok_or_else(too_great)?;
        for (name, summary) in &other.values {
            match self.values.get_mut(name) {
                Some(own) => own.add(summary)?,
                None => drop(self.values.insert(name.clone(), summary.clone())),
            }
        }
        Ok(())
    }

    /// The figures at a path of a stored document.
    pub(super) fn read(shape: &Shape<T>, document: &Document, path: &str) -> Result<Cell<T>> {
        let mut cell = Cell::zero(shape);
        cell.count = number(document, path)?;
        for measure in &shape.measures {
            let Some(Bson::Document(stored)) = value_at(document, &format!("{}.{path}", measure.name)) else {
                continue;
            };
            let mut summary = Summary::zero(measure);
            summary.count = number(stored, "n")?;
            summary.sum = amount(stored, "sum")?.unwrap_or_else(T::zero);
            summary.min = amount(stored, "min")?;
            summary.max = amount(stored, "max")?;
            summary.is_exact = !stored.contains_key("loose");
            for (bucket, count) in summary.histogram.iter_mut().enumerate() {
                *count = number(stored, &format!("h.{bucket}"))?;
            }
            cell.values.insert(measure.name.clone(), summary);
        }
        Ok(cell)
    }
}

impl<T: Amount> Report<T> {
    /// All cells together.
    ///
    /// # Errors
    /// `Encode` when a sum cannot be held exactly.
    pub fn total(&self) -> Result<Cell<T>> {
        let mut total = Cell {
            count: 0,
            values: BTreeMap::new(),
        };
        for (_, cell) in &self.cells {
            total.add(cell)?;
        }
        Ok(total)
    }

    /// Adds a report of the same periods: of other dimensions, or of what was [rolled
    /// up](super::Counters::roll_up).
    ///
    /// # Errors
    /// `InvalidArgument` for other periods; `Encode` when a sum cannot be held exactly.
    pub fn add(&mut self, other: &Report<T>) -> Result<()> {
        let starts = |report: &Report<T>| report.cells.iter().map(|(start, _)| *start).collect::<Vec<_>>();
        if self.unit != other.unit || starts(self) != starts(other) {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "the reports are not of the same periods",
            ));
        }
        let mut cells = self.cells.iter_mut().zip(&other.cells);
        cells.try_for_each(|((_, own), (_, other))| own.add(other))
    }

    /// The numbers of events.
    pub fn counts(&self) -> Vec<i64> {
        self.cells.iter().map(|(_, cell)| cell.count).collect()
    }
}

/// A whole number, of whichever type somebody stored it.
fn number(document: &Document, path: &str) -> Result<i64> {
    match value_at(document, path) {
        None | Some(Bson::Null) => Ok(0),
        Some(Bson::Int32(number)) => Ok(i64::from(*number)),
        Some(Bson::Int64(number)) => Ok(*number),
        Some(Bson::Double(number)) if number.fract() == 0.0 && number.abs() < 9e15 => Ok(*number as i64),
        Some(_) => Err(malformed(document, path)),
    }
}

fn amount<T: Amount>(document: &Document, path: &str) -> Result<Option<T>> {
    let value = value_at(document, path).filter(|value| !matches!(value, Bson::Null));
    let decoded = value.map(|value| odm::bson::deserialize_from_bson(value.clone()));
    decoded.transpose().map_err(|_| malformed(document, path))
}

fn malformed(document: &Document, path: &str) -> Error {
    let error = Error::new(ErrorKind::Decode, "the stored figure is no number").with_path(path);
    match document.get("_id") {
        Some(id) => error.with_id(id.clone()),
        None => error,
    }
}
