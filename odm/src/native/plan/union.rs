//! An `$or` whose branches are answered each by an index of its own.

use std::collections::BTreeMap;

use super::super::fault::Result;
use super::super::matcher::ast::{Node, Predicate};
use super::candidate::{self, Candidate, Conjunct};
use super::interval::Intervals;
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

/// A branch of an `$or`.
struct Branch {
    /// What it asks, with what is asked beside the `$or`.
    whole: Node,
    /// Whether it is a single condition on a field.
    is_leaf: bool,
}

/// The branches of the first `$or`, and whether it is all that is asked; `None` where there is none.
fn branches(root: &Node) -> Option<(Vec<Branch>, bool)> {
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
    let branch = |branch: &Node| {
        let beside = beside().map(|(_, part)| part.clone());
        Branch {
            whole: flatten(std::iter::once(branch.clone()).chain(beside).collect()),
            is_leaf: match branch {
                Node::Field { predicate, .. } => !matches!(predicate, Predicate::ElementObject(_)),
                _ => false,
            },
        }
    };
    Some((branches.iter().map(branch).collect(), parts.len() == 1))
}

/// Scans of indexes by their first fields: one for each index, however many conditions they answer.
#[derive(Default)]
struct Leaves(BTreeMap<usize, Leaf>);

/// What the conditions that one index answers leave of its fields, and the positions of their branches.
struct Leaf {
    bounds: Vec<Intervals>,
    branches: Vec<usize>,
}

impl Leaves {
    /// Takes a scan in; gives it back if it goes by more than a first field.
    fn take(&mut self, request: &PlanRequest<'_>, branch: usize, access: Access) -> Option<Access> {
        match access {
            Access::Index { index, bounds, .. }
                if request.indexes[index].definition.wildcard.is_none()
                    && bounds.iter().skip(1).all(Intervals::is_all) =>
            {
                let Leaf {
                    bounds: own,
                    branches,
                } = self.0.entry(index).or_insert_with(|| {
                    let mut none = bounds.clone();
                    none[0] = Intervals::none();
                    Leaf {
                        bounds: none,
                        branches: Vec::new(),
                    }
                });
                own[0] = std::mem::replace(&mut own[0], Intervals::none()).union(bounds[0].clone());
                branches.push(branch);
                None
            }
            other => Some(other),
        }
    }
}

fn united(request: &PlanRequest<'_>, root: &Node) -> Result<Option<Plan>> {
    let Some((branches, mut exact)) = branches(root) else {
        return Ok(None);
    };
    // As on the server, single conditions come last, in the order of their indexes.
    let mut accesses = Vec::with_capacity(branches.len());
    let mut answered = Vec::with_capacity(branches.len());
    let mut leaves = Leaves::default();
    let mut repeats = false;
    for (branch, Branch { whole, is_leaf }) in branches.iter().enumerate() {
        let plan = match by_index(request, whole)? {
            Some(plan) => plan,
            None => match united(request, whole)? {
                Some(nested) => nested,
                None => return Ok(None),
            },
        };
        exact &= plan.exact;
        repeats |= plan.repeats;
        match plan.access {
            Access::Nothing => {}
            access => {
                let left = match is_leaf {
                    true => leaves.take(request, branch, access),
                    false => Some(access),
                };
                answered.extend(left.is_some().then(|| vec![branch]));
                accesses.extend(left);
            }
        }
    }
    for (index, leaf) in leaves.0 {
        accesses.push(candidate::scan(request, index, leaf.bounds, false));
        answered.push(leaf.branches);
    }
    let access = match accesses.len() {
        0 => return Ok(Some(Plan::nothing())),
        1 => accesses.swap_remove(0),
        _ => {
            repeats = true;
            Access::Union(accesses, answered)
        }
    };
    Ok(Some(Plan {
        access,
        sorted: true,
        exact,
        repeats,
        covered_count: exact,
        by_id: false,
        text: None,
        asked: None,
        cover: None,
        sieve: None,
        leap: None,
    }))
}

fn merged(request: &PlanRequest<'_>, root: &Node) -> Option<Plan> {
    let (branches, mut exact) = branches(root)?;
    let mut all = Vec::new();
    for (position, branch) in branches.iter().enumerate() {
        let mut own = Vec::new();
        exact &= streams(request, &branch.whole, &mut own)?;
        all.extend(own.into_iter().map(|stream| stream.of_branch(position)));
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
        for branch in &branches {
            exact &= streams(request, &branch.whole, all)?;
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
