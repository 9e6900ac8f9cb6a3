//! Numbers that can be summed up.

use std::cmp::Ordering;

use odm::bson::Decimal128;
use odm::{FieldType, Increment, Ordered};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::decimal;

/// A type of number whose running figures can be kept: `i64`, `f64`, `Decimal128`.
#[diagnostic::on_unimplemented(
    message = "no running figures are kept of `{Self}`",
    label = "can be `i64`, `f64` or `Decimal128`"
)]
pub trait Amount:
    Copy
    + PartialEq
    + Increment<Step = Self>
    + Ordered
    + FieldType
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// Nothing.
    fn zero() -> Self;

    /// The sum; `None` when it cannot be held exactly, or, of `f64`, never.
    fn plus(self, other: Self) -> Option<Self>;

    /// The product with itself; `None` when it cannot be held exactly, or, of `f64`, never.
    fn squared(self) -> Option<Self>;

    /// The same below zero; `None` when there is none.
    fn negated(self) -> Option<Self>;

    /// Which is greater.
    fn order(self, other: Self) -> Ordering;

    /// The nearest `f64`.
    fn as_f64(self) -> f64;

    /// The mean of the squared distances from the mean; no number where one of the values is none, or infinite.
    fn variance(count: i64, sum: Self, squares: Self) -> f64 {
        let count = count as f64;
        let mean = sum.as_f64() / count;
        let variance = squares.as_f64() / count - mean * mean;
        // Rounding can make it negative; what is no number stays none.
        if variance < 0.0 { 0.0 } else { variance }
    }

    /// Whether two sums are the same, as far as sums of this type can be.
    fn agrees(self, other: Self) -> bool {
        self.order(other) == Ordering::Equal
    }
}

impl Amount for i64 {
    fn zero() -> i64 {
        0
    }

    fn plus(self, other: i64) -> Option<i64> {
        self.checked_add(other)
    }

    fn squared(self) -> Option<i64> {
        self.checked_mul(self)
    }

    fn negated(self) -> Option<i64> {
        self.checked_neg()
    }

    fn order(self, other: i64) -> Ordering {
        self.cmp(&other)
    }

    fn as_f64(self) -> f64 {
        self as f64
    }

    fn variance(count: i64, sum: i64, squares: i64) -> f64 {
        // Products of two 64-bit numbers have room in 128 bits, and so has their difference.
        let (count, sum, squares) = (i128::from(count), i128::from(sum), i128::from(squares));
        (count * squares - sum * sum) as f64 / (count as f64 * count as f64)
    }
}

impl Amount for f64 {
    fn zero() -> f64 {
        0.0
    }

    fn plus(self, other: f64) -> Option<f64> {
        Some(self + other)
    }

    fn squared(self) -> Option<f64> {
        Some(self * self)
    }

    fn negated(self) -> Option<f64> {
        Some(-self)
    }

    fn order(self, other: f64) -> Ordering {
        order(self, other)
    }

    fn as_f64(self) -> f64 {
        self
    }

    fn agrees(self, other: f64) -> bool {
        let greater = self.abs().max(other.abs());
        order(self, other) == Ordering::Equal || greater.is_finite() && (self - other).abs() <= 1e-9 * greater
    }
}

impl Amount for Decimal128 {
    fn zero() -> Decimal128 {
        decimal::zero()
    }

    fn plus(self, other: Decimal128) -> Option<Decimal128> {
        decimal::sum(self, other)
    }

    fn squared(self) -> Option<Decimal128> {
        decimal::square(self)
    }

    fn negated(self) -> Option<Decimal128> {
        Some(decimal::negative(self))
    }

    fn order(self, other: Decimal128) -> Ordering {
        match decimal::sum(self, decimal::negative(other)).and_then(decimal::sign) {
            Some(sign) => sign,
            None => order(self.as_f64(), other.as_f64()),
        }
    }

    fn as_f64(self) -> f64 {
        self.to_string().parse().unwrap_or(f64::NAN)
    }
}

/// The database's order: what is no number is less than all numbers, and like itself.
fn order(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other)
        .unwrap_or_else(|| other.is_nan().cmp(&one.is_nan()))
}
