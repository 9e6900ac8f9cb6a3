//! Scanning a part of an index, resumable behind each key.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::super::catalog::Collection;
use super::super::fault::{Class, Fault, Result, code};
use super::super::plan::{Access, KeyRange, Spot, Tail};
use super::super::storage::{Read, TreeId};
use super::walk::Flow;

/// How many bytes of an index entry's key are the record id.
pub(crate) const RECORD_BYTES: usize = 8;

/// So many entries between two ranges are passed over before the next range is looked for.
const MOST_STRAYS: usize = 4;

/// After so many vain looks for neighbors the ranges of a part are taken to be far from each other.
const MOST_VAIN: usize = 4;

/// What is shown the keys of an index with what is stored with them, each with the record that it leads to, if that is one
/// of those looked for.
pub(super) type VisitKey<'a> = dyn FnMut(Entry<'_>, Option<u64>) -> Result<Flow> + 'a;

/// An entry of an index.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) tree: TreeId,
    /// Its key, and the record behind it.
    pub(super) key: &'a [u8],
    /// What is stored with it.
    pub(super) value: &'a [u8],
}

/// What is left of a part of an index.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    tree: TreeId,
    /// In the order in which they are visited.
    ranges: Vec<KeyRange>,
    at: usize,
    reverse: bool,
    tail: Option<Arc<Tail>>,
}

impl Scan {
    /// Of an index's part; `None` where the collection has no such index.
    pub(super) fn new(access: &Access, collection: &Collection) -> Option<Scan> {
        let Access::Index {
            index,
            ranges,
            reverse,
            tail,
            ..
        } = access
        else {
            return None;
        };
        let entry = collection.indexes.get(*index)?;
        let mut ranges = ranges.clone();
        if *reverse {
            ranges.reverse();
        }
        Some(Scan {
            tree: entry.tree,
            ranges,
            at: 0,
            reverse: *reverse,
            tail: tail.clone(),
        })
    }

    /// Of all of a tree.
    pub(super) fn whole(tree: TreeId, reverse: bool) -> Scan {
        let all = KeyRange {
            from: Bound::Unbounded,
            to: Bound::Unbounded,
        };
        Scan {
            tree,
            ranges: vec![all],
            at: 0,
            reverse,
            tail: None,
        }
    }

    pub(super) fn tree(&self) -> TreeId {
        self.tree
    }

    /// Whether it goes from the end to the start.
    pub(super) fn is_reverse(&self) -> bool {
        self.reverse
    }

    /// Leaves out what does not lie behind the key.
    pub(super) fn go_behind(&mut self, key: &[u8]) {
        while let Some(range) = self.ranges.get_mut(self.at) {
            match side(key, range, self.reverse) {
                Side::Before => return,
                Side::Inside => return cut(range, key.to_vec(), self.reverse),
                Side::Behind => self.at += 1,
            }
        }
    }

