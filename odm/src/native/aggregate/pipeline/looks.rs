//! The paths of documents at which stages look, where those are not all.

use super::super::super::kept::Kept;
use super::super::super::matcher::Changes;
use super::super::super::needs::Needs;
use super::super::stage::Stage;
use super::Pipeline;

/// What a stage asks of the documents that it is given.
enum Asks {
    /// All that they have.
    All,
    /// Some fields, and it lets all through.
    Some,
    /// Some fields, and nothing else of them is left behind it.
    Last,
}

impl Pipeline {
    /// The fields of documents at which the stages from this position on look, where those are not all.
    pub(crate) fn kept_from(&self, position: usize) -> Option<Kept> {
        let mut needs = Needs::default();
        // How a document was found may show in any of its fields.
        let is_known = self.wanted.is_empty() && self.add_needs(position, &mut needs);
        is_known.then(|| Kept::of(&needs))
    }

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
        if let Some(needs) = self.needs_behind(first, behind) {
            let before = self.stages.iter().take(from).skip(first).map(leaving).collect();
            self.keep_from(from, &needs, before);
        }
    }

    /// Tells the orders from this position on, behind stages that leave this, what is left of documents.
    fn keep_from(&mut self, from: usize, needs: &Needs, mut before: Vec<Option<Changes>>) {
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
                Stage::Facet(facet) => facet.pipelines().for_each(|inner| {
                    inner.keep_from(0, needs, before.clone());
                }),
                _ => {}
            }
            before.push(leaving(stage));
        }
    }

    /// Tells the orders of pipelines that read other collections.
    fn keep_inside(&mut self, beginning: &Beginning<'_>) {
        for at in 0..self.stages.len() {
            let (before, behind) = self.stages.split_at_mut(at + 1);
            let above = match before.last() {
                Some(Stage::UnionWith(_)) => needs_of_made(behind),
                _ => None,
            };
            let Some((collection, inner)) = before.last_mut().and_then(Stage::nested_mut) else {
                continue;
            };
            let is_whole = collection.is_none_or(beginning.keeps_whole);
            let is_filter = |stage: &&Stage| matches!(stage, Stage::Match(_));
            let is_bound = |stage: &&Stage| matches!(stage, Stage::Skip(_) | Stage::Limit(_));
            let filters = inner.stages.iter().take_while(is_filter).count();
            let bounds = inner.stages.iter().skip(filters).take_while(is_bound).count();
            inner.keep_for_orders(&Beginning {
                first: filters + bounds,
                is_bounded: bounds > 0,
                is_whole,
                behind: above.as_ref(),
                keeps_whole: beginning.keeps_whole,
            });
        }
    }

    /// The paths at which the stages from this position on look, and what is behind them, where these are not all.
    fn needs_behind(&self, first: usize, behind: Option<&Needs>) -> Option<Needs> {
        let mut needs = Needs::default();
        for stage in self.stages.iter().skip(first) {
            match asks(stage, &mut needs) {
                Asks::All => return None,
                Asks::Some => {}
                Asks::Last => return Some(needs),
            }
        }
        behind.map(|behind| needs.and(behind))
    }

    /// Adds the paths at which the stages from this position on look; `false` where these are not all.
    pub(crate) fn add_needs(&self, position: usize, needs: &mut Needs) -> bool {
        for stage in self.stages.iter().skip(position) {
            match asks(stage, needs) {
                Asks::All => return false,
                Asks::Some => {}
                Asks::Last => return true,
            }
        }
        false
    }
}

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

/// What the stages ask that make one document of one, if they leave nothing else of it: a server has a union's pipeline do that.
fn needs_of_made(stages: &[Stage]) -> Option<Needs> {
    let mut needs = Needs::default();
    let makes = |stage: &&Stage| matches!(stage, Stage::Match(_) | Stage::Transform(_));
    for stage in stages.iter().take_while(makes) {
        match asks(stage, &mut needs) {
            Asks::All => return None,
            Asks::Some => {}
            Asks::Last => return Some(needs),
        }
    }
    None
}

/// What the stage does to paths that an order behind it may go by; none where that is not known, or all is made anew.
fn leaving(stage: &Stage) -> Option<Changes> {
    match stage {
        Stage::Match(_) | Stage::Sort(_) | Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) => {
            Some(Changes::only(Vec::new()))
        }
        Stage::Transform(own) => own.changes(),
        Stage::Unwind(own) => Some(own.changes()),
        other => other.joined().map(|path| Changes::only(vec![path.join(".")])),
    }
}

fn asks(stage: &Stage, needs: &mut Needs) -> Asks {
    let (is_known, is_last) = match stage {
        Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) | Stage::UnionWith(_) => (true, false),
        Stage::Match(own) => (own.matcher().root().add_needs(needs), false),
        Stage::Sort(own) => (own.spec().add_needs(needs), false),
        Stage::Unwind(own) => {
            own.add_needs(needs);
            (true, false)
        }
        Stage::Densify(own) => {
            own.add_needs(needs);
            (true, false)
        }
        Stage::Transform(own) => (own.add_needs(needs), own.ends_document()),
        Stage::Lookup(own) => (own.add_needs(needs), false),
        Stage::GraphLookup(own) => (own.add_needs(needs), false),
        Stage::Windows(own) => (own.add_needs(needs), false),
        Stage::Fill(own) => (own.add_needs(needs), false),
        Stage::Group(own) => (own.add_needs(needs), true),
        Stage::BucketAuto(own) => (own.add_needs(needs), true),
        Stage::Facet(own) => (own.add_needs(needs), true),
        Stage::Count(_) => (true, true),
        Stage::Redact(_) | Stage::GeoNear(_) | Stage::Statistics(_) | Stage::Documents(_) => (false, false),
    };
    match (is_known, is_last) {
        (false, _) => Asks::All,
        (true, false) => Asks::Some,
        (true, true) => Asks::Last,
    }
}
