//! What is known of the stages together: where they may stand, and how much of an order is wanted.

use super::super::stage::Stage;
use super::Pipeline;

impl Pipeline {
    /// Orders documents before they are joined, leaves out a `$sort` that another undoes, and passes over documents before
    /// they are computed: then they cannot fail.
    pub(super) fn rearrange(&mut self) {
        let mut stages: Vec<Stage> = Vec::with_capacity(self.stages.len());
        for stage in self.stages.drain(..) {
            let mut at = stages.len();
            if let Stage::Sort(sort) = &stage {
                let keeps = |stage: &Stage| match stage {
                    Stage::Lookup(lookup) => lookup
                        .made()
                        .is_some_and(|made| !sort.is_by_any(&[made.to_owned()])),
                    _ => false,
                };
                at -= stages.iter().rev().take_while(|stage| keeps(stage)).count();
                while at > 0 && matches!(stages[at - 1], Stage::Sort(_)) {
                    at -= 1;
                    stages.remove(at);
                }
            }
            if matches!(stage, Stage::Skip(_) | Stage::Limit(_)) {
                let keeps = |stage: &Stage| matches!(stage, Stage::Transform(_) | Stage::Lookup(_));
                at -= stages.iter().rev().take_while(|stage| keeps(stage)).count();
            }
            stages.insert(at, stage);
        }
        self.stages = stages;
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
