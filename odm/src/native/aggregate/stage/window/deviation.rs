//! Deviations of windows that documents leave.

use super::super::super::super::document::number::as_f64;
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::Result;
use super::super::super::expression::Expression;
use super::super::super::sum::Sum;
use super::Partition;
use super::bounds::Bounds;
use super::function::Column;
use super::moving::{Moving, slide};

/// `$stdDevPop` and `$stdDevSamp` of windows that documents leave.
#[derive(Clone, Debug)]
pub(super) struct Deviation {
    pub(super) input: Expression,
    pub(super) of_sample: bool,
    pub(super) bounds: Bounds,
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
    type Entry = Owned;

    fn enter(&mut self, value: &Owned) -> Result<()> {
        self.update(&value.as_value(), 1);
        Ok(())
    }

    fn leave(&mut self, value: &Owned) -> Result<()> {
        self.update(&value.as_value(), -1);
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
        Ok(Owned::Double((squares / divisor as f64).sqrt()))
    }
}
