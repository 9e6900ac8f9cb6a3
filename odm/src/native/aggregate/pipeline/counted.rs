//! Runs that count what every stage gives.

use std::cell::Cell;

use super::super::super::fault::Result;
use super::{Context, Pipeline, Rows, in_run};

/// What a stage has given.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    given: Cell<u64>,
    has_ended: Cell<bool>,
}

impl Tally {
    /// How many documents it gave.
    pub(crate) fn given(&self) -> u64 {
        self.given.get()
    }

    /// Whether it was asked for more than it had.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.get()
    }

    /// The same documents, counted as they are taken.
    fn of<'a>(&'a self, mut rows: Rows<'a>) -> Rows<'a> {
        Box::new(std::iter::from_fn(move || {
            let row = rows.next();
            match row {
                Some(_) => self.given.set(self.given.get() + 1),
                None => self.has_ended.set(true),
            }
            row
        }))
    }
}

impl Pipeline {
    /// Runs the stages from `first` on, with a tally for the input and one for each of them.
    pub(crate) fn run_counted<'a>(
        &'a self,
        first: usize,
        input: Rows<'a>,
        context: &'a Context<'a>,
        tallies: &'a [Tally],
    ) -> Result<Rows<'a>> {
        let mut tallies = tallies.iter();
        let mut rows = match tallies.next() {
            Some(tally) => tally.of(input),
            None => input,
        };
        for stage in self.stages.iter().skip(first) {
            rows = stage.run(rows, context).map_err(in_run)?;
            if let Some(tally) = tallies.next() {
                rows = tally.of(rows);
            }
        }
        Ok(Box::new(rows.map(|row| row.map_err(in_run))))
    }
}
