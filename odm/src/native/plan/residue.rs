//! What of a filter a scan leaves to be asked: of the keys of its index, and of the documents that they lead to.

use super::super::aggregate::expression::compared::Compared;
use super::super::document::Owned;
use super::super::matcher::ast::{Node, Predicate};
use super::super::matcher::shown::{Arrangement, together};
use super::super::needs::Needs;
use super::bounds::{Place, bounds};
use super::candidate::{Candidate, Conjunct, field_bounds};
use super::computed;
use super::cover::add_filter;
use super::interval::Intervals;
use super::sieve::is_loose;
use super::{Access, IndexView, PlanRequest};

/// What is left to be asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Residue {
    pub(super) keys: Vec<Node>,
    pub(super) documents: Vec<Node>,
}

/// The conditions as a filter document; `None` where there are none.
pub(super) fn filter(nodes: &[Node], by: Arrangement<'_>) -> Option<Owned> {
    filter_beside(nodes, by, &|_| false)
}

/// The same without those that an expression says and that are answered.
pub(super) fn filter_beside(
    nodes: &[Node],
    by: Arrangement<'_>,
    is_answered: &dyn Fn(&Compared<'_>) -> bool,
) -> Option<Owned> {
    let fields = together(nodes, by, is_answered);
    (!fields.is_empty()).then_some(Owned::Document(fields))
}

/// The fields that a scan is bounded by, be it only by what a sparse index leaves out.
pub(super) fn bounded(view: &IndexView<'_>, scanned: &[Intervals], nodes: &[Node]) -> Vec<String> {
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
pub(super) fn members(root: &Node) -> Vec<Node> {
    match root {
        Node::Always => Vec::new(),
        Node::And(nodes) => nodes.clone(),
        single => vec![single.clone()],
    }
}

/// What a scan of one index leaves of a filter in its normal form. `tells_all`: the keys have all that is asked.
pub(super) fn of_scan(
    request: &PlanRequest<'_>,
    index: usize,
    scanned: &[Intervals],
    root: &Node,
    tells_all: bool,
) -> Residue {
    let view = &request.indexes[index];
    let conjuncts = Conjunct::of(root);
    let answered = answered(request, view, scanned, &conjuncts);
    let mut residue = Residue::default();
    for node in members(root) {
        let is_answered = match &node {
            Node::Field { path, predicate } => is_answered(path.as_str(), predicate, &conjuncts, &answered),
            _ => false,
        };
        if is_answered {
            continue;
        }
        match tells_all || is_told(view, &node) {
            true => residue.keys.push(node),
            false => residue.documents.push(node),
        }
    }
    residue
}

/// Whether the scan answers the condition, and all parts of it.
fn is_answered(path: &str, predicate: &Predicate, conjuncts: &[Conjunct<'_>], answered: &[bool]) -> bool {
    match predicate {
        Predicate::And(parts) => parts
            .iter()
            .all(|part| is_answered(path, part, conjuncts, answered)),
        single => conjuncts.iter().zip(answered).any(|(conjunct, answered)| {
            *answered
                && conjunct.group == 0
                && conjunct.path == path
                && format!("{:?}", conjunct.predicate) == format!("{single:?}")
        }),
    }
}

/// Which conditions hold of all that the scan leads to.
fn answered(
    request: &PlanRequest<'_>,
    view: &IndexView<'_>,
    scanned: &[Intervals],
    conjuncts: &[Conjunct<'_>],
) -> Vec<bool> {
    let definition = view.definition;
    let is_foreign = view.is_foreign_to(request);
    let place = |multikey: bool, positional: bool| Place {
        multikey,
        positional,
        element: false,
        collation: &definition.collation,
        is_foreign,
    };
    if let Some(wildcard) = &definition.wildcard {
        let is_meant = |conjunct: &Conjunct<'_>| {
            let values = super::super::document::Value::String(&conjunct.path);
            scanned
                .first()
                .is_some_and(|path| path.is_one_point() && path.has(&values, super::Collation::simple()))
        };
        return conjuncts
            .iter()
            .map(|conjunct| {
                let own = bounds(
                    conjunct.predicate,
                    super::super::index::Order::Ascending,
                    place(view.is_multikey(), false),
                );
                is_meant(conjunct)
                    && own.exact
                    && scanned.get(1).is_some_and(|values| *values == own.intervals)
                    && !wildcard.takes_from(&conjunct.path)
            })
            .collect();
    }
    let mut used = vec![false; conjuncts.len()];
    let _ = field_bounds(view, is_foreign, conjuncts, &mut used);
    let holds = |conjunct: &Conjunct<'_>| {
        let own = definition.keys.iter().enumerate();
        let mut own = own.filter(|(_, key)| key.path == conjunct.path);
        own.any(|(field, key)| {
            let positional = key
                .path
                .split('.')
                .any(|name| name.starts_with(|first: char| first.is_ascii_digit()));
            let bounds = bounds(
                conjunct.predicate,
                key.order,
                place(view.arrays(field).is_any(), positional),
            );
            let is_within = |scanned: &Intervals| scanned.intersect(&bounds.intervals) == *scanned;
            bounds.exact && scanned.get(field).is_some_and(is_within)
        })
    };
    conjuncts
        .iter()
        .zip(used)
        .map(|(conjunct, used)| used && conjunct.group == 0 && holds(conjunct))
        .collect()
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

/// Whether a part of a plan answers a branch of a choice.
pub(super) fn serves(request: &PlanRequest<'_>, access: &Access, branch: &Node) -> bool {
    match access {
        Access::Index {
            index, bounds: own, ..
        } => {
            let conjuncts = Conjunct::of(branch);
            let view = &request.indexes[*index];
            if view.definition.wildcard.is_some() {
                return super::wildcard::candidates(request, *index, branch, &conjuncts)
                    .into_iter()
                    .any(|candidate| candidate.into_ranges().1 == *own);
            }
            let (_, found) = Candidate::new(request, *index, branch, &conjuncts).into_ranges();
            let is_bounded = found.first().is_some_and(|first| !first.is_all());
            is_bounded
                && found
                    .iter()
                    .zip(own)
                    .all(|(found, own)| found.intersect(own) == *found)
        }
        Access::Union(_) | Access::Merge(_) => has_choice(branch),
        Access::Nothing | Access::Collection { .. } => false,
    }
}

fn has_choice(node: &Node) -> bool {
    match node {
        Node::Or(_) => true,
        Node::And(nodes) => nodes.iter().any(|node| matches!(node, Node::Or(_))),
        _ => false,
    }
}
