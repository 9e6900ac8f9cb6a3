//! Beginning several plans to see which of them reads least.
//!
//! None gets far ahead of the others: what a trial costs is in proportion to what the best of them costs.

use std::fmt::{self, Debug, Formatter};

use super::super::catalog::Collection;
use super::super::fault::Result;
use super::super::plan::{Plan, Trial};
use super::super::storage::Read;
use super::Deadline;
use super::batch::is_fatal;
use super::query::Query;
use super::search;
use super::walk::{Flow, Walk};

/// How many documents a plan reads at first, and how many keys of an index it counts.
const FIRST_DOCUMENTS: u64 = 8;
const FIRST_KEYS: u64 = 64;
/// How many keys are counted in the time in which one document is read.
const KEYS_PER_DOCUMENT: f64 = 8.0;

/// A trial of a query's plans on a collection.
pub(super) struct Race<'a> {
    pub(super) read: &'a dyn Read,
    pub(super) collection: &'a Collection,
    pub(super) query: &'a Query,
    pub(super) deadline: Deadline,
}

impl Debug for Race<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Race")
            .field("collection", &self.collection.name)
            .finish_non_exhaustive()
    }
}

impl Trial for Race<'_> {
    fn cheapest(&self, plans: &[Plan], wanted: Option<u64>) -> Result<usize> {
        let mut runners: Vec<Runner> = plans
            .iter()
            .map(|plan| Runner::new(self, plan.clone(), wanted))
            .collect();
        loop {
            let arrived = runners
                .iter()
                .enumerate()
                .filter(|(_, runner)| runner.state == State::Arrived);
            let best = arrived.min_by(|(_, a), (_, b)| a.cost().total_cmp(&b.cost()));
            let best = best.map(|(position, runner)| (position, runner.cost()));
            let behind = runners.iter_mut().filter(|runner| {
                runner.state == State::Underway && best.is_none_or(|(_, cost)| runner.cost() < cost)
            });
            match behind.min_by(|a, b| a.effort().total_cmp(&b.effort())) {
                Some(next) => next.go_on(self, best.map(|(_, cost)| cost))?,
                None => return Ok(best.map_or(0, |(position, _)| position)),
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Underway,
    /// What it has to read is known.
    Arrived,
    /// A document failed.
    Out,
}

/// A plan that has been begun.
#[derive(Debug)]
struct Runner {
    plan: Plan,
    walk: Walk,
    /// How many matches it still has to come by; where all are wanted, or all are needed to bring them in order, what an
    /// index leads to is only counted.
    left: Option<u64>,
    /// How many are kept where they have to be brought in order.
    kept: f64,
    /// How many documents were read, or would have been.
    looked: u64,
    state: State,
}

impl Runner {
    fn new(race: &Race<'_>, plan: Plan, wanted: Option<u64>) -> Runner {
        let plan = plan.asking(&race.query.matcher);
        Runner {
            walk: Walk::uncounted(&plan, race.collection, race.deadline),
            left: wanted.filter(|_| plan.sorted),
            kept: wanted.map_or(f64::INFINITY, |wanted| wanted as f64),
            plan,
            looked: 0,
            state: State::Underway,
        }
    }

    /// What it costs as far as it is known, in documents read.
    fn cost(&self) -> f64 {
        const SORTING: f64 = 0.1;
        let looked = self.looked as f64;
        let sorting = match self.plan.sorted {
            true => 0.0,
            false => looked * SORTING * (looked.min(self.kept) + 2.0).log2(),
        };
        looked + sorting + self.passed()
    }

    /// What the keys cost that led to no document of their own.
    fn passed(&self) -> f64 {
        self.walk.examined.keys.saturating_sub(self.looked) as f64 / KEYS_PER_DOCUMENT
    }

    /// What was done for it, in documents read.
    fn effort(&self) -> f64 {
        match self.left {
            Some(_) => self.looked as f64 + self.passed(),
            None => self.walk.examined.keys as f64 / KEYS_PER_DOCUMENT,
        }
    }

    /// Looks at as much again as it has looked at, but not at much more than what is known to be enough.
    fn go_on(&mut self, race: &Race<'_>, enough: Option<f64>) -> Result<()> {
        let (read, collection) = (race.read, race.collection);
        let Some(left) = self.left else {
            let keys = self.walk.examined.keys.max(FIRST_KEYS);
            let until = self.walk.examined.keys + keys;
            self.looked += self.walk.count_on(read, collection, u64::MAX, keys)?;
            if self.walk.examined.keys < until {
                self.state = State::Arrived;
            }
            return Ok(());
        };
        let enough = enough.map_or(u64::MAX, |enough| enough as u64 + 1);
        let until = self.looked.max(FIRST_DOCUMENTS) + self.looked;
        let until = until.min(enough).max(self.looked + 1);
        self.walk.most_keys = self.walk.examined.keys + FIRST_KEYS.max(until * KEYS_PER_DOCUMENT as u64);
        let (mut looked, mut found) = (self.looked, 0);
        let plan = &self.plan;
        let walked = self.walk.go_on(read, collection, &mut |_, document| {
            looked += 1;
            found += u64::from(search::test(race.query, plan, document)?);
            Ok(match looked >= until || found >= left {
                true => Flow::Stop,
                false => Flow::Continue,
            })
        });
        self.looked = looked;
        self.left = Some(left - found);
        match walked {
            Ok(false) if found < left => {}
            Ok(_) => self.state = State::Arrived,
            Err(fault) if is_fatal(&fault) => return Err(fault),
            Err(_) => self.state = State::Out,
        }
        Ok(())
    }
}
