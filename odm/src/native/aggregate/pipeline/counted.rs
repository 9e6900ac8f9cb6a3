//! Runs that count what every stage gives, and what it reads.

use std::cell::Cell;
use std::sync::Arc;

use super::super::super::fault::Result;
use super::super::super::tally::{self, Tally};
use super::{Context, Pipeline, Rows, Stage, in_run};

/// What a stage, or an input, has done.
#[derive(Debug)]
pub(crate) struct Ran {
    given: Cell<u64>,
    has_ended: Cell<bool>,
    /// What it read besides what it was given.
    read: Arc<Tally>,
    /// What the pipelines inside of a `$facet` did.
    inside: Vec<Vec<Ran>>,
}

impl Ran {
    fn of(stage: Option<&Stage>) -> Ran {
        Ran {
            given: Cell::new(0),
            has_ended: Cell::new(false),
            read: Arc::new(Tally::of_part()),
            inside: match stage {
                Some(Stage::Facet(facet)) => facet.each().map(|(_, own)| own.to_run(0)).collect(),
                _ => Vec::new(),
            },
        }
    }

    /// How many documents it gave.
    pub(crate) fn given(&self) -> u64 {
        self.given.get()
    }

    /// Whether it was asked for more than it had.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.get()
    }

    /// What it read besides what it was given.
    pub(crate) fn read(&self) -> &Tally {
        &self.read
    }

    /// What the pipelines inside of a `$facet` did, in their order.
    pub(crate) fn inside(&self) -> &[Vec<Ran>] {
        &self.inside
    }

    /// The same documents, counted as they are taken.
    fn counting<'a>(&'a self, mut rows: Rows<'a>) -> Rows<'a> {
        Box::new(std::iter::from_fn(move || {
            let row = tally::within(Some(self.read.clone()), || rows.next());
            match row {
                Some(_) => self.given.set(self.given.get() + 1),
                None => self.has_ended.set(true),
            }
            row
        }))
    }
}

impl Pipeline {
    /// What is counted of a run from `first` on: the input, and each of the stages.
    pub(crate) fn to_run(&self, first: usize) -> Vec<Ran> {
        let stages = self.stages.iter().skip(first).map(Some);
        std::iter::once(None).chain(stages).map(Ran::of).collect()
    }

    /// Runs the stages from `first` on, and counts.
    pub(crate) fn run_counted<'a>(
        &'a self,
        first: usize,
        input: Rows<'a>,
        context: &'a Context<'a>,
        ran: &'a [Ran],
    ) -> Result<Rows<'a>> {
        self.check_counts(first, context).map_err(in_run)?;
        let rows = self.flow_counted(first, input, context, ran).map_err(in_run)?;
        Ok(Box::new(rows.map(|row| row.map_err(in_run))))
    }

    fn flow_counted<'a>(
        &'a self,
        first: usize,
        input: Rows<'a>,
        context: &'a Context<'a>,
        ran: &'a [Ran],
    ) -> Result<Rows<'a>> {
        let mut ran = ran.iter();
        let mut rows = match ran.next() {
            Some(ran) => ran.counting(input),
            None => input,
        };
        for stage in self.stages.iter().skip(first) {
            let Some(ran) = ran.next() else {
                rows = stage.run(rows, context)?;
                continue;
            };
            rows = tally::within(Some(ran.read.clone()), || match stage {
                Stage::Facet(facet) => {
                    let mut inside = ran.inside.iter();
                    facet.run_by(rows, |own, input| match inside.next() {
                        Some(ran) => own.flow_counted(0, input, context, ran),
                        None => own.flow(0, input, context),
                    })
                }
                other => other.run(rows, context),
            })?;
            rows = ran.counting(rows);
        }
        Ok(rows)
    }
}
