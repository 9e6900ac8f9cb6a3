//! Results over windows that documents enter and leave.

use std::collections::VecDeque;

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::Result;
use super::Partition;
use super::bounds::Bounds;
use super::function::Column;

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

/// How many numbers that are not finite are in.
#[derive(Default)]
pub(super) struct Unbounded {
    not_numbers: i64,
    above: i64,
    below: i64,
}

impl Unbounded {
    /// Takes a number in, or out where `by` is minus one.
    pub(super) fn count(&mut self, is_nan: bool, is_negative: bool, by: i64) {
        *match (is_nan, is_negative) {
            (true, _) => &mut self.not_numbers,
            (_, true) => &mut self.below,
            (_, false) => &mut self.above,
        } += by;
    }

    /// What they add up to, if there are any.
    pub(super) fn sum(&self) -> Option<f64> {
        match (self.not_numbers, self.above, self.below) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(f64::INFINITY),
            (0, 0, _) => Some(f64::NEG_INFINITY),
            _ => Some(f64::NAN),
        }
    }
}
