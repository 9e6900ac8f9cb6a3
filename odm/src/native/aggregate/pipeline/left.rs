//! What is left of documents that are read before orders go by them: a server reads no more than its stages look at.

use super::super::super::matcher::Changes;
use super::super::super::needs::Needs;
use super::super::stage::Stage;
use super::Pipeline;
use super::looks::{Asks, looks};

/// So many stages are looked through for orders.
const MOST_KEPT: usize = 100;

/// What is known of the documents that stages are given.
#[derive(Clone, Copy)]
pub(crate) struct Beginning<'a> {
    /// The stage that gets the documents that are read.
    pub(crate) first: usize,
    /// Whether some of them are passed over, or left.
    pub(crate) is_bounded: bool,
    /// Whether they are read whole, whatever is asked of them.
    pub(crate) is_whole: bool,
    /// What is asked of what the last stage gives, where that is not all.
    pub(crate) behind: Option<&'a Needs>,
    /// Whether documents of the collection of this name are read whole.
    pub(crate) keeps_whole: &'a dyn Fn(&str) -> bool,
}

impl Pipeline {
    /// Tells orders what is left of the documents that are read for the stages from a position on, where these do not look at
    /// all of them: a server reads no more. An order at the beginning is part of the read: it is of what is left where that has
    /// all that it goes by, if the order keeps all documents.
    pub(crate) fn keep_for_orders(&mut self, beginning: &Beginning<'_>) {
        self.keep_inside(beginning);
        let Beginning {
            first,
            is_bounded,
            is_whole,
            behind,
            ..
        } = *beginning;
        let orders = |stage: &Stage| matches!(stage, Stage::Sort(_) | Stage::Facet(_));
        if is_whole || !self.wanted.is_empty() || !self.stages.iter().skip(first).any(orders) {
            return;
        }
        let mut from = first;
        if let (Some(Stage::Sort(_)), false) = (self.stages.get(first), is_bounded) {
            from += 1;
            let needs = self.needs_behind(from, behind);
            if let (Some(needs), Some(Stage::Sort(sort))) = (needs, self.stages.get_mut(first))
                && sort.limit.is_none()
                && sort.spec().is_within(&needs)
            {
                sort.keep(&needs);
            }
        }
        if let Some(needs) = self.needs_behind(from, behind) {
            self.keep_from(from, &needs, &mut Vec::new());
        }
    }

    /// Tells the orders from this position on, behind stages that leave this, what is left of documents.
    fn keep_from(&mut self, from: usize, needs: &Needs, before: &mut Vec<Option<Changes>>) {
        let outer = before.len();
        for (count, stage) in self.stages.iter_mut().skip(from).enumerate() {
            match stage {
                Stage::Sort(sort) if count < MOST_KEPT => {
                    let is_same = |changes: &Option<Changes>| {
                        changes.as_ref().is_some_and(|changes| sort.is_before(changes))
                    };
                    if before.iter().all(is_same) {
                        sort.keep(needs);
                    }
                }
                Stage::Facet(facet) => facet
                    .pipelines()
                    .for_each(|inner| inner.keep_from(0, needs, before)),
                _ => {}
            }
            before.push(leaving(stage));
        }
        before.truncate(outer);
    }

    /// Tells the orders of pipelines that read other collections.
    pub(crate) fn keep_inside(&mut self, beginning: &Beginning<'_>) {
        for at in 0..self.stages.len() {
            let (before, behind) = self.stages.split_at_mut(at + 1);
            let Some(stage) = before.last_mut() else {
                continue;
            };
            let above = match stage {
                Stage::Facet(facet) => {
                    let beginning = Beginning {
                        behind: None,
                        ..*beginning
                    };
                    facet.pipelines().for_each(|inner| inner.keep_inside(&beginning));
                    continue;
                }
                Stage::UnionWith(_) => needs_of_made(behind, beginning.behind),
                _ => None,
            };
            let kept = stage.first_apart();
            let Some((collection, inner)) = stage.nested_mut() else {
                continue;
            };
            let is_filter = |stage: &&Stage| matches!(stage, Stage::Match(_));
            let is_bound = |stage: &&Stage| matches!(stage, Stage::Skip(_) | Stage::Limit(_));
            let filters = inner.stages.iter().take_while(is_filter).count();
            let bounds = inner.stages.iter().skip(filters).take_while(is_bound).count();
            // What is kept for all is read whole, unless that leaves no more than is named.
            let is_kept = kept > 0
                && !matches!(
                    looks(inner.stages.iter().take(kept), &mut Needs::default()),
                    Asks::Last
                );
            inner.keep_for_orders(&Beginning {
                first: filters + bounds,
                is_bounded: bounds > 0,
                is_whole: is_kept || collection.is_none_or(beginning.keeps_whole),
                behind: above.as_ref(),
                keeps_whole: beginning.keeps_whole,
            });
        }
    }

    /// The paths at which the stages from this position on look, and what is behind them, where these are not all.
    fn needs_behind(&self, first: usize, behind: Option<&Needs>) -> Option<Needs> {
        let mut needs = Needs::default();
        match looks(self.stages.iter().skip(first), &mut needs) {
            Asks::All => None,
            Asks::Some => behind.map(|behind| needs.and(behind)),
            Asks::Last => Some(needs),
        }
    }
}

/// What the stages ask that make one document of one, and what is behind them if there are no others, where that is not all: a
/// server has a union's pipeline do that.
fn needs_of_made(stages: &[Stage], behind: Option<&Needs>) -> Option<Needs> {
    let mut needs = Needs::default();
    let makes = |stage: &&Stage| matches!(stage, Stage::Match(_) | Stage::Transform(_));
    match looks(stages.iter().take_while(makes), &mut needs) {
        Asks::All => None,
        Asks::Some => behind
            .filter(|_| stages.iter().all(|stage| makes(&stage)))
            .map(|behind| needs.and(behind)),
        Asks::Last => Some(needs),
    }
}

/// What the stage does to paths that an order behind it may go by; none where that is not known, or all is made anew.
fn leaving(stage: &Stage) -> Option<Changes> {
    match stage {
        Stage::Match(_) | Stage::Sort(_) | Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) => {
            Some(Changes::only(Vec::new()))
        }
        Stage::Transform(own) => own.changes(),
        Stage::Unwind(own) => Some(own.changes()),
        Stage::Windows(own) => Some(own.changes()),
        other => other.joined().map(|path| Changes::only(vec![path.join(".")])),
    }
}
