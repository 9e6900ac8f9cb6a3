//! Results over windows that documents enter and leave.

use std::collections::VecDeque;

use super::super::super::super::document::Owned;
use super::super::super::super::fault::Result;
use super::super::group::{Entry, Inside};
use super::Partition;
use super::bounds::Bounds;
use super::function::Column;

/// What documents enter and leave.
pub(super) trait Moving {
    /// What a document is to it.
    type Entry;

    fn enter(&mut self, entry: &Self::Entry) -> Result<()>;
    fn leave(&mut self, entry: &Self::Entry) -> Result<()>;
    fn result(&mut self) -> Result<Owned>;
}

impl Moving for Inside<'_> {
    type Entry = Entry;

    fn enter(&mut self, entry: &Entry) -> Result<()> {
        Inside::enter(self, entry)
    }

    fn leave(&mut self, entry: &Entry) -> Result<()> {
        Inside::leave(self, entry);
        Ok(())
    }

    fn result(&mut self) -> Result<Owned> {
        Ok(Inside::result(self))
    }
}

/// The results over windows whose ends never go back: documents enter before others leave.
pub(super) fn slide<M: Moving>(
    mut state: M,
    entry: impl Fn(usize) -> Result<Option<M::Entry>>,
    bounds: &Bounds,
    partition: &Partition<'_>,
) -> Result<Column> {
    let mut inside: VecDeque<Option<M::Entry>> = VecDeque::new();
    // Those that are in: from the first that has not left up to the first that has not entered.
    let (mut left, mut entered) = (0, 0);
    let mut column = Vec::with_capacity(partition.rows.len());
    for (low, high) in bounds.windows(partition)? {
        let before = entered;
        // What a window begins after is never in one.
        let start = entered.max(low);
        for at in start..high {
            let entry = entry(at)?;
            if let Some(entry) = &entry {
                state.enter(entry)?;
            }
            inside.push_back(entry);
        }
        entered = start.max(high);
        for _ in left..low.min(before) {
            if let Some(Some(entry)) = inside.pop_front() {
                state.leave(&entry)?;
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
