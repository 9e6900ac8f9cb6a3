//! One index for one request: which ranges it takes, what order it gives, what it would cost.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use self::fields::field_bounds;
use super::super::index::Order;
use super::super::matcher::ast::{Node, Predicate};
use super::bounds::{Bounds, Place, bounds};
use super::computed;
use super::interval::Intervals;
use super::{Access, IndexView, KeyRange, Plan, PlanRequest, Tail};

mod fields;
mod order;

/// How many ranges one scan may have; further fields are left to the recheck.
const MOST_RANGES: usize = 4096;
/// How many documents a collection is taken to have.
const DOCUMENTS: f64 = 10_000.0;

/// One of the conditions that every match satisfies.
#[derive(Clone, Debug)]
pub(super) struct Conjunct<'n> {
    pub(super) path: String,
    pub(super) predicate: &'n Predicate,
    /// The `$elemMatch` that it is in, and where its own path starts in `path`; 0 is none.
    pub(super) group: usize,
    relative: usize,
}

impl<'n> Conjunct<'n> {
    /// The conditions on single paths that a filter is a conjunction of; others are left out.
    pub(super) fn of(root: &'n Node) -> Vec<Conjunct<'n>> {
        let mut found = Vec::new();
        let mut groups = 0;
        collect(root, "", 0, &mut groups, &mut found);
        found
    }

    /// How many names the path of its `$elemMatch` has.
    fn depth(&self) -> usize {
        self.path[..self.relative].matches('.').count()
    }

    /// The first name of its path inside its `$elemMatch`.
    fn first_name(&self) -> &str {
        self.path[self.relative..].split('.').next().unwrap_or("")
    }
}

fn collect<'n>(
    node: &'n Node,
    prefix: &str,
    group: usize,
    groups: &mut usize,
    found: &mut Vec<Conjunct<'n>>,
) {
    match node {
        Node::And(nodes) => {
            for node in nodes {
                collect(node, prefix, group, groups, found);
            }
        }
        // A choice of one is none.
        Node::Or(nodes) if nodes.len() == 1 => collect(&nodes[0], prefix, group, groups, found),
        Node::Field { path, predicate } => {
            // Inside `$elemMatch` an array counts as a document whose names are its positions, which an
            // index does not see.
            if !prefix.is_empty() && path.segments().first().is_none_or(|first| first.index.is_some()) {
                return;
            }
            let path = format!("{prefix}{}", path.as_str());
            collect_predicate(&path, prefix.len(), predicate, group, groups, found);
        }
        _ => {}
    }
}

fn collect_predicate<'n>(
    path: &str,
    relative: usize,
    predicate: &'n Predicate,
    group: usize,
    groups: &mut usize,
    found: &mut Vec<Conjunct<'n>>,
) {
    match predicate {
        Predicate::And(predicates) => {
            for predicate in predicates {
                collect_predicate(path, relative, predicate, group, groups, found);
            }
        }
        other => {
            found.push(Conjunct {
                path: path.to_owned(),
                predicate: other,
                group,
                relative,
            });
            if let Predicate::ElementObject(node) = other {
                *groups += 1;
                let group = *groups;
                collect(node, &format!("{path}."), group, groups, found);
            }
        }
    }
}

/// An index with what a request makes of it.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    view: IndexView<'a>,
    index: usize,
    /// Per field.
    bounds: Vec<Intervals>,
    ranges: Vec<KeyRange>,
    /// What the keys in the ranges have to hold besides.
    tail: Option<Tail>,
    /// How many fields the ranges go by.
    ranged: usize,
    /// How many fields the ranges and the tail go by.
    bounded: usize,
    /// How many fields are single values: they come first.
    fixed: usize,
    exact: bool,
    /// Whether it is asked for what has its first field, and holds nothing else.
    leaves_out: bool,
    /// Whether it gives the order, and if so whether backwards.
    order: Option<bool>,
    /// By how many fields that hold several values each it is taken apart to give the order.
    apart: usize,
    /// Whether no order is asked for.
    is_unordered: bool,
    cost: f64,
}

