//! What is known of the stages together: where they may stand, and how much of an order is wanted.

use super::super::super::matcher::Matcher;
use super::super::super::sort::SortSpec;
use super::super::stage::{Match, Sort, Stage};
use super::Pipeline;

impl Pipeline {
    /// Asks filters as early as they can be asked, orders documents before they are taken apart and joined, leaves out a
    /// `$sort` that another undoes, and passes over documents before they are computed: then they cannot fail.
    pub(super) fn rearrange(&mut self) {
        let mut stages: Vec<Stage> = Vec::with_capacity(self.stages.len());
        for stage in self.stages.drain(..) {
            place(&mut stages, stage);
        }
        self.stages = stages;
    }

    /// Filters what the pipeline gives by a query's filter.
    pub(crate) fn filter_by(&mut self, filter: &Matcher) {
        self.filter(Match::of(filter.clone()));
    }

    /// Brings what the pipeline gives in order, and takes a part of it: so many behind so many, all of them if 0.
    pub(crate) fn order_by(&mut self, order: Option<&SortSpec>, (skip, limit): (u64, u64)) {
        let order = order.map(|order| Stage::Sort(Box::new(Sort::by(order.clone()))));
        let limit = (limit > 0).then_some(Stage::Limit(limit));
        for stage in order.into_iter().chain([Stage::Skip(skip)]).chain(limit) {
            place(&mut self.stages, stage);
        }
        self.bound_sorts();
    }

    /// Filters what the pipeline gives.
    pub(in super::super) fn filter(&mut self, filter: Match) {
        place_filter(&mut self.stages, filter);
        self.bound_sorts();
    }

    /// A `$sort` before a `$limit` keeps only what the limit lets through.
    pub(super) fn bound_sorts(&mut self) {
        for index in 0..self.stages.len() {
            let mut wanted: u64 = 0;
            let mut limit = None;
            for stage in &self.stages[index + 1..] {
                match stage {
                    Stage::Skip(count) => wanted = wanted.saturating_add(*count),
                    Stage::Limit(count) => {
                        limit = Some(wanted.saturating_add(*count));
                        break;
                    }
                    _ => break,
                }
            }
            if let Stage::Sort(sort) = &mut self.stages[index] {
                sort.limit = limit;
            }
        }
    }
}

/// Puts a stage behind the stages, or in front of those that it goes before.
fn place(stages: &mut Vec<Stage>, stage: Stage) {
    let mut at = stages.len();
    match stage {
        Stage::Skip(0) => return,
        Stage::Match(filter) => return place_filter(stages, *filter),
        Stage::Sort(_) => at = place_of_sort(stages, &stage),
        Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) => {
            let keeps = |stage: &Stage| matches!(stage, Stage::Transform(_) | Stage::Lookup(_));
            at -= stages.iter().rev().take_while(|stage| keeps(stage)).count();
        }
        _ => {}
    }
    stages.insert(at, stage);
}

/// Puts a filter behind the stages, and each part of it in front of those that it may be asked before.
fn place_filter(stages: &mut Vec<Stage>, mut filter: Match) {
    let mut at = stages.len();
    loop {
        // Of the filter that may stand there already it becomes a part.
        let neighbor = match at.checked_sub(1).map(|before| (before, &stages[before])) {
            Some((before, Stage::Match(own))) if own.text_filter().is_none() => Some(before),
            _ => None,
        };
        let passed = neighbor.unwrap_or(at).checked_sub(1);
        let (ahead, behind) = match passed {
            Some(passed) => past(&mut stages[passed], filter),
            None => (None, Some(filter)),
        };
        if let Some(behind) = behind {
            match neighbor.map(|neighbor| &mut stages[neighbor]) {
                Some(Stage::Match(own)) => **own = own.and(&behind),
                _ => stages.insert(at, Stage::Match(Box::new(behind))),
            }
        }
        let (Some(ahead), Some(passed)) = (ahead, passed) else {
            return;
        };
        filter = ahead;
        at = passed;
    }
}

/// What of a filter behind the stage is asked before it, and what behind it.
fn past(stage: &mut Stage, filter: Match) -> (Option<Match>, Option<Match>) {
    match stage {
        Stage::UnionWith(union) => {
            union.filter(filter.clone());
            (Some(filter), None)
        }
        Stage::Redact(_) => (filter.lasting(), Some(filter)),
        stage => match stage.changes(&filter) {
            Some(changes) => filter.split(&changes),
            None => (None, Some(filter)),
        },
    }
}

/// Where a `$sort` behind the stages is done, of which those that it undoes are left out.
fn place_of_sort(stages: &mut Vec<Stage>, stage: &Stage) -> usize {
    let mut at = stages.len();
    let Stage::Sort(sort) = stage else { return at };
    let keeps = |at: usize| match &stages[at] {
        Stage::Lookup(lookup) => lookup
            .made()
            .is_some_and(|made| !sort.is_by_any(&[made.to_owned()])),
        // What a join has made is taken apart by the join.
        Stage::Unwind(unwind) => {
            let joined = at.checked_sub(1).and_then(|before| stages[before].joined());
            !joined.is_some_and(|path| unwind.is_of(path)) && sort.is_before(&unwind.changes())
        }
        _ => false,
    };
    while at > 0 && keeps(at - 1) {
        at -= 1;
    }
    while at > 0 && matches!(stages[at - 1], Stage::Sort(_)) {
        at -= 1;
        stages.remove(at);
    }
    at
}
