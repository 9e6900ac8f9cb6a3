//! Nearness is answered from a geo index, or not at all.

use super::super::document::Value;
use super::super::fault::{Fault, Result, code};
use super::super::index::Order;
use super::super::matcher::ast::{NearField, Node, Predicate};
use super::candidate::{Candidate, Conjunct};
use super::{Hint, IndexView, Plan, PlanRequest, best_of, holds_partial};

/// The server's code for a query that no index can answer.
const NO_QUERY_EXECUTION_PLANS: i32 = 291;

/// Chooses the index for a filter with nearness at its top.
pub(super) fn choose(request: &PlanRequest<'_>, field: &NearField, hint: &Hint<'_>) -> Result<Plan> {
    let is_natural = request.sort.is_some_and(|sort| sort.natural.is_some());
    refuse_natural(is_natural, request.hint.as_ref())?;
    let only = match hint {
        Hint::Free | Hint::Natural { .. } => None,
        Hint::Index(hint) => Some(hint.find(request.indexes)?),
    };
    let root = request.matcher.root();
    let conjuncts = Conjunct::of(root);
    // Documents come by distance, whatever order an index has.
    let alone = PlanRequest {
        sort: None,
        ..*request
    };
    let candidates = request
        .indexes
        .iter()
        .enumerate()
        .filter(|(index, view)| {
            only.map_or(!view.definition.hidden, |only| only == *index)
                && can_tell(view, field)
                && holds_partial(view.definition, root)
                && is_asked_before(view, field, root, &conjuncts)
        })
        .map(|(index, _)| Candidate::new(&alone, index, root, &conjuncts));
    let Some(best) = best_of(candidates) else {
        return Err(Fault::unplanned(
            NO_QUERY_EXECUTION_PLANS,
            "unable to find index for $geoNear query",
        ));
    };
    if best.is_impossible() {
        return Ok(Plan::nothing());
    }
    let mut plan = best.into_plan(&alone, root);
    plan.sorted = request.sort.is_none_or(|sort| sort.fields.is_empty());
    Ok(plan)
}

/// Refuses the natural order beside nearness.
///
/// # Errors
/// 2, for an order and for a hint.
pub(super) fn refuse_natural(is_natural: bool, hint: Option<&Value<'_>>) -> Result<()> {
    let what = match (is_natural, hint) {
        (true, _) => "sort order",
        (false, Some(Value::Document(hint))) if hint.get("$natural").is_some() => "hint",
        _ => return Ok(()),
    };
    Err(Fault::new(
        code::BAD_VALUE,
        format!("geoNear expression not allowed with $natural {what}"),
    ))
}

/// Whether the filter asks for all fields of the index before the geometry in a way that an index answers: even if it
/// asks for whatever is there.
fn is_asked_before(view: &IndexView<'_>, field: &NearField, root: &Node, conjuncts: &[Conjunct<'_>]) -> bool {
    let asks = |path: &str| {
        let mut conjuncts = conjuncts.iter();
        conjuncts.any(|asked| asked.path == path && is_answered(asked.predicate)) || chooses(root, path)
    };
    let before = view.definition.keys.iter();
    before
        .take_while(|key| key.path != field.path.as_str())
        .all(|key| asks(&key.path))
}

/// Whether the filter asks for one of some values of the field, each in a condition of its own.
fn chooses(node: &Node, path: &str) -> bool {
    let is_value = |node: &Node| match node {
        Node::Never => true,
        Node::Field { path: own, predicate } => {
            own.as_str() == path
                && match predicate {
                    Predicate::Equal(_) | Predicate::Regex(_) => true,
                    Predicate::In { values, patterns } => values.len() + patterns.len() == 1,
                    _ => false,
                }
        }
        _ => false,
    };
    match node {
        Node::And(nodes) => nodes.iter().any(|node| chooses(node, path)),
        Node::Or(nodes) => nodes.iter().all(is_value),
        _ => false,
    }
}

/// Whether an index that leaves out documents without a geometry answers the condition.
fn is_answered(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Not(_) | Predicate::Size(_) | Predicate::Bits(_) => false,
        Predicate::Collated { inner, .. } => is_answered(inner),
        _ => true,
    }
}

/// Whether the index knows how far from the center documents are.
fn can_tell(view: &IndexView<'_>, field: &NearField) -> bool {
    view.definition.keys.iter().any(|key| {
        key.path == field.path.as_str()
            && match key.order {
                Order::Sphere => field.near.is_spherical(),
                Order::Flat(_) => field.near.is_for_pairs(),
                _ => false,
            }
    })
}
