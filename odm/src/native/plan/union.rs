//! An `$or` whose branches are answered each by an index of its own.

use super::super::fault::Result;
use super::super::matcher::ast::Node;
use super::candidate::{Candidate, Conjunct};
use super::merge::{MOST_STREAMS, Stream};
use super::{Access, Plan, PlanRequest, by_index, flatten, narrow, useful};

/// The plans that answer each branch of an `$or` from an index: in the order that is asked for, where all of them have
/// it, and one branch after the other.
pub(super) fn plans(request: &PlanRequest<'_>, root: &Node) -> Result<Vec<Plan>> {
    let no_sort = request.sort.is_none_or(|sort| sort.fields.is_empty());
    let mut plans = Vec::new();
    if !no_sort && let Some(merged) = merged(request, root) {
        plans.push(merged);
    }
    if let Some(united) = united(request, root)? {
        plans.push(Plan {
            sorted: no_sort,
            ..united
        });
    }
    Ok(plans)
}

/// What each branch of the first `$or` asks, with what is asked beside it; `None` where there is none.
fn branches(root: &Node) -> Option<(Vec<Node>, bool)> {
    let parts: &[Node] = match root {
        Node::Or(_) => std::slice::from_ref(root),
        Node::And(parts) => parts,
        _ => return None,
    };
    let position = parts.iter().position(|part| matches!(part, Node::Or(_)))?;
    let Node::Or(branches) = &parts[position] else {
        return None;
    };
    let beside = || parts.iter().enumerate().filter(|(at, _)| *at != position);
    let whole = |branch: &Node| {
        let beside = beside().map(|(_, part)| part.clone());
        flatten(std::iter::once(branch.clone()).chain(beside).collect())
    };
    Some((branches.iter().map(whole).collect(), parts.len() == 1))
}

fn united(request: &PlanRequest<'_>, root: &Node) -> Result<Option<Plan>> {
    let Some((branches, mut exact)) = branches(root) else {
        return Ok(None);
    };
    let mut accesses = Vec::with_capacity(branches.len());
    for whole in &branches {
        let plan = match by_index(request, whole)? {
            Some(plan) => plan,
            None => match united(request, whole)? {
                Some(nested) => nested,
                None => return Ok(None),
            },
        };
        exact &= plan.exact;
        if !matches!(plan.access, Access::Nothing) {
            accesses.push(plan.access);
        }
    }
    if accesses.is_empty() {
        return Ok(Some(Plan::nothing()));
    }
    Ok(Some(Plan {
        access: Access::Union(accesses),
        sorted: true,
        exact,
        repeats: true,
        covered_count: exact,
        by_id: false,
        text: None,
        asked: None,
        cover: None,
        leap: None,
    }))
}

fn merged(request: &PlanRequest<'_>, root: &Node) -> Option<Plan> {
    let (branches, mut exact) = branches(root)?;
    let mut all = Vec::new();
    for whole in &branches {
        exact &= streams(request, whole, &mut all)?;
        if all.len() > MOST_STREAMS {
            return None;
        }
    }
    Some(Plan {
        exact,
        covered_count: exact,
        ..Plan::merged(all)
    })
}

/// Adds the scans that give what matches in the order that is asked for, and whether they give nothing else; `None` where
/// no index does.
fn streams(request: &PlanRequest<'_>, root: &Node, all: &mut Vec<Stream>) -> Option<bool> {
    let candidates = useful(request, root, &Conjunct::of(root)).into_iter();
    let serving = candidates
        .filter(|own| own.is_impossible() || (own.is_in_order() && own.is_selective() && !own.is_of_paths()));
    let Some(best) = serving.min_by(Candidate::compare) else {
        let (branches, mut exact) = branches(root)?;
        for whole in &branches {
            exact &= streams(request, whole, all)?;
        }
        return Some(exact);
    };
    if best.is_impossible() {
        return Some(true);
    }
    if let Some(narrowed) = narrow::narrow(request, root, &best) {
        if !matches!(narrowed.access, Access::Nothing) {
            all.push(Stream::new(request, narrowed.access)?);
        }
        return Some(false);
    }
    let exact = best.is_exact();
    all.extend(best.streams(request)?);
    Some(exact)
}
