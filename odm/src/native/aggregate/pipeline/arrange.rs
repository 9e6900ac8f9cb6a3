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
        self.join_bounds();
    }

    /// Makes one of bounds of the same kind that stand side by side.
    fn join_bounds(&mut self) {
        self.stages.dedup_by(|next, stage| match (stage, next) {
            (Stage::Skip(count), Stage::Skip(more)) => match count.checked_add(*more) {
                Some(sum) => {
                    *count = sum;
                    true
                }
                None => false,
            },
            (Stage::Limit(count), Stage::Limit(other)) => {
                *count = (*count).min(*other);
                true
            }
            _ => false,
        });
    }

    /// Lets the read of a collection, and an order at the beginning, pass over documents and stop, instead of what comes
    /// behind stages that give one document for each. What a bound was in the way of is asked earlier then.
    pub(super) fn bound_reads(&mut self) {
        if self.move_bounds() {
            self.rearrange();
        }
    }

    /// Puts bounds where the read of a collection has them; whether one was elsewhere.
    fn move_bounds(&mut self) -> bool {
        let mut moves = false;
        let leading = |stage: &&Stage| matches!(stage, Stage::Match(_));
        let mut first = self.stages.iter().take_while(leading).count();
        first += usize::from(matches!(self.stages.get(first), Some(Stage::Sort(_))));
        let mut behind = first;
        for at in first..self.stages.len() {
            match &self.stages[at] {
                Stage::Skip(_) | Stage::Limit(_) => {
                    moves |= at > behind;
                    self.stages[behind..=at].rotate_right(1);
                    behind += 1;
                }
                stage if stage.keeps_count() => {}
                _ => break,
            }
        }
        moves
    }

    /// Filters what the pipeline gives by a query's filter.
    pub(crate) fn filter_by(&mut self, filter: &Matcher) {
        if !filter.asks_nothing() {
            self.filter(Match::of(filter.clone()));
        }
    }

    /// Brings what the pipeline gives in order, and takes a part of it: so many behind so many, all of them if 0.
    pub(crate) fn order_by(&mut self, order: Option<&SortSpec>, (skip, limit): (u64, u64)) {
        let order = order.map(|order| Stage::Sort(Box::new(Sort::by(order.clone()))));
        let limit = (limit > 0).then_some(Stage::Limit(limit));
        for stage in order.into_iter().chain([Stage::Skip(skip)]).chain(limit) {
            place(&mut self.stages, stage);
        }
        self.bound_reads();
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
                    stage if stage.keeps_count() => {}
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
        _ if stage.sorts() => {
            while matches!(stages.last(), Some(Stage::Sort(_))) {
                stages.pop();
            }
            at = stages.len();
        }
        Stage::Skip(_) => at = place_behind(stages, |stage| matches!(stage, Stage::Transform(_))),
        Stage::Sample(_) => at = place_behind(stages, Stage::keeps_count),
        // A sort that may stop stops.
        Stage::Limit(_) => {
            let bounds = |stage: &Stage| matches!(stage, Stage::Skip(_) | Stage::Limit(_));
            let sort = stages
                .iter()
                .rfind(|stage| !stage.keeps_count() && !bounds(stage));
            if matches!(sort, Some(Stage::Sort(_))) {
                at = place_behind(stages, Stage::keeps_count);
            }
        }
        _ => {}
    }
    stages.insert(at, stage);
}

/// Where a stage is put that goes before stages of these kinds. What a union's documents are made into they are made into
/// before they are united.
fn place_behind(stages: &[Stage], goes_before: impl Fn(&Stage) -> bool) -> usize {
    let is_transform = |stage: &&Stage| matches!(stage, Stage::Transform(_));
    let last_union = stages
        .iter()
        .rposition(|stage| matches!(stage, Stage::UnionWith(_)));
    let first = last_union.map_or(0, |union| {
        let of_both = stages[union + 1..].iter().take_while(is_transform).count();
        union + 1 + of_both
    });
    let passed = stages[first..].iter().rev();
    stages.len() - passed.take_while(|stage| goes_before(stage)).count()
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