impl<'a> Candidate<'a> {
    pub(super) fn new(
        request: &PlanRequest<'a>,
        index: usize,
        root: &Node,
        conjuncts: &[Conjunct<'_>],
    ) -> Candidate<'a> {
        let view = request.indexes[index];
        let mut used = vec![false; conjuncts.len()];
        let is_foreign = view.is_foreign_to(request);
        let mut found = field_bounds(&view, is_foreign, conjuncts, &mut used);
        for compared in computed::comparisons(root) {
            for (field, (bounds, key)) in found.iter_mut().zip(&view.definition.keys).enumerate() {
                let is_multikey = view.arrays(field).is_any();
                if key.path != compared.path || is_multikey {
                    continue;
                }
                let collations = (&view.definition.collation, request.matcher.collation());
                if let Some(intervals) = computed::intervals(&compared, key.order, collations) {
                    bounds.intervals = bounds.intervals.intersect(&intervals);
                    bounds.exact = false;
                }
            }
        }
        Candidate::bounded(request, index, root, conjuncts, used, found)
    }

    pub(super) fn bounded(
        request: &PlanRequest<'a>,
        index: usize,
        root: &Node,
        conjuncts: &[Conjunct<'_>],
        used: Vec<bool>,
        mut found: Vec<Bounds>,
    ) -> Candidate<'a> {
        let view = request.indexes[index];
        if let Some(near) = request.matcher.near() {
            for (bounds, key) in found.iter_mut().zip(&view.definition.keys) {
                if key.order.is_geo() && key.path == near.path.as_str() {
                    bounds.intervals = bounds
                        .intervals
                        .intersect(&super::bounds::near(&near.near, key.order));
                    bounds.exact = false;
                }
            }
        }
        let intervals: Vec<&Intervals> = found.iter().map(|bounds| &bounds.intervals).collect();
        let Scan { ranges, ranged, tail } = Scan::new(&view, &intervals);
        let bounded = if tail.is_some() { found.len() } else { ranged };
        let fixed = found
            .iter()
            .take(ranged)
            .take_while(|bounds| bounds.intervals.is_one_point())
            .count();
        // Conditions outside the ranges, or that are no single path's, have to be checked.
        let plain = match root {
            Node::Field { predicate, .. } => plain(predicate),
            Node::And(nodes) => nodes
                .iter()
                .all(|node| matches!(node, Node::Field { predicate, .. } if plain(predicate))),
            Node::Always => true,
            _ => false,
        };
        let exact = plain
            && used.iter().all(|used| *used)
            && found
                .iter()
                .enumerate()
                .all(|(field, bounds)| bounds.exact && (bounds.intervals.is_all() || field < bounded));
        let bounds: Vec<Intervals> = found.into_iter().map(|bounds| bounds.intervals).collect();
        let definition = view.definition;
        let leaves_out = definition.sparse
            && definition.keys.first().is_some_and(|first| {
                conjuncts.iter().any(|conjunct| {
                    conjunct.path == first.path && matches!(conjunct.predicate, Predicate::Exists)
                })
            });
        let mut candidate = Candidate {
            view,
            index,
            bounds,
            ranges,
            tail,
            ranged,
            bounded,
            fixed,
            exact,
            leaves_out,
            order: None,
            apart: 0,
            is_unordered: request.sort.is_none_or(|sort| sort.fields.is_empty()),
            cost: 0.0,
        };
        candidate.order = candidate.order_for(request, 0);
        if candidate.order.is_none() {
            candidate.take_apart(request);
        }
        candidate.cost = candidate.cost_of(request, root, conjuncts, &used);
        candidate
    }

    /// Whether a field is bounded.
    pub(super) fn is_bounded(&self) -> bool {
        self.bounds.first().is_some_and(|first| !first.is_all())
    }

    pub(super) fn ranges(&self) -> &[KeyRange] {
        &self.ranges
    }

