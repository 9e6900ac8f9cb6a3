//! Covariances of windows that documents leave.

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::{as_f64, is_nan};
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::Result;
use super::super::super::expression::{Expression, difference, product, quotient, sum};
use super::super::super::sum::Sum;
use super::Partition;
use super::bounds::Bounds;
use super::function::Column;
use super::moving::{Moving, Unbounded, slide};

/// `$covariancePop` and `$covarianceSamp`.
#[derive(Clone, Debug)]
pub(super) struct Covariance {
    pub(super) input: Expression,
    pub(super) of_sample: bool,
    pub(super) bounds: Bounds,
}

impl Covariance {
    pub(super) fn column(&self, partition: &Partition<'_>) -> Result<Column> {
        let state = Pairs {
            of_sample: self.of_sample,
            ..Pairs::default()
        };
        let value = |at| self.input.evaluate(&partition.scope(at));
        slide(state, value, &self.bounds, partition)
    }
}

/// Pairs of numbers: their sums and their comoment.
#[derive(Default)]
struct Pairs {
    of_sample: bool,
    count: i64,
    beyond: Beyond,
    xs: Shrinking,
    ys: Shrinking,
    comoment: Shrinking,
}

/// A sum that terms are taken out of again: a decimal as long as one of its terms is.
#[derive(Default)]
struct Shrinking {
    sum: Sum,
    decimals: i64,
}

impl Shrinking {
    fn add(&mut self, term: &Owned) {
        self.decimals += i64::from(matches!(term, Owned::Decimal128(_)));
        self.sum.add(&term.as_value());
    }

    fn take(&mut self, term: &Owned) -> Result<()> {
        self.decimals -= i64::from(matches!(term, Owned::Decimal128(_)));
        self.sum.add(&negated(term)?.as_value());
        Ok(())
    }

    fn value(&self) -> Owned {
        match self.sum.total() {
            Owned::Decimal128(bytes) if self.decimals <= 0 => {
                Owned::Double(Decimal::from_bytes(bytes).to_f64())
            }
            total => total,
        }
    }
}

/// The pairs that are not finite: what their sums are, and how many have an infinite decimal.
#[derive(Default)]
struct Beyond {
    sums: Unbounded,
    decimals: i64,
}

impl Beyond {
    /// Counts a pair that is not finite; `false` for any other.
    fn count(&mut self, x: &Value<'_>, y: &Value<'_>, by: i64) -> Result<bool> {
        if !is_nan(x) && !is_nan(y) && !is_infinite(x) && !is_infinite(y) {
            return Ok(false);
        }
        let both = sum(x, y)?;
        let sum = as_f64(&both.as_value()).unwrap_or(f64::NAN);
        self.sums.count(sum.is_nan(), sum < 0.0, by);
        if !sum.is_nan() && matches!(both, Owned::Decimal128(_)) {
            self.decimals += by;
        }
        Ok(true)
    }
}

fn pair<'a>(value: &Value<'a>) -> Option<(Value<'a>, Value<'a>)> {
    let Value::Array(items) = *value else {
        return None;
    };
    let mut items = items.values();
    match (items.next(), items.next(), items.next()) {
        (Some(x), Some(y), None) if x.is_number() && y.is_number() => Some((x, y)),
        _ => None,
    }
}

fn is_infinite(value: &Value<'_>) -> bool {
    match value {
        Value::Double(x) => x.is_infinite(),
        Value::Decimal128(bytes) => Decimal::from_bytes(*bytes).is_infinite(),
        _ => false,
    }
}

/// The number as a double, but a decimal stays one.
fn widened(value: &Value<'_>) -> Owned {
    match value {
        Value::Decimal128(_) => Owned::from(*value),
        other => Owned::Double(as_f64(other).unwrap_or(f64::NAN)),
    }
}

impl Pairs {
    /// The mean of so many numbers. Their count is a double, whose 15 digits a decimal quotient sheds.
    fn mean(total: &Shrinking, count: i64) -> Result<Owned> {
        quotient(&total.value().as_value(), &Value::Double(count as f64))
    }

    /// The product of how far two numbers are from two means.
    fn apart(x: (&Value<'_>, Owned), y: (&Value<'_>, Owned)) -> Result<Owned> {
        let x = difference(x.0, &x.1.as_value())?;
        let y = difference(y.0, &y.1.as_value())?;
        product(&x.as_value(), &y.as_value())
    }
}

fn negated(value: &Owned) -> Result<Owned> {
    product(&value.as_value(), &Value::Int32(-1))
}

impl Moving for Pairs {
    type Entry = Owned;

    fn enter(&mut self, value: &Owned) -> Result<()> {
        let Some((x, y)) = pair(&value.as_value()) else {
            return Ok(());
        };
        if self.beyond.count(&x, &y, 1)? {
            return Ok(());
        }
        // The first is nowhere but at the mean.
        let mean_x = match self.count {
            0 => None,
            count => Some(Pairs::mean(&self.xs, count)?),
        };
        self.count += 1;
        self.xs.add(&widened(&x));
        self.ys.add(&widened(&y));
        if let Some(mean_x) = mean_x {
            let mean_y = Pairs::mean(&self.ys, self.count)?;
            self.comoment.add(&Pairs::apart((&x, mean_x), (&y, mean_y))?);
        }
        Ok(())
    }

    fn leave(&mut self, value: &Owned) -> Result<()> {
        let Some((x, y)) = pair(&value.as_value()) else {
            return Ok(());
        };
        if self.beyond.count(&x, &y, -1)? {
            return Ok(());
        }
        let mean_y = Pairs::mean(&self.ys, self.count)?;
        self.count -= 1;
        if self.count == 0 {
            (self.xs, self.ys, self.comoment) = Default::default();
            return Ok(());
        }
        self.xs.take(&widened(&x))?;
        self.ys.take(&widened(&y))?;
        let mean_x = Pairs::mean(&self.xs, self.count)?;
        self.comoment.take(&Pairs::apart((&x, mean_x), (&y, mean_y))?)
    }

    fn result(&mut self) -> Result<Owned> {
        // As on the server, of one pair nothing varies, whatever else there is.
        if let (Some(sum), true) = (self.beyond.sums.sum(), self.count > 1) {
            let among_decimals =
                self.beyond.decimals > 0 || matches!(self.comoment.value(), Owned::Decimal128(_));
            return Ok(match among_decimals {
                true => Owned::Decimal128(Decimal::from_f64(sum).to_bytes()),
                false => Owned::Double(sum),
            });
        }
        let divisor = if self.of_sample {
            self.count - 1
        } else {
            self.count
        };
        if divisor <= 0 {
            return Ok(Owned::Null);
        }
        // What rounding left of those that are gone does not count.
        if self.count == 1 {
            return Ok(Owned::Double(0.0));
        }
        quotient(&self.comoment.value().as_value(), &Value::Double(divisor as f64))
    }
}
