//! The figures.

use std::cmp::Ordering;

use odm::Embedded;
use serde::{Deserialize, Serialize};

use super::amount::Amount;

/// Running figures of values of a type: a field of a model, changed by [`Accumulate`](super::Accumulate).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Embedded)]
pub struct Running<T> {
    /// How many values.
    pub count: i64,
    /// Their sum.
    pub sum: T,
    /// The sum of their squares.
    pub squares: T,
    /// The least value that there was.
    #[serde(skip_serializing_if = "Option::is_none", default = "none")]
    pub min: Option<T>,
    /// The greatest value that there was.
    #[serde(skip_serializing_if = "Option::is_none", default = "none")]
    pub max: Option<T>,
    /// The least value that was removed.
    #[serde(skip_serializing_if = "Option::is_none", default = "none")]
    pub removed_min: Option<T>,
    /// The greatest value that was removed.
    #[serde(skip_serializing_if = "Option::is_none", default = "none")]
    pub removed_max: Option<T>,
}

fn none<T>() -> Option<T> {
    None
}

/// A minimum or maximum.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Extreme<T> {
    /// The value; none of no values. A bound where it is not exact.
    pub value: Option<T>,
    /// Whether one of the values is it. It may not be, once an equal one, or one beyond it, was removed.
    pub is_exact: bool,
}

impl<T: Amount> Default for Running<T> {
    fn default() -> Running<T> {
        Running {
            count: 0,
            sum: T::zero(),
            squares: T::zero(),
            min: None,
            max: None,
            removed_min: None,
            removed_max: None,
        }
    }
}

impl<T: Amount> Running<T> {
    /// The figures of these values, computed here; `None` when a sum cannot be held exactly.
    pub fn of(values: impl IntoIterator<Item = T>) -> Option<Running<T>> {
        let mut all: Running<T> = Running::default();
        for value in values {
            all.count += 1;
            all.sum = all.sum.plus(value)?;
            all.squares = all.squares.plus(value.squared()?)?;
            let is_new = |known: Option<T>, side| known.is_none_or(|known| value.order(known) == side);
            if is_new(all.min, Ordering::Less) {
                all.min = Some(value);
            }
            if is_new(all.max, Ordering::Greater) {
                all.max = Some(value);
            }
        }
        Some(all)
    }

    /// The mean; none of no values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.as_f64() / self.count as f64)
    }

    /// The mean of the squared distances from the mean, taking the values for all that there are; none of no values, and
    /// NaN where one of them is NaN or infinite.
    pub fn variance(&self) -> Option<f64> {
        (self.count > 0).then(|| T::variance(self.count, self.sum, self.squares))
    }

    /// The variance of what the values are a sample of; none of fewer than two, and NaN where one of them is NaN or
    /// infinite.
    pub fn sample_variance(&self) -> Option<f64> {
        let count = self.count as f64;
        (self.count > 1).then(|| T::variance(self.count, self.sum, self.squares) * count / (count - 1.0))
    }

    /// The least value.
    pub fn minimum(&self) -> Extreme<T> {
        self.extreme(self.min, self.removed_min, Ordering::Greater)
    }

    /// The greatest value.
    pub fn maximum(&self) -> Extreme<T> {
        self.extreme(self.max, self.removed_max, Ordering::Less)
    }

    /// Exact while what was removed lies on the inner side of it.
    fn extreme(&self, value: Option<T>, removed: Option<T>, inner: Ordering) -> Extreme<T> {
        match (self.count > 0, value) {
            (true, Some(value)) => Extreme {
                value: Some(value),
                is_exact: removed.is_none_or(|removed| removed.order(value) == inner),
            },
            _ => Extreme {
                value: None,
                is_exact: self.count == 0,
            },
        }
    }
}