    /// Whether nothing can match.
    pub(super) fn is_impossible(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether it spares documents: by its bounds, or because it holds only those with the field.
    pub(super) fn is_selective(&self) -> bool {
        self.is_bounded() || self.leaves_out
    }

    pub(super) fn is_useful(&self) -> bool {
        self.is_selective() || self.order.is_some()
    }

    /// By what they are guessed to cost.
    pub(super) fn compare(&self, other: &Candidate<'_>) -> Ordering {
        let fields = |candidate: &Candidate<'_>| candidate.bounds.len();
        self.cost
            .total_cmp(&other.cost)
            .then(fields(self).cmp(&fields(other)))
    }

    /// Whether no other can read less: it leads to what is found alone, in the order that is asked for.
    pub(super) fn is_unbeatable(&self) -> bool {
        let is_one = self.view.definition.unique && self.fixed == self.bounds.len();
        let is_straight = self.exact && self.tail.is_none();
        self.is_impossible() || is_one || (is_straight && (self.order.is_some() || self.is_unordered))
    }

    /// Whether it has no key for what the other does not lead to, and has the order that is asked for if the other has it.
    pub(super) fn is_within(&self, other: &Candidate<'_>) -> bool {
        let (own, others) = (self.view.definition, other.view.definition);
        let is_whole = others.partial.is_none() && others.wildcard.is_none() && !other.leaves_out;
        if !is_whole || own.wildcard.is_some() || own.collation != others.collation {
            return false;
        }
        let bounded = (0..other.bounded).filter(|field| !other.bounds[*field].is_all());
        let is_bounded_too = |field: usize| {
            let key = &others.keys[field];
            (0..self.ranged).any(|own_field| {
                let own_key = &own.keys[own_field];
                own_key.path == key.path && self.bounds[own_field] == other.bounds[field]
            })
        };
        (self.order.is_some() || other.order.is_none()) && bounded.into_iter().all(is_bounded_too)
    }

    /// Its position in the request.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Whether one scan gives the order, and if so whether backwards.
    pub(super) fn order(&self) -> Option<bool> {
        self.order.filter(|_| self.apart == 0)
    }

    /// Whether it gives the order, be it by several scans.
    pub(super) fn is_in_order(&self) -> bool {
        self.order.is_some()
    }

    pub(super) fn is_exact(&self) -> bool {
        self.exact
    }

    pub(super) fn is_of_paths(&self) -> bool {
        self.view.definition.wildcard.is_some()
    }

    pub(super) fn has_arrays(&self) -> bool {
        self.view.is_multikey()
    }

    pub(super) fn into_ranges(self) -> (Vec<KeyRange>, Vec<Intervals>) {
        (self.ranges, self.bounds)
    }

    pub(super) fn into_plan(self, request: &PlanRequest<'_>, root: &Node) -> Plan {
        if self.is_impossible() {
            return Plan::nothing();
        }
        let multikey = self.view.is_multikey();
        // A document has a key for every path under that which is asked for.
        let several_paths = self.view.definition.wildcard.is_some()
            && self.bounds.first().is_some_and(|path| !path.is_one_point());
        let by_id = self.view.definition.is_id()
            && matches!(
                root,
                Node::Field {
                    predicate: Predicate::Equal(_),
                    ..
                }
            )
            && self.bounds.iter().all(Intervals::is_one_point);
        let repeats = multikey || several_paths;
        if self.apart > 0
            && let Some(streams) = self.streams(request)
        {
            return Plan {
                exact: self.exact,
                covered_count: self.exact,
                repeats,
                ..Plan::merged(streams)
            };
        }
        let order = self.order();
        Plan {
            sorted: self.is_unordered || order.is_some(),
            exact: self.exact,
            repeats,
            covered_count: self.exact,
            by_id,
            text: None,
            asked: None,
            cover: None,
            sieve: None,
            leap: None,
            access: Access::Index {
                index: self.index,
                ranges: self.ranges,
                reverse: order.unwrap_or(false),
                bounds: self.bounds,
                tail: self.tail.map(Arc::new),
            },
        }
    }

    fn is_multikey(&self, field: usize) -> bool {
        self.view.arrays(field).is_any()
    }

    /// Whether all selected keys have the same value in the field.
    fn is_constant(&self, field: usize) -> bool {
        field < self.bounded && self.bounds[field].is_one_point()
    }

    /// Documents read and sorted, by guesses; only comparisons between indexes count.
    fn cost_of(
        &self,
        request: &PlanRequest<'_>,
        root: &Node,
        conjuncts: &[Conjunct<'_>],
        used: &[bool],
    ) -> f64 {
        const FETCH: f64 = 3.0;
        // The path of a wildcard index says nothing of how many documents there are.
        let paths = usize::from(self.view.definition.wildcard.is_some());
        let fraction: f64 = self.bounds[..self.bounded]
            .iter()
            .skip(paths)
            .map(Intervals::fraction)
            .product();
        let mut rows = DOCUMENTS * fraction;
        if self.view.definition.unique && self.fixed == self.bounds.len() {
            rows = rows.min(self.ranges.len() as f64);
        }
        if self.is_unordered {
            return rows * FETCH;
        }
        if self.order.is_none() {
            return rows * (FETCH + 0.3 * (rows + 2.0).log2());
        }
        if let Some(limit) = request.limit.filter(|limit| *limit > 0) {
            let place = Place {
                multikey: true,
                positional: false,
                only_present: false,
                element: false,
                collation: &self.view.definition.collation,
                is_foreign: self.view.is_foreign_to(request),
            };
            let by_predicates = conjuncts
                .iter()
                .zip(used)
                .filter(|(_, used)| !**used)
                .map(|(conjunct, _)| bounds(conjunct.predicate, Order::Ascending, place).intervals);
            let collations = (request.matcher.collation(), request.matcher.collation());
            let keys = &self.view.definition.keys;
            let by_expressions = computed::comparisons(root)
                .into_iter()
                .filter(|compared| keys.iter().all(|key| key.path != compared.path))
                .filter_map(|compared| computed::intervals(&compared, Order::Ascending, collations));
            let pass: f64 = by_predicates
                .chain(by_expressions)
                .map(|intervals| intervals.fraction().max(0.001))
                .product();
            rows = rows.min(limit as f64 / pass.max(1e-6));
        }
        rows * FETCH
    }
}

/// Whether a predicate says nothing beyond what its conjuncts say.
fn plain(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::And(predicates) => predicates.iter().all(plain),
        Predicate::ElementObject(_) => false,
        _ => true,
    }
}

/// The scan of what the bounds of an index's fields leave.
pub(super) fn scan(request: &PlanRequest<'_>, index: usize, bounds: Vec<Intervals>, reverse: bool) -> Access {
    let view = &request.indexes[index];
    let Scan { ranges, tail, .. } = Scan::new(view, &bounds.iter().collect::<Vec<_>>());
    Access::Index {
        index,
        ranges,
        reverse,
        bounds,
        tail: tail.map(Arc::new),
    }
}

/// What of an index is looked at.
struct Scan {
    ranges: Vec<KeyRange>,
    /// How many fields the ranges go by.
    ranged: usize,
    /// What the keys in the ranges have to hold besides.
    tail: Option<Tail>,
}

impl Scan {
    /// What the bounds of its fields leave.
    fn new(view: &IndexView<'_>, found: &[&Intervals]) -> Scan {
        let (ranges, ranged) = ranges(view, found);
        let tail = match ranges.is_empty() {
            true => None,
            false => Tail::new(view.definition, found, ranged),
        };
        Scan { ranges, ranged, tail }
    }
}

/// The ranges of stored keys, and how many fields they go by.
fn ranges(view: &IndexView<'_>, found: &[&Intervals]) -> (Vec<KeyRange>, usize) {
    if found.iter().any(|bounds| bounds.is_empty()) {
        return (Vec::new(), found.len());
    }
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    for (field, (bounds, key)) in found.iter().zip(&view.definition.keys).enumerate() {
        let intervals = bounds.stored(key.order == Order::Descending);
        if prefixes.len().saturating_mul(intervals.len()) > MOST_RANGES && field > 0 {
            return (prefixes.iter().map(|prefix| under(prefix)).collect(), field);
        }
        if bounds.is_points() {
            prefixes = prefixes
                .iter()
                .flat_map(|prefix| {
                    intervals.iter().map(move |interval| {
                        // A point's two edges are its component and a byte before or after.
                        let component = &interval.from[..interval.from.len() - 1];
                        [prefix.as_slice(), component].concat()
                    })
                })
                .collect();
            continue;
        }
        let ranges = prefixes
            .iter()
            .flat_map(|prefix| {
                intervals.iter().map(move |interval| KeyRange {
                    from: Bound::Included([prefix.as_slice(), &interval.from].concat()),
                    to: Bound::Excluded([prefix.as_slice(), &interval.to].concat()),
                })
            })
            .collect();
        return (ranges, field + 1);
    }
    (prefixes.iter().map(|prefix| under(prefix)).collect(), found.len())
}

/// All keys that start with these components.
pub(super) fn under(components: &[u8]) -> KeyRange {
    use super::super::key::{AFTER, BEFORE};
    let edge = |side: u8| [components, &[side]].concat();
    KeyRange {
        from: Bound::Included(edge(BEFORE)),
        to: Bound::Excluded(edge(AFTER)),
    }
}
