//! Few cells that hold all of a region.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::cell::CellId;

/// How many cells a covering has at most.
const MOST: usize = 20;
/// The smallest cells of a covering, about a meter wide.
const FINEST: u32 = 23;

/// A part of the sphere.
pub(crate) trait Region {
    /// Whether the cell has a part of the region; wrong answers are yes only.
    fn meets(&self, cell: CellId) -> bool;

    /// Whether the region has all of the cell; wrong answers are no only.
    fn covers(&self, cell: CellId) -> bool;
}

/// Cells that hold all of the region, none inside another, in order.
pub(crate) fn covering(region: &dyn Region) -> Vec<CellId> {
    let mut open: BinaryHeap<(Reverse<u32>, Reverse<CellId>)> = BinaryHeap::new();
    let push = |open: &mut BinaryHeap<_>, cell: CellId| open.push((Reverse(cell.level()), Reverse(cell)));
    for face in CellId::faces().filter(|face| region.meets(*face)) {
        push(&mut open, face);
    }
    let mut done = Vec::new();
    while let Some((_, Reverse(cell))) = open.pop() {
        if cell.level() >= FINEST || region.covers(cell) {
            done.push(cell);
            continue;
        }
        let children: Vec<CellId> = cell.children().filter(|child| region.meets(*child)).collect();
        // What no child meets is on an edge within rounding: the cell stays.
        if children.is_empty() || done.len() + open.len() + children.len() > MOST {
            done.push(cell);
            continue;
        }
        for child in children {
            push(&mut open, child);
        }
    }
    done.sort_unstable();
    done
}

/// The numbers, first and last, of the cells in an index that a region's covering may meet: what lies in its
/// cells and what they lie in. Disjoint and in order of signed numbers.
pub(crate) fn ranges(cells: &[CellId]) -> Vec<(i64, i64)> {
    let signed = |cell: CellId| cell.number() as i64;
    let mut found: BTreeSet<(i64, i64)> = BTreeSet::new();
    for cell in cells {
        let (first, last) = cell.range();
        found.insert((signed(first), signed(last)));
        found.extend(cell.parents().map(|parent| (signed(parent), signed(parent))));
    }
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(found.len());
    for (first, last) in found {
        match joined.last_mut() {
            Some((_, end)) if first <= *end => *end = last.max(*end),
            _ => joined.push((first, last)),
        }
    }
    joined
}
