//! The sum of many numbers as `$add`, `$sum` and `$avg` make it: integers exactly, doubles with
//! compensation, decimals apart.

use super::super::document::decimal::Decimal;
use super::super::document::{Owned, Value};

/// A running total.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    kind: SumKind,
    /// All integers, exactly.
    integers: i128,
    /// Integers and doubles.
    double: f64,
    compensation: f64,
    /// The plain sum, right where the compensated one is not finite.
    plain: f64,
    decimals: Option<Decimal>,
    count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum SumKind {
    #[default]
    Int32,
    Int64,
    Double,
    Decimal,
}

impl Sum {
    /// Adds a number; `false` if the value is none.
    pub(crate) fn add(&mut self, value: &Value<'_>) -> bool {
        match *value {
            Value::Int32(x) => self.add_integer(x.into(), SumKind::Int32),
            Value::Int64(x) => self.add_integer(x, SumKind::Int64),
            Value::Double(x) => {
                self.kind = self.kind.max(SumKind::Double);
                self.add_double(x);
            }
            Value::Decimal128(bytes) => {
                self.kind = SumKind::Decimal;
                let x = Decimal::from_bytes(bytes);
                self.decimals = Some(self.decimals.unwrap_or(Decimal::ZERO).add(x));
            }
            _ => return false,
        }
        self.count += 1;
        true
    }

    /// The total, of the widest type among the numbers, or wider where it would overflow.
    pub(crate) fn total(&self) -> Owned {
        match self.kind {
            SumKind::Decimal => Owned::Decimal128(self.as_decimal().to_bytes()),
            SumKind::Double => Owned::Double(self.as_double()),
            SumKind::Int32 if i32::try_from(self.integers).is_ok() => Owned::Int32(self.integers as i32),
            _ => match i64::try_from(self.integers) {
                Ok(total) => Owned::Int64(total),
                Err(_) => Owned::Double(self.integers as f64),
            },
        }
    }

    /// The mean: a decimal if there was one among the numbers, otherwise a double; `None` of nothing.
    pub(crate) fn mean(&self) -> Option<Owned> {
        if self.count == 0 {
            return None;
        }
        Some(match self.kind {
            SumKind::Decimal => {
                let count = Decimal::from_i64(self.count as i64);
                Owned::Decimal128(self.as_decimal().divide(count).to_bytes())
            }
            SumKind::Double => Owned::Double(self.as_double() / self.count as f64),
            _ => Owned::Double(self.integers as f64 / self.count as f64),
        })
    }

    fn add_integer(&mut self, x: i64, kind: SumKind) {
        self.kind = self.kind.max(kind);
        self.integers = self.integers.saturating_add(x.into());
        // Two halves that are exact as doubles.
        let high = x & !0xffff_ffff;
        self.add_double(high as f64);
        self.add_double((x - high) as f64);
    }

    fn add_double(&mut self, x: f64) {
        self.plain += x;
        // What the compensation loses when it is added stays the compensation.
        let compensation = self.compensation;
        let x = {
            let whole = x + compensation;
            self.compensation = compensation - (whole - x);
            whole
        };
        let sum = self.double + x;
        let part = sum - self.double;
        self.compensation += (self.double - (sum - part)) + (x - part);
        self.double = sum;
    }

    fn as_double(&self) -> f64 {
        // Nearest to the sum already; what is left of it counts in decimals alone.
        match self.double.is_finite() {
            true => self.double,
            false => self.plain,
        }
    }

    fn as_decimal(&self) -> Decimal {
        let decimals = self.decimals.unwrap_or(Decimal::ZERO);
        if !self.double.is_finite() || !self.compensation.is_finite() {
            return decimals.add(Decimal::from_f64_exact(self.plain));
        }
        let others = if self.double == 0.0 && self.compensation == 0.0 {
            None
        } else if self.double.fract() == 0.0 && self.compensation == 0.0 && self.double.abs() < 9.0e15 {
            Some(Decimal::from_i64(self.double as i64))
        } else {
            Some(Decimal::from_f64_exact(self.double).add(Decimal::from_f64_exact(self.compensation)))
        };
        others.map_or(decimals, |others| decimals.add(others))
    }
}

/// The standard deviation of a stream of numbers (Welford).
#[derive(Clone, Debug, Default)]
pub(crate) struct Deviation {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Deviation {
    /// Adds a number.
    pub(crate) fn add(&mut self, x: f64) {
        self.count += 1;
        let delta = x - self.mean;
        if delta != 0.0 {
            self.mean += delta / self.count as f64;
            self.squares += delta * (x - self.mean);
        }
    }

    /// Of the whole population; null of nothing.
    pub(crate) fn population(&self) -> Owned {
        self.over(self.count)
    }

    /// Of a sample; null of fewer than two.
    pub(crate) fn sample(&self) -> Owned {
        self.over(self.count.saturating_sub(1))
    }

    fn over(&self, divisor: u64) -> Owned {
        if divisor == 0 {
            return Owned::Null;
        }
        Owned::Double((self.squares / divisor as f64).sqrt())
    }
}