    /// Visits keys with their records, and with nothing where they do not hold what they have to; `true` when the visitor
    /// stopped.
    ///
    /// One scan goes through ranges that have little between them: looking for the start of a range costs more than passing
    /// over a few entries.
    pub(super) fn go_on(&mut self, read: &dyn Read, visit: &mut VisitKey<'_>) -> Result<bool> {
        let Scan {
            tree,
            ranges,
            at,
            reverse,
            tail,
        } = self;
        let mut vain = 0;
        while let Some(range) = ranges.get(*at) {
            let own = (as_slice(&range.from), as_slice(&range.to));
            if is_empty(&own) {
                *at += 1;
                continue;
            }
            let bounds = match ranges.last() {
                Some(last) if vain < MOST_VAIN && !*reverse => (own.0, as_slice(&last.to)),
                Some(last) if vain < MOST_VAIN => (as_slice(&last.from), own.1),
                _ => own,
            };
            let bounds = if is_empty(&bounds) { own } else { bounds };
            let is_joined = bounds != own;
            let (mut current, mut strays) = (*at, 0);
            let (mut misses, mut jump) = (0, None);
            let mut place = None;
            read.scan(*tree, bounds, *reverse, &mut |key, value| {
                loop {
                    let Some(range) = ranges.get(current) else {
                        return Ok(ControlFlow::Break(()));
                    };
                    match side(key, range, *reverse) {
                        Side::Inside => break,
                        Side::Behind => current += 1,
                        Side::Before => {
                            strays += 1;
                            return Ok(match strays > MOST_STRAYS {
                                true => ControlFlow::Break(()),
                                false => ControlFlow::Continue(()),
                            });
                        }
                    }
                }
                strays = 0;
                let entry = Entry {
                    tree: *tree,
                    key,
                    value,
                };
                if let Some(tail) = tail
                    && let Spot::Behind(edge) = tail.spot(key, *reverse)?
                {
                    misses += 1;
                    return Ok(match visit(entry, None)? {
                        Flow::Stop => {
                            place = Some(key.to_vec());
                            ControlFlow::Break(())
                        }
                        Flow::Continue if misses > MOST_STRAYS => {
                            jump = Some(edge);
                            ControlFlow::Break(())
                        }
                        Flow::Continue => ControlFlow::Continue(()),
                    });
                }
                misses = 0;
                let record = record_of(
                    key.get(key.len().saturating_sub(RECORD_BYTES)..)
                        .unwrap_or_default(),
                )?;
                Ok(match visit(entry, Some(record))? {
                    Flow::Continue => ControlFlow::Continue(()),
                    Flow::Stop => {
                        place = Some(key.to_vec());
                        ControlFlow::Break(())
                    }
                })
            })?;
            let is_stopped = place.is_some();
            if let Some(key) = place.or(jump) {
                *at = current;
                if let Some(range) = ranges.get_mut(current) {
                    cut(range, key, *reverse);
                }
                if is_stopped {
                    return Ok(true);
                }
                continue;
            }
            *at = match (is_joined, strays > MOST_STRAYS) {
                (true, true) => {
                    // Where it has not even left its own range it is to go by itself.
                    vain += match current - *at {
                        0 => MOST_VAIN,
                        1 => 1,
                        _ => 0,
                    };
                    current
                }
                (true, false) => ranges.len(),
                (false, _) => *at + 1,
            };
        }
        Ok(false)
    }
}

/// Leaves of a range what lies behind the key.
fn cut(range: &mut KeyRange, key: Vec<u8>, reverse: bool) {
    match reverse {
        true => range.to = Bound::Excluded(key),
        false => range.from = Bound::Excluded(key),
    }
}

/// Where a key is, in the direction of a walk.
enum Side {
    Before,
    Inside,
    Behind,
}

fn side(key: &[u8], range: &KeyRange, reverse: bool) -> Side {
    let is_below = match &range.from {
        Bound::Included(from) => key < from.as_slice(),
        Bound::Excluded(from) => key <= from.as_slice(),
        Bound::Unbounded => false,
    };
    let is_above = match &range.to {
        Bound::Included(to) => key > to.as_slice(),
        Bound::Excluded(to) => key >= to.as_slice(),
        Bound::Unbounded => false,
    };
    match (is_below, is_above, reverse) {
        (false, false, _) => Side::Inside,
        (true, _, false) | (_, true, true) => Side::Before,
        _ => Side::Behind,
    }
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// Whether no key can lie between the bounds; ordered maps panic on such ranges.
fn is_empty(bounds: &(Bound<&[u8]>, Bound<&[u8]>)) -> bool {
    match bounds {
        (Bound::Included(from), Bound::Included(to)) => from > to,
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to))
        | (Bound::Excluded(from), Bound::Included(to)) => from >= to,
        _ => false,
    }
}

pub(super) fn record_of(key: &[u8]) -> Result<u64> {
    let bytes: [u8; 8] = key
        .try_into()
        .map_err(|_| Fault::of(Class::Corrupt, code::INTERNAL, "malformed record key"))?;
    Ok(u64::from_be_bytes(bytes))
}
