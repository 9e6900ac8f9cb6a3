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
    /// Integers and doubles; none while the integers are all, and so few that doubles hold their sum exactly.
    doubles: Option<Doubles>,
    decimals: Option<Decimal>,
    count: u64,
}

/// A sum of doubles.
#[derive(Clone, Copy, Debug, Default)]
struct Doubles {
    sum: f64,
    compensation: f64,
    /// The plain sum, right where the compensated one is not finite.
    plain: f64,
}

/// Sums of integers up to this, and of their halves, are exact as doubles.
const EXACT: u128 = 1 << 51;

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
                let integers = self.integers;
                self.doubles.get_or_insert_with(|| Doubles::of(integers)).add(x);
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
                Err(_) => Owned::Double(self.as_double()),
            },
        }
    }

    /// Adds a date by its milliseconds, which make the total no wider.
    pub(crate) fn add_date(&mut self, ms: i64) {
        let kind = self.kind;
        self.add_integer(ms, SumKind::Int64);
        self.kind = kind;
    }

    /// The total as a date: halves are rounded toward the epoch, and where decimals are among the numbers to the even one.
    /// `None` beyond any date; but of decimals, the first date of all.
    pub(crate) fn moment(&self) -> Option<i64> {
        match self.kind {
            SumKind::Int32 | SumKind::Int64 => i64::try_from(self.integers).ok(),
            SumKind::Double => self.doubles().nearest(),
            SumKind::Decimal => Some(self.as_decimal().to_i64_rounded().unwrap_or(i64::MIN)),
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
            _ => Owned::Double(self.as_double() / self.count as f64),
        })
    }

    /// The same, where integers whose sum is an int64 count exactly.
    pub(crate) fn exact_mean(&self) -> Option<Owned> {
        match (self.kind, i64::try_from(self.integers)) {
            (SumKind::Int32 | SumKind::Int64, Ok(total)) if self.count > 0 => {
                Some(Owned::Double(total as f64 / self.count as f64))
            }
            _ => self.mean(),
        }
    }

    fn add_integer(&mut self, x: i64, kind: SumKind) {
        self.kind = self.kind.max(kind);
        let before = self.integers;
        self.integers = before.saturating_add(x.into());
        let is_exact = u128::from(x.unsigned_abs()) <= EXACT && self.integers.unsigned_abs() <= EXACT;
        if self.doubles.is_none() && is_exact {
            return;
        }
        let doubles = self.doubles.get_or_insert_with(|| Doubles::of(before));
        if kind == SumKind::Int32 {
            doubles.add(x as f64);
            return;
        }
        // Two halves that are exact as doubles, both with its sign: also where one is zero, which takes in what the
        // compensation holds.
        let low = x % (1 << 32);
        doubles.add(low as f64);
        doubles.add((x - low) as f64);
    }

    fn doubles(&self) -> Doubles {
        self.doubles.unwrap_or_else(|| Doubles::of(self.integers))
    }

    fn as_double(&self) -> f64 {
        let Doubles { sum, plain, .. } = self.doubles();
        // Nearest to the sum already; what is left of it counts in decimals alone.
        match sum.is_finite() {
            true => sum,
            false => plain,
        }
    }

    fn as_decimal(&self) -> Decimal {
        let decimals = self.decimals.unwrap_or(Decimal::ZERO);
        let Doubles {
            sum,
            compensation,
            plain,
        } = self.doubles();
        if !sum.is_finite() || !compensation.is_finite() {
            return decimals.add(Decimal::from_f64_exact(plain));
        }
        let others = if sum == 0.0 && compensation == 0.0 {
            None
        } else if sum.fract() == 0.0 && compensation == 0.0 && sum.abs() < 9.0e15 {
            Some(Decimal::from_i64(sum as i64))
        } else {
            Some(Decimal::from_f64_exact(sum).add(Decimal::from_f64_exact(compensation)))
        };
        others.map_or(decimals, |others| decimals.add(others))
    }
}

impl Doubles {
    /// Of an integer that is exact as one.
    fn of(integer: i128) -> Doubles {
        Doubles {
            sum: integer as f64,
            compensation: 0.0,
            plain: integer as f64,
        }
    }

    /// The integer nearest to it, if it is an int64: the sum is rounded away from zero, and then what that leaves.
    fn nearest(&self) -> Option<i64> {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        let Doubles {
            sum, compensation, ..
        } = *self;
        let fits = if sum == LIMIT {
            compensation < -0.5
        } else if sum == -LIMIT {
            compensation >= -0.5
        } else {
            (-LIMIT..LIMIT).contains(&sum)
        };
        if !fits {
            return None;
        }
        let whole = i128::from(sum.round() as i64) + i128::from(sum == LIMIT);
        let rest = (sum - whole as f64) + compensation;
        i64::try_from(whole + rest.round() as i128).ok()
    }

    fn add(&mut self, x: f64) {
        self.plain += x;
        // What the compensation loses when it is added stays the compensation.
        let compensation = self.compensation;
        let x = {
            let whole = x + compensation;
            self.compensation = compensation - (whole - x);
            whole
        };
        let sum = self.sum + x;
        let part = sum - self.sum;
        self.compensation += (self.sum - (sum - part)) + (x - part);
        self.sum = sum;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_integers_sum_up_as_all_do() {
        let mut random = 7_u64;
        for round in 0..5_000 {
            let (mut quick, mut slow) = (Sum::default(), Sum::default());
            slow.doubles = Some(Doubles::default());
            for _ in 0..round % 12 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let bits = (random >> 9) % 64;
                let x = (random as i64) >> bits;
                let value = match random % 7 {
                    0 => Value::Double(x as f64 / 3.0),
                    1 => Value::Int32(x as i32),
                    _ => Value::Int64(x),
                };
                assert!(quick.add(&value) && slow.add(&value));
            }
            assert_eq!(format!("{:?}", quick.total()), format!("{:?}", slow.total()));
            assert_eq!(format!("{:?}", quick.mean()), format!("{:?}", slow.mean()));
            assert_eq!(quick.as_decimal().to_bytes(), slow.as_decimal().to_bytes());
        }
    }
}
