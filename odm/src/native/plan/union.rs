//! An `$or` whose branches are answered each by an index of its own.

use std::sync::Arc;

use super::super::fault::Result;
use super::super::introsort;
use super::super::matcher::Matcher;
use super::super::matcher::ast::{Node, Predicate};
use super::candidate::{self, Candidate, Conjunct};
use super::interval::Intervals;
use super::merge::{MOST_STREAMS, Stream};
use super::{Access, Plan, PlanRequest, UnionPart, by_index, flatten, narrow, useful};

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

impl From<Access> for UnionPart {
    /// All that it leads to.
    fn from(access: Access) -> UnionPart {
        UnionPart {
            access,
            answered: Vec::new(),
            asked: None,
        }
    }
}

/// A branch with what answers it.
struct Answered {
    branch: usize,
    is_leaf: bool,
    plan: Plan,
}

/// The scan of an index by its first field, for all single conditions in a row that the index answers.
struct Leaf {
    index: usize,
    bounds: Vec<Intervals>,
    branches: Vec<usize>,
    /// Whether it leads to nothing else.
    is_exact: bool,
}

impl Leaf {
    /// Of a single condition; gives the access back if it goes by more than a first field.
    fn of(
        request: &PlanRequest<'_>,
        branch: usize,
        access: Access,
        is_exact: bool,
    ) -> std::result::Result<Leaf, Access> {
        match access {
            Access::Index { index, bounds, .. }
                if request.indexes[index].definition.wildcard.is_none()
                    && bounds.iter().skip(1).all(Intervals::is_all) =>
            {
                Ok(Leaf {
                    index,
                    bounds,
                    branches: vec![branch],
                    is_exact,
                })
            }
            other => Err(other),
        }
    }

    /// Both, where they are of one index.
    fn join(&mut self, other: Leaf) {
        let own = std::mem::replace(&mut self.bounds[0], Intervals::none());
        self.bounds[0] = own.union(other.bounds[0].clone());
        self.branches.extend(other.branches);
        self.is_exact &= other.is_exact;
    }

    fn part(self, request: &PlanRequest<'_>, branches: &[Branch]) -> UnionPart {
        let own = self.branches.iter().map(|branch| branches[*branch].whole.clone());
        UnionPart {
            asked: (!self.is_exact).then(|| asking(request, Node::Or(own.collect()))),
            access: candidate::scan(request, self.index, self.bounds, false),
            answered: self.branches,
        }
    }
}

/// The first of the indexes that an access reads.
fn first_index(access: &Access) -> usize {
    match access {
        Access::Nothing | Access::Collection { .. } => usize::MAX,
        Access::Index { index, .. } => *index,
        Access::Union(parts) => {
            let parts = parts.iter().map(|part| first_index(&part.access));
            parts.min().unwrap_or(usize::MAX)
        }
        Access::Merge(streams) => {
            let streams = streams.iter().map(|stream| first_index(&stream.access));
            streams.min().unwrap_or(usize::MAX)
        }
    }
}

fn united(request: &PlanRequest<'_>, root: &Node) -> Result<Option<Plan>> {
    let Some((branches, mut exact)) = branches(root) else {
        return Ok(None);
    };
    let mut answered = Vec::with_capacity(branches.len());
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
        if !matches!(plan.access, Access::Nothing) {
            let is_leaf = *is_leaf;
            answered.push(Answered {
                branch,
                is_leaf,
                plan,
            });
        }
    }
    // As on the server: in the order of their indexes; and a scan for single conditions waits for more of them, until one
    // of another index comes.
    introsort::sort_by(&mut answered, |a, b| {
        first_index(&a.plan.access).cmp(&first_index(&b.plan.access))
    });
    let mut parts = Vec::with_capacity(answered.len());
    let mut waiting: Option<Leaf> = None;
    for Answered {
        branch,
        is_leaf,
        plan,
    } in answered
    {
        let exact = plan.exact;
        let leaf = match is_leaf {
            true => Leaf::of(request, branch, plan.access, exact),
            false => Err(plan.access),
        };
        match (leaf, &mut waiting) {
            (Ok(leaf), Some(waiting)) if waiting.index == leaf.index => waiting.join(leaf),
            (Ok(leaf), waiting) => {
                let before = waiting.replace(leaf);
                parts.extend(before.map(|leaf| leaf.part(request, &branches)));
            }
            (Err(access), _) => parts.push(UnionPart {
                // What answers a nested choice asks for all of it.
                asked: (!exact && !matches!(access, Access::Union(_)))
                    .then(|| asking(request, branches[branch].whole.clone())),
                access,
                answered: vec![branch],
            }),
        }
    }
    parts.extend(waiting.map(|leaf| leaf.part(request, &branches)));
    let access = match parts.len() {
        0 => return Ok(Some(Plan::nothing())),
        1 => parts.swap_remove(0).access,
        _ => {
            repeats = true;
            Access::Union(parts)
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

/// What asks only this.
fn asking(request: &PlanRequest<'_>, whole: Node) -> Arc<Matcher> {
    Arc::new(request.matcher.of_part(whole))
}

fn merged(request: &PlanRequest<'_>, root: &Node) -> Option<Plan> {
    let (branches, mut exact) = branches(root)?;
    let mut answered = Vec::with_capacity(branches.len());
    let mut count = 0;
    for (position, branch) in branches.iter().enumerate() {
        let mut own = Vec::new();
        exact &= streams(request, &branch.whole, &mut own)?;
        count += own.len();
        if count > MOST_STREAMS {
            return None;
        }
        let first = own.iter().map(|stream| first_index(&stream.access)).min();
        answered.push((first.unwrap_or(usize::MAX), position, own));
    }
    // As on the server: in the order of their indexes.
    introsort::sort_by(&mut answered, |a, b| a.0.cmp(&b.0));
    let mut all = Vec::with_capacity(count);
    for (_, position, own) in answered {
        all.extend(own.into_iter().map(|stream| stream.of_branch(position)));
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
            let stream = Stream::new(request, narrowed.access)?;
            all.push(stream.asking(asking(request, root.clone())));
        }
        return Some(false);
    }
    let exact = best.is_exact();
    let own = best.streams(request)?;
    match exact {
        true => all.extend(own),
        false => {
            let asked = asking(request, root.clone());
            all.extend(own.into_iter().map(|stream| stream.asking(asked.clone())));
        }
    }
    Some(exact)
}
