//! Which groups and lookups a server runs by other means than the later stages: those that come early, where it reads a
//! collection by those means too. They have other codes, and some other values.

use super::super::super::matcher::Matcher;
use super::super::super::matcher::ast::{Node, Predicate, is_index};
use super::super::super::sort::SortSpec;
use super::super::stage::{Sort, Stage, goes_with_early, is_early_operator};
use super::super::transform::{Projection, TransformStage};
use super::Pipeline;

/// What has a name that a pipeline reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A collection, or nothing.
    Collection,
    /// A collection that is kept by its `_id`: no server reads it by those means.
    Clustered,
    View,
}

impl Pipeline {
    /// Tells the early groups and lookups of a pipeline that reads this name, and of those that `$unionWith` has.
    pub(crate) fn mark_early(&mut self, name: &str, read: &dyn Fn(&str) -> Read) {
        if read(name) == Read::Collection {
            self.mark_early_groups();
            self.mark_early_lookups(&|from| read(from) == Read::View);
        }
        for stage in &mut self.stages {
            if let Stage::UnionWith(union) = stage {
                union.mark_early(read);
            }
        }
    }

    /// Tells groups that have nothing but filters, orders, bounds, lookups and one projection before them; one behind another
    /// group has nothing between. What a bound let through is filtered and ordered later.
    fn mark_early_groups(&mut self) {
        let mut before = Before::default();
        let mut is_grouped = false;
        for at in 0..self.stages.len() {
            match &mut self.stages[at] {
                Stage::Transform(TransformStage::Project(own)) if !is_grouped && before.takes(own) => {
                    before.add(own, at);
                }
                // One that could not be asked first is asked later.
                Stage::Match(filter) => {
                    if at > 0 || !can_be_early(filter.matcher()) {
                        return;
                    }
                }
                Stage::Sort(sort) => {
                    if is_grouped || !before.sorts_by(sort) {
                        return;
                    }
                    before.is_ordered = true;
                }
                Stage::Skip(_) | Stage::Limit(_) => {
                    if is_grouped || before.computing.is_some() {
                        return;
                    }
                    before.is_bounded = true;
                }
                Stage::Lookup(lookup) if lookup.is_by_fields() => {
                    before.made.extend(lookup.made().map(str::to_owned));
                }
                Stage::Group(group) => {
                    // Documents that nothing is read of are counted.
                    let is_read = is_grouped || before.computing.is_some() || group.reads_document();
                    if !is_read || !group.set_early() {
                        return;
                    }
                    is_grouped = true;
                    let is_last = group.is_ordered();
                    self.mark_early_projection(&before);
                    if is_last {
                        return;
                    }
                }
                // It is a group, and something behind it.
                Stage::Count(_) => {
                    self.mark_early_projection(&before);
                    return;
                }
                _ => return,
            }
        }
    }

    /// Tells lookups that have nothing but filters, orders, bounds, one projection and such lookups before them.
    fn mark_early_lookups(&mut self, is_view: &dyn Fn(&str) -> bool) {
        let mut before = Before::default();
        for at in 0..self.stages.len() {
            let (stages, later) = self.stages.split_at_mut(at + 1);
            match stages.last_mut() {
                // What a bound let through is filtered and ordered later.
                Some(Stage::Match(filter)) if at == 0 && can_be_early(filter.matcher()) => {}
                Some(Stage::Sort(sort)) if before.sorts_by(sort) => before.is_ordered = true,
                Some(Stage::Skip(_) | Stage::Limit(_)) if before.computing.is_none() => {
                    before.is_bounded = true;
                }
                Some(Stage::Transform(TransformStage::Project(own))) if before.takes(own) => {
                    before.add(own, at);
                }
                Some(Stage::Lookup(lookup)) => {
                    if !lookup.set_early(is_view, later) {
                        return;
                    }
                    before.made.extend(lookup.made().map(str::to_owned));
                    self.mark_early_projection(&before);
                }
                _ => return,
            }
        }
    }

    /// Tells the projection that computes before an early stage.
    fn mark_early_projection(&mut self, before: &Before) {
        let computing = before.computing.and_then(|at| self.stages.get_mut(at));
        if let Some(Stage::Transform(TransformStage::Project(own))) = computing {
            own.set_early();
        }
    }
}

/// What stands before a stage that may be early.
#[derive(Default)]
struct Before {
    is_ordered: bool,
    is_bounded: bool,
    is_projected: bool,
    /// Where the projection stands, if it computes.
    computing: Option<usize>,
    /// The fields that lookups make.
    made: Vec<String>,
}

impl Before {
    /// Whether a server can have the projection there: one that computes, with no order and no bound beside it.
    fn takes(&self, own: &Projection) -> bool {
        let computes = || !self.is_ordered && !self.is_bounded && own.all_operators(&is_early_operator);
        !self.is_projected && self.made.is_empty() && own.is_inclusive() && (own.only_keeps() || computes())
    }

    fn add(&mut self, own: &Projection, at: usize) {
        self.is_projected = true;
        self.computing = (!own.only_keeps()).then_some(at);
    }

    /// Whether a server can have the order there: it stays behind a projection and a bound.
    fn sorts_by(&self, sort: &Sort) -> bool {
        !self.is_bounded && !self.is_projected && !sort.is_by_any(&self.made) && is_early_order(sort.spec())
    }
}

/// The same of a whole filter, in which there is no schema, whatever it asks.
fn can_be_early(filter: &Matcher) -> bool {
    !filter.has_schema() && is_early(filter.root())
}

/// Whether a server reads by this filter with those means: they know no positions in arrays, no conditions on whole
/// elements, no schemas and no geometries.
fn is_early(node: &Node) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().all(is_early),
        Node::Always | Node::Never | Node::Text(_) => true,
        Node::Field { path, predicate } => {
            path.segments().iter().all(|segment| !is_index(&segment.name)) && knows(predicate)
        }
        Node::Expr(expression) => goes_with_early(expression),
        Node::Near(_) | Node::Schema(_) | Node::Sample(_) => false,
    }
}

fn knows(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Geo(_) | Predicate::ElementValue(_) => false,
        Predicate::ElementObject(node) => is_early(node),
        Predicate::Not(inner) | Predicate::Collated { inner, .. } => knows(inner),
        Predicate::And(parts) => parts.iter().all(knows),
        _ => true,
    }
}

fn is_early_order(order: &SortSpec) -> bool {
    order
        .fields
        .iter()
        .all(|field| field.by.is_none() && !field.path.split('.').any(is_index))
}
