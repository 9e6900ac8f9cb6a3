//! Which groups and lookups a server runs by other means than the later stages: those that come early, where it reads a
//! collection by those means too. They have other codes, and some other values.

use super::super::super::matcher::ast::{Node, Predicate, is_index};
use super::super::super::sort::SortSpec;
use super::super::stage::{Stage, goes_with_early};
use super::super::transform::TransformStage;
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

    /// Tells groups that have nothing but filters, orders, bounds, lookups and one inclusion before them; one behind another
    /// group has nothing between. What a bound let through is filtered and ordered later.
    fn mark_early_groups(&mut self) {
        let mut is_projected = false;
        let mut made: Vec<String> = Vec::new();
        let mut is_bounded = false;
        let mut is_grouped = false;
        for (at, stage) in self.stages.iter_mut().enumerate() {
            match stage {
                Stage::Transform(TransformStage::Project(own))
                    if !is_projected && made.is_empty() && !is_grouped && own.only_keeps() =>
                {
                    is_projected = true;
                }
                // One that could not be asked first is asked later.
                Stage::Match(filter) => {
                    if at > 0 || !is_early(filter.matcher().root()) {
                        return;
                    }
                }
                // An order stays behind an inclusion.
                Stage::Sort(sort) => {
                    let stays = is_bounded || is_projected || is_grouped || sort.is_by_any(&made);
                    if stays || !is_early_order(sort.spec()) {
                        return;
                    }
                }
                Stage::Skip(_) | Stage::Limit(_) => {
                    if is_grouped {
                        return;
                    }
                    is_bounded = true;
                }
                Stage::Lookup(lookup) if lookup.is_by_fields() => {
                    made.extend(lookup.made().map(str::to_owned));
                }
                Stage::Group(group) => {
                    // Documents that nothing is read of are counted.
                    if (!is_grouped && !group.reads_document()) || !group.set_early() {
                        return;
                    }
                    if group.is_ordered() {
                        return;
                    }
                    is_grouped = true;
                }
                _ => return,
            }
        }
    }

    /// Tells lookups that have nothing but filters, orders, bounds, one inclusion and such lookups before them.
    fn mark_early_lookups(&mut self, is_view: &dyn Fn(&str) -> bool) {
        let (mut is_projected, mut is_bounded) = (false, false);
        let mut made: Vec<String> = Vec::new();
        for at in 0..self.stages.len() {
            let (stages, later) = self.stages.split_at_mut(at + 1);
            match stages.last_mut() {
                // What a bound let through is filtered and ordered later.
                Some(Stage::Match(filter)) if at == 0 && is_early(filter.matcher().root()) => {}
                Some(Stage::Sort(sort))
                    if !is_bounded
                        && !is_projected
                        && !sort.is_by_any(&made)
                        && is_early_order(sort.spec()) => {}
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
