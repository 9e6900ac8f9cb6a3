//! An `$or` over an index that gives the order: only the parts of the index that one of the branches takes.
//!
//! This is what pages by place ask: `{year: y, title: t, _id > id} or {year: y, title > t} or {year > y}`.

use std::cmp::Ordering;
use std::ops::Bound;

use super::super::matcher::ast::Node;
use super::candidate::{Candidate, Conjunct};
use super::interval::Intervals;
use super::{Access, KeyRange, Plan, PlanRequest, flatten};

/// How many branches are looked at.
const MOST_BRANCHES: usize = 256;

/// The plan by the same index in the same order, bounded by the branches of an `$or`; `None` where a branch is not
/// bounded, where all of them together bound nothing more, or where a document has several keys, of which the first in the
/// bounds need not be its place.
pub(super) fn narrow(request: &PlanRequest<'_>, root: &Node, best: &Candidate<'_>) -> Option<Plan> {
    let reverse = best.order()?;
    if best.has_arrays() {
        return None;
    }
    let parts: &[Node] = match root {
        Node::And(parts) => parts,
        Node::Or(_) => std::slice::from_ref(root),
        _ => return None,
    };
    let narrowest = parts
        .iter()
        .enumerate()
        .filter_map(|(position, part)| match part {
            Node::Or(branches) if branches.len() <= MOST_BRANCHES => {
                let rest: Vec<&Node> = parts
                    .iter()
                    .enumerate()
                    .filter(|(other, _)| *other != position)
                    .map(|(_, part)| part)
                    .collect();
                branches_of(request, best, branches, &rest)
            }
            _ => None,
        });
    let (ranges, bounds) = narrowest
        .filter(|(ranges, _)| ranges.as_slice() != best.ranges())
        .min_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)))?;
    if ranges.is_empty() {
        return Some(Plan::nothing());
    }
    Some(Plan {
        access: Access::Index {
            index: best.index(),
            ranges,
            reverse,
            bounds,
            tail: None,
        },
        sorted: true,
        exact: false,
        repeats: false,
        covered_count: false,
        by_id: false,
        text: None,
        asked: None,
        cover: None,
        sieve: None,
        leap: None,
    })
}

fn branches_of(
    request: &PlanRequest<'_>,
    best: &Candidate<'_>,
    branches: &[Node],
    rest: &[&Node],
) -> Option<(Vec<KeyRange>, Vec<Intervals>)> {
    let mut ranges = Vec::new();
    let mut bounds: Option<Vec<Intervals>> = None;
    for branch in branches {
        let mut parts = vec![branch.clone()];
        parts.extend(rest.iter().map(|part| (*part).clone()));
        let whole = flatten(parts);
        let candidate = Candidate::new(request, best.index(), &whole, &Conjunct::of(&whole));
        if candidate.is_impossible() {
            continue;
        }
        if !candidate.is_bounded() {
            return None;
        }
        let (own_ranges, own_bounds) = candidate.into_ranges();
        ranges.extend(own_ranges);
        bounds = Some(match bounds {
            None => own_bounds,
            Some(bounds) => bounds
                .into_iter()
                .zip(own_bounds)
                .map(|(bounds, own)| bounds.union(own))
                .collect(),
        });
    }
    Some((disjoint(ranges), bounds.unwrap_or_default()))
}

/// How much of the index the bounds leave, by guesses.
fn share(bounds: &[Intervals]) -> f64 {
    bounds.iter().map(Intervals::fraction).product()
}

/// The ranges in stored order, those that meet made one.
fn disjoint(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_by(|a, b| starts(&a.from, &b.from));
    let mut apart: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if meets(&last.to, &range.from) => {
                if ends(&last.to, &range.to).is_lt() {
                    last.to = range.to;
                }
            }
            _ => apart.push(range),
        }
    }
    apart
}

/// No key is equal to a bound, so that included and excluded ones are the same.
fn bytes(bound: &Bound<Vec<u8>>) -> Option<&[u8]> {
    match bound {
        Bound::Included(bytes) | Bound::Excluded(bytes) => Some(bytes),
        Bound::Unbounded => None,
    }
}

fn starts(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    bytes(a).cmp(&bytes(b))
}

fn ends(a: &Bound<Vec<u8>>, b: &Bound<Vec<u8>>) -> Ordering {
    match (bytes(a), bytes(b)) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => a.cmp(b),
    }
}

fn meets(end: &Bound<Vec<u8>>, start: &Bound<Vec<u8>>) -> bool {
    match (bytes(end), bytes(start)) {
        (Some(end), Some(start)) => start <= end,
        _ => true,
    }
}
