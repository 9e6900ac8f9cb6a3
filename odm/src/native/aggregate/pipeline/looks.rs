//! The paths of documents at which stages look, where those are not all.

use super::super::super::kept::Kept;
use super::super::super::matcher::Changes;
use super::super::super::needs::Needs;
use super::super::stage::{Sort, Stage};
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

    /// Tells orders what is left of the documents that are read for the stages from this position on, where these do not look
    /// at all of them: a server reads no more. An order at the beginning, if it is not `bounded` before, is part of the read: it
    /// is of what is left where that has all that it goes by.
    pub(crate) fn keep_for_orders(&mut self, first: usize, bounded: bool) {
        let is_order = |stage: &Stage| matches!(stage, Stage::Sort(_));
        if !self.wanted.is_empty() || !self.stages.iter().skip(first).any(is_order) {
            return;
        }
        let is_read = self.stages.get(first).is_some_and(is_order) && !bounded;
        let needs = |first| {
            let mut needs = Needs::default();
            self.add_needs(first, &mut needs).then_some(needs)
        };
        let (of_all, behind) = (needs(first), needs(first + 1));
        let computes = self
            .inclusion_at(first + 1)
            .is_some_and(|projection| !projection.only_keeps());
        for at in first..self.stages.len() {
            let (before, rest) = self.stages.split_at_mut(at);
            let Some(Stage::Sort(sort)) = rest.first_mut() else {
                continue;
            };
            let needs = match at == first && is_read {
                true => behind
                    .as_ref()
                    .filter(|needs| !computes && sort.limit.is_none() && sort.spec().is_within(needs)),
                false => of_all
                    .as_ref()
                    .filter(|_| before[first..].iter().all(|stage| leaves(stage, sort))),
            };
            if let Some(needs) = needs {
                sort.keep(needs);
            }
        }
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

/// Whether what an order goes by is the same before the stage.
fn leaves(stage: &Stage, sort: &Sort) -> bool {
    match stage {
        Stage::Match(_) | Stage::Sort(_) | Stage::Skip(_) | Stage::Limit(_) | Stage::Sample(_) => true,
        Stage::Transform(own) => own.changes().is_some_and(|changes| sort.is_before(&changes)),
        Stage::Unwind(own) => sort.is_before(&own.changes()),
        other => other
            .joined()
            .is_some_and(|path| sort.is_before(&Changes::only(vec![path.join(".")]))),
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
