//! Sums and means of windows that documents leave: what leaves is subtracted, and leaves its errors of rounding behind.

use super::super::super::super::document::decimal::{Decimal, Rounding};
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::Result;
use super::super::super::expression::{Expression, quotient};
use super::super::super::sum::Sum;
use super::Partition;
use super::bounds::Bounds;
use super::function::Column;
use super::moving::{Moving, Unbounded, slide};

/// `$sum` and `$avg` of windows that documents leave.
#[derive(Clone, Debug)]
pub(super) struct Total {
    pub(super) input: Expression,
    pub(super) is_mean: bool,
    pub(super) bounds: Bounds,
}

impl Total {
    pub(super) fn column(&self, partition: &Partition<'_>) -> Result<Column> {
        let state = Running {
            is_mean: self.is_mean,
            ..Running::default()
        };
        let value = |at| self.input.evaluate(&partition.scope(at));
        slide(state, value, &self.bounds, partition)
    }
}

/// The sum of finite numbers, and how many numbers of each kind there are beside it.
#[derive(Default)]
pub(super) struct Running {
    is_mean: bool,
    count: i64,
    doubles: i64,
    decimals: i64,
    unbounded: Unbounded,
    sum: Sum,
}

impl Running {
    /// Takes a number in, or out where `by` is minus one.
    pub(super) fn update(&mut self, value: &Value<'_>, by: i64) {
        let sign = if by < 0 { -1.0 } else { 1.0 };
        match *value {
            Value::Int32(i32::MIN) if by < 0 => {
                self.sum.add(&Value::Int32(i32::MAX));
                self.sum.add(&Value::Int32(1));
            }
            Value::Int32(x) => {
                self.sum.add(&Value::Int32(x * by as i32));
            }
            Value::Int64(i64::MIN) if by < 0 => {
                self.sum.add(&Value::Int64(i64::MAX));
                self.sum.add(&Value::Int32(1));
            }
            Value::Int64(x) => {
                self.sum.add(&Value::Int64(x * by));
            }
            Value::Double(x) => {
                self.doubles += by;
                if x.is_finite() {
                    self.sum.add(&Value::Double(x * sign));
                } else {
                    self.unbounded.count(x.is_nan(), x < 0.0, by);
                }
            }
            Value::Decimal128(bytes) => {
                self.decimals += by;
                match Decimal::from_bytes(bytes) {
                    Decimal::Nan { .. } => self.unbounded.count(true, false, by),
                    Decimal::Infinity { negative } => self.unbounded.count(false, negative, by),
                    x => {
                        let x = if by < 0 { x.negate() } else { x };
                        self.sum.add(&Value::Decimal128(x.to_bytes()));
                    }
                }
            }
            _ => return,
        }
        self.count += by;
    }

    /// The sum, of no wider a type than the numbers there are.
    pub(super) fn total(&self) -> Owned {
        if let Some(sum) = self.unbounded.sum() {
            return match self.decimals {
                0 => Owned::Double(sum),
                _ => Owned::Decimal128(Decimal::from_f64(sum).to_bytes()),
            };
        }
        let total = match self.sum.total() {
            Owned::Decimal128(bytes) if self.decimals == 0 => {
                let total = Decimal::from_bytes(bytes);
                match self.doubles {
                    0 => whole(total).unwrap_or(Owned::Double(total.to_f64())),
                    _ => Owned::Double(total.to_f64()),
                }
            }
            Owned::Double(x) if self.doubles == 0 => match x.round() {
                whole if (-TOO_LARGE..TOO_LARGE).contains(&whole) => Owned::Int64(whole as i64),
                _ => Owned::Double(x),
            },
            total => total,
        };
        match total {
            Owned::Int64(x) => i32::try_from(x).map_or(Owned::Int64(x), Owned::Int32),
            total => total,
        }
    }
}

/// The least double that no int64 holds.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// The nearest integer, if an int64 holds it.
fn whole(x: Decimal) -> Option<Owned> {
    x.quantize(0, Rounding::HalfEven).to_i64_exact().map(Owned::Int64)
}

impl Moving for Running {
    type Entry = Owned;

    fn enter(&mut self, value: &Owned) -> Result<()> {
        self.update(&value.as_value(), 1);
        Ok(())
    }

    fn leave(&mut self, value: &Owned) -> Result<()> {
        self.update(&value.as_value(), -1);
        Ok(())
    }

    fn result(&mut self) -> Result<Owned> {
        match (self.is_mean, self.count) {
            (false, _) => Ok(self.total()),
            (true, 0) => Ok(Owned::Null),
            (true, count) => quotient(&self.total().as_value(), &Value::Int64(count)),
        }
    }
}
