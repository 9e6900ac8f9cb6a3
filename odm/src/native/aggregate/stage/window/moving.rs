//! Deviations and covariances of windows: documents enter and leave a running result.

use std::collections::VecDeque;

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::{as_f64, is_nan};
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::Result;
use super::super::super::expression::{Expression, difference, product, quotient, sum};
use super::super::super::sum::Sum;
use super::Partition;
use super::bounds::Bounds;
use super::function::Column;

/// `$covariancePop` and `$covarianceSamp`.
#[derive(Clone, Debug)]
pub(super) struct Covariance {
    pub(super) input: Expression,
    pub(super) of_sample: bool,
    pub(super) bounds: Bounds,
}

/// `$stdDevPop` and `$stdDevSamp` of windows that documents leave.
#[derive(Clone, Debug)]
pub(super) struct Deviation {
    pub(super) input: Expression,
    pub(super) of_sample: bool,
    pub(super) bounds: Bounds,
}

/// What documents enter and leave.
pub(super) trait Moving {
    fn enter(&mut self, value: &Value<'_>) -> Result<()>;
    fn leave(&mut self, value: &Value<'_>) -> Result<()>;
    fn result(&mut self) -> Result<Owned>;
}

/// The results over windows whose ends never go back: values are evaluated and enter before others leave.
pub(super) fn slide(
    mut state: impl Moving,
    value: impl Fn(usize) -> Result<Option<Owned>>,
    bounds: &Bounds,
    partition: &Partition<'_>,
) -> Result<Column> {
    let mut inside: VecDeque<Option<Owned>> = VecDeque::new();
    // Those that are in: from the first that has not left up to the first that has not entered.
    let (mut left, mut entered) = (0, 0);
    let mut column = Vec::with_capacity(partition.rows.len());
    for (low, high) in bounds.windows(partition)? {
        let before = entered;
        // What a window begins after is never in one.
        let start = entered.max(low);
        for at in start..high {
            let value = value(at)?;
            if let Some(value) = &value {
                state.enter(&value.as_value())?;
            }
            inside.push_back(value);
        }
        entered = start.max(high);
        for _ in left..low.min(before) {
            if let Some(Some(value)) = inside.pop_front() {
                state.leave(&value.as_value())?;
            }
        }
        left = left.max(low);
        column.push(Some(state.result()?));
    }
    Ok(column)
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

impl Deviation {
    pub(super) fn column(&self, partition: &Partition<'_>) -> Result<Column> {
        let state = Squares {
            of_sample: self.of_sample,
            ..Squares::default()
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
    xs: Total,
    ys: Total,
    comoment: Total,
}

/// A sum that terms are taken out of again: a decimal as long as one of its terms is.
#[derive(Default)]
struct Total {
    sum: Sum,
    decimals: i64,
}

impl Total {
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
            Owned::Decimal128(bytes) if self.decimals <= 0 => double(Decimal::from_bytes(bytes).to_f64()),
            total => total,
        }
    }
}

/// The pairs that are not finite: what their sums are, and how many have an infinite decimal.
#[derive(Default)]
struct Beyond {
    not_numbers: i64,
    above: i64,
    below: i64,
    decimals: i64,
}

impl Beyond {
    /// Counts a pair that is not finite; `false` for any other.
    fn count(&mut self, x: &Value<'_>, y: &Value<'_>, by: i64) -> Result<bool> {
        if !is_nan(x) && !is_nan(y) && !is_infinite(x) && !is_infinite(y) {
            return Ok(false);
        }
        let both = sum(x, y)?;
        match as_f64(&both.as_value()).unwrap_or(f64::NAN) {
            sum if sum.is_nan() => self.not_numbers += by,
            sum => {
                *(if sum > 0.0 {
                    &mut self.above
                } else {
                    &mut self.below
                }) += by;
                if matches!(both, Owned::Decimal128(_)) {
                    self.decimals += by;
                }
            }
        }
        Ok(true)
    }

    /// What the pairs add up to, if there are any.
    fn sum(&self) -> Option<f64> {
        match (self.not_numbers, self.above, self.below) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(f64::INFINITY),
            (0, 0, _) => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
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

fn double(x: f64) -> Owned {
    Owned::Double(x)
}

/// The number as a double, but a decimal stays one.
fn widened(value: &Value<'_>) -> Owned {
    match value {
        Value::Decimal128(_) => Owned::from(*value),
        other => double(as_f64(other).unwrap_or(f64::NAN)),
    }
}

impl Pairs {
    /// The mean of so many numbers. Their count is a double, whose 15 digits a decimal quotient sheds.
    fn mean(total: &Total, count: i64) -> Result<Owned> {
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
    fn enter(&mut self, value: &Value<'_>) -> Result<()> {
        let Some((x, y)) = pair(value) else {
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

    fn leave(&mut self, value: &Value<'_>) -> Result<()> {
        let Some((x, y)) = pair(value) else {
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
        if let (Some(sum), true) = (self.beyond.sum(), self.count > 1) {
            let among_decimals =
                self.beyond.decimals > 0 || matches!(self.comoment.value(), Owned::Decimal128(_));
            return Ok(match among_decimals {
                true => Owned::Decimal128(Decimal::from_f64(sum).to_bytes()),
                false => double(sum),
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
            return Ok(double(0.0));
        }
        quotient(&self.comoment.value().as_value(), &Value::Double(divisor as f64))
    }
}

/// Numbers: their sum and the squares of their distances from the mean.
#[derive(Default)]
struct Squares {
    of_sample: bool,
    count: i64,
    not_finite: i64,
    sum: Sum,
    squares: Sum,
}

impl Squares {
    fn update(&mut self, value: &Value<'_>, by: i64) {
        let Some(x) = as_f64(value).filter(|_| value.is_number()) else {
            return;
        };
        if !x.is_finite() {
            // It counts among those that the rest is divided by, also when it is gone.
            self.not_finite += by;
            self.count += by;
            return;
        }
        if self.count + by == 0 {
            (self.count, self.sum, self.squares) = (0, Sum::default(), Sum::default());
            return;
        }
        if self.count == 0 {
            self.count = 1;
            // The first is added as it is, the others as doubles.
            self.sum.add(value);
            return;
        }
        let sum = as_f64(&self.sum.total().as_value()).unwrap_or(0.0);
        let distance = self.count as f64 * x - sum;
        self.count += by;
        self.sum.add(&Value::Double(x * by as f64));
        let scale = (self.count * (self.count - by)) as f64;
        self.squares
            .add(&Value::Double(distance * distance * by as f64 / scale));
    }
}

impl Moving for Squares {
    fn enter(&mut self, value: &Value<'_>) -> Result<()> {
        self.update(value, 1);
        Ok(())
    }

    fn leave(&mut self, value: &Value<'_>) -> Result<()> {
        self.update(value, -1);
        Ok(())
    }

    /// Rounding may take the squares below zero: they are zero then.
    fn result(&mut self) -> Result<Owned> {
        if self.not_finite > 0 {
            return Ok(Owned::Null);
        }
        let divisor = if self.of_sample {
            self.count - 1
        } else {
            self.count
        };
        if divisor == 0 {
            return Ok(Owned::Null);
        }
        let squares = as_f64(&self.squares.total().as_value()).unwrap_or(0.0);
        if squares < 0.0 || (!self.of_sample && self.count == 1) {
            self.squares = Sum::default();
            return Ok(Owned::Int32(0));
        }
        Ok(double((squares / divisor as f64).sqrt()))
    }
}
