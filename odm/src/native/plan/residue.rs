//! What of a filter a scan leaves to be asked: of the keys of its index, and of the documents that they lead to.

use super::super::aggregate::expression::compared::Compared;
use super::super::document::{Owned, Value};
use super::super::index::Order;
use super::super::matcher::ast::{Node, Predicate};
use super::super::matcher::shown::{Arrangement, together};
use super::super::needs::Needs;
use super::bounds::{Place, bounds};
use super::computed;
use super::cover::add_filter;
use super::interval::Intervals;
use super::sieve::is_loose;
use super::{Collation, IndexView, PlanRequest};

/// What is left to be asked.
#[derive(Debug, Default)]
pub(super) struct Residue<'n> {
    pub(super) keys: Vec<&'n Node>,
    pub(super) documents: Vec<&'n Node>,
}

/// The conditions as a filter document; `None` where there are none.
pub(super) fn filter(nodes: &[&Node], by: Arrangement<'_>) -> Option<Owned> {
    filter_beside(nodes, by, &|_| false)
}

/// The same without those that an expression says and that are answered.
pub(super) fn filter_beside(
    nodes: &[&Node],
    by: Arrangement<'_>,
    is_answered: &dyn Fn(&Compared<'_>) -> bool,
) -> Option<Owned> {
    let fields = together(nodes.iter().copied(), by, is_answered);
    (!fields.is_empty()).then_some(Owned::Document(fields))
}

/// The fields that a scan is bounded by, be it only by what a sparse index leaves out.
pub(super) fn bounded(view: &IndexView<'_>, scanned: &[Intervals], nodes: &[&Node]) -> Vec<String> {
    let exists = |path: &str| {
        nodes.iter().any(|node| match node {
            Node::Field { path: own, predicate } => {
                own.as_str() == path && matches!(predicate, Predicate::Exists)
            }
            _ => false,
        })
    };
    let keys = view.definition.keys.iter().zip(scanned);
    keys.filter(|(key, scanned)| !scanned.is_all() || (view.definition.sparse && exists(&key.path)))
        .map(|(key, _)| key.path.clone())
        .collect()
}

/// Whether a scan answers a comparison that an expression says.
pub(super) fn answers(
    request: &PlanRequest<'_>,
    index: usize,
    scanned: &[Intervals],
    compared: &Compared<'_>,
) -> bool {
    let view = &request.indexes[index];
    let keys = view.definition.keys.iter().zip(scanned).enumerate();
    let mut own = keys.filter(|(_, (key, _))| key.path == compared.path);
    own.any(|(field, (key, scanned))| {
        let collations = (&view.definition.collation, request.matcher.collation());
        let bounds = computed::intervals(compared, key.order, collations);
        !view.arrays(field).is_any() && bounds.is_some_and(|bounds| scanned.intersect(&bounds) == *scanned)
    })
}

/// The conditions that are asked together.
pub(super) fn members(root: &Node) -> &[Node] {
    match root {
        Node::Always => &[],
        Node::And(nodes) => nodes,
        single => std::slice::from_ref(single),
    }
}

/// What a scan of one index leaves of conditions that are asked together. `tells_all`: the keys have all that is asked.
pub(super) fn of_scan<'n>(
    request: &PlanRequest<'_>,
    index: usize,
    scanned: &[Intervals],
    nodes: &[&'n Node],
    tells_all: bool,
) -> Residue<'n> {
    let view = &request.indexes[index];
    let mut residue = Residue::default();
    for node in nodes {
        let is_answered = match node {
            Node::Field { path, predicate } => is_answered(request, view, scanned, path.as_str(), predicate),
            _ => false,
        };
        if is_answered {
            continue;
        }
        match tells_all || is_told(view, node) {
            true => residue.keys.push(node),
            false => residue.documents.push(node),
        }
    }
    residue
}

/// Whether the condition holds of all that the scan leads to.
fn is_answered(
    request: &PlanRequest<'_>,
    view: &IndexView<'_>,
    scanned: &[Intervals],
    path: &str,
    predicate: &Predicate,
) -> bool {
    if let Predicate::And(parts) = predicate {
        return parts
            .iter()
            .all(|part| is_answered(request, view, scanned, path, part));
    }
    let definition = view.definition;
    let place = |multikey: bool, positional: bool| Place {
        multikey,
        positional,
        only_present: definition.has_present_alone(),
        element: false,
        collation: &definition.collation,
        is_foreign: view.is_foreign_to(request),
    };
    if let Some(wildcard) = &definition.wildcard {
        let [paths, values] = scanned else { return false };
        let own = bounds(predicate, Order::Ascending, place(view.is_multikey(), false));
        return paths.is_one_point()
            && paths.has(&Value::String(path), Collation::simple())
            && own.exact
            && *values == own.intervals
            && !wildcard.takes_from(path);
    }
    let mut keys = definition
        .keys
        .iter()
        .enumerate()
        .filter(|(_, key)| key.path == path);
    keys.any(|(field, key)| {
        let positional = key
            .path
            .split('.')
            .any(|name| name.starts_with(|first: char| first.is_ascii_digit()));
        let own = bounds(
            predicate,
            key.order,
            place(view.arrays(field).is_any(), positional),
        );
        let is_within = |scanned: &Intervals| scanned.intersect(&own.intervals) == *scanned;
        own.exact && scanned.get(field).is_some_and(is_within)
    })
}

/// Whether the condition is asked of the keys of an index where documents are to be read.
fn is_told(view: &IndexView<'_>, node: &Node) -> bool {
    if !view.definition.keeps_values() || view.is_multikey() || !is_loose(node) {
        return false;
    }
    let mut needs = Needs::default();
    let has = |path: &str| view.definition.keys.iter().any(|key| key.path == path);
    add_filter(node, &mut needs) && needs.paths().all(has)
}
