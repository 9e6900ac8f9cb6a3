//! What is known of the stages together: where they may stand, and which ones a server runs by other means.

use super::super::stage::Stage;
use super::super::transform::TransformStage;
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
                let keeps = |stage: &Stage| {
                    matches!(
                        stage,
                        Stage::Transform(_) | Stage::Lookup(_) | Stage::GraphLookup(_)
                    )
                };
                at -= stages.iter().rev().take_while(|stage| keeps(stage)).count();
            }
            stages.insert(at, stage);
        }
        self.stages = stages;
    }

    /// Tells groups that have nothing but filters, orders, bounds and one inclusion before them.
    pub(crate) fn mark_early_groups(&mut self) {
        let mut kept: Option<Vec<String>> = None;
        let mut is_first = true;
        for stage in &mut self.stages {
            match (stage, &kept) {
                (Stage::Transform(TransformStage::Project(own)), None) if own.only_keeps() => {
                    kept = Some(own.kept().map(str::to_owned).collect());
                }
                // An order, and a filter of what is gone, stay behind the inclusion.
                (Stage::Sort(_), Some(_)) => return,
                (Stage::Match(filter), Some(kept)) if !filter.matcher().root().is_of(kept) => return,
                (Stage::Group(group), _) => {
                    // Documents that nothing is read of are counted.
                    if (is_first && !group.reads_document()) || !group.set_early() {
                        return;
                    }
                    is_first = false;
                }
                (Stage::Match(_) | Stage::Sort(_) | Stage::Skip(_) | Stage::Limit(_), _) => {}
                (Stage::Lookup(lookup), _) if lookup.is_by_fields() => {}
                _ => return,
            }
        }
    }

    /// Tells lookups that have nothing but filters, orders, bounds, one inclusion and such lookups before them.
    pub(crate) fn mark_early_lookups(&mut self, is_view: &dyn Fn(&str) -> bool) {
        let (mut is_projected, mut is_bounded) = (false, false);
        let mut made: Vec<String> = Vec::new();
        for at in 0..self.stages.len() {
            let (stages, later) = self.stages.split_at_mut(at + 1);
            match stages.last_mut() {
                // What a bound let through is filtered and ordered later.
                Some(Stage::Match(_)) if !is_bounded => {}
                Some(Stage::Sort(sort)) if !is_bounded && !is_projected && !sort.is_by_any(&made) => {}
                Some(Stage::Skip(0)) => {}
                Some(Stage::Skip(_) | Stage::Limit(_)) => is_bounded = true,
                Some(Stage::Transform(TransformStage::Project(own)))
                    if !is_projected && made.is_empty() && own.is_inclusive() =>
                {
                    is_projected = true;
                }
                Some(Stage::Lookup(lookup)) => {
                    if !lookup.set_early(is_view, later) {
                        return;
                    }
                    made.extend(lookup.made().map(str::to_owned));
                }
                _ => return,
            }
        }
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
