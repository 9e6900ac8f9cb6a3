//! Walking the records that a plan's access names, resumable between batches.

use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::super::catalog::{Collection, IndexEntry};
use super::super::fault::{Class, Fault, Result, code};
use super::super::plan::{Access, KeyRange, Plan, Spot, Tail};
use super::super::storage::format;
use super::super::storage::{Read, TreeId};
use super::{Deadline, Examined, tally};

/// How many bytes of an index entry's key are the record id.
pub(crate) const RECORD_BYTES: usize = 8;

/// A walk over the records that an access names, in its order. Each record comes once.
#[derive(Debug)]
pub(crate) struct Walk {
    parts: Vec<Part>,
    current: usize,
    seen: Option<HashSet<u64>>,
    pub(crate) deadline: Deadline,
    pub(crate) examined: Examined,
    /// After so many keys it stops where it passes one over.
    pub(super) most_keys: u64,
}

#[derive(Debug)]
enum Part {
    Records {
        reverse: bool,
        after: Option<[u8; 8]>,
    },
    Index {
        tree: TreeId,
        ranges: Vec<KeyRange>,
        at: usize,
        reverse: bool,
        tail: Option<Arc<Tail>>,
    },
}

/// What a visitor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Continue,
    /// Stop after this record; the walk goes on behind it.
    Stop,
}

impl Walk {
    /// A query's walk from the start.
    pub(crate) fn new(plan: &Plan, collection: &Collection, deadline: Deadline) -> Walk {
        if let Access::Collection { .. } = plan.access {
            collection.note_scan();
        }
        Walk::uncounted(plan, collection, deadline)
    }

    /// The same of what the engine does by itself.
    pub(crate) fn uncounted(plan: &Plan, collection: &Collection, deadline: Deadline) -> Walk {
        let seen = plan.repeats.then(HashSet::new);
        let mut parts = Vec::new();
        collect_parts(&plan.access, collection, &mut parts);
        Walk {
            parts,
            current: 0,
            seen,
            deadline,
            examined: Examined::default(),
            most_keys: u64::MAX,
        }
    }

    /// Visits records with their documents until the visitor stops or none is left; `true` when none is left.
    pub(crate) fn documents(
        &mut self,
        read: &dyn Read,
        collection: &Collection,
        visit: &mut dyn FnMut(u64, &[u8]) -> Result<Flow>,
    ) -> Result<bool> {
        let before = self.examined;
        let visited = self.go_on(read, collection, visit);
        tally::looked_at(before, self.examined);
        visited
    }

    /// The same, of which no operation gives account.
    pub(super) fn go_on(
        &mut self,
        read: &dyn Read,
        collection: &Collection,
        visit: &mut dyn FnMut(u64, &[u8]) -> Result<Flow>,
    ) -> Result<bool> {
        let records = collection.records;
        while let Some(part) = self.parts.get_mut(self.current) {
            let (deadline, examined, seen) = (&mut self.deadline, &mut self.examined, &mut self.seen);
            let most_keys = self.most_keys;
            let stopped = match part {
                Part::Records { reverse, after } => {
                    let mut last = None;
                    let mut stopped = false;
                    let place = after.as_ref().map(|key| key.as_slice());
                    let range = match (place, *reverse) {
                        (None, _) => (Bound::Unbounded, Bound::Unbounded),
                        (Some(key), false) => (Bound::Excluded(key), Bound::Unbounded),
                        (Some(key), true) => (Bound::Unbounded, Bound::Excluded(key)),
                    };
                    read.scan(records, range, *reverse, &mut |key, stored| {
                        deadline.tick()?;
                        let document = format::unseal(records, key, stored)?;
                        examined.documents += 1;
                        let record = record_of(key)?;
                        if let Some(seen) = seen
                            && !seen.insert(record)
                        {
                            return Ok(ControlFlow::Continue(()));
                        }
                        if visit(record, document)? == Flow::Stop {
                            last = Some(record.to_be_bytes());
                            stopped = true;
                            return Ok(ControlFlow::Break(()));
                        }
                        Ok(ControlFlow::Continue(()))
                    })?;
                    if stopped {
                        *after = last;
                    }
                    stopped
                }
                Part::Index { .. } => walk_index(part, read, &mut |record| {
                    deadline.tick()?;
                    examined.keys += 1;
                    let Some(record) = record else {
                        return Ok(match examined.keys >= most_keys {
                            true => Flow::Stop,
                            false => Flow::Continue,
                        });
                    };
                    if let Some(seen) = seen
                        && !seen.insert(record)
                    {
                        return Ok(Flow::Continue);
                    }
                    let key = record.to_be_bytes();
                    let stored = read
                        .get(records, &key)?
                        .ok_or_else(|| dangling(collection, record))?;
                    examined.documents += 1;
                    visit(record, format::unseal(records, &key, &stored)?)
                })?,
            };
            if stopped {
                return Ok(false);
            }
            self.current += 1;
        }
        Ok(true)
    }

    /// Counts records without reading documents, where every part is an index or the whole collection.
    pub(crate) fn count(&mut self, read: &dyn Read, collection: &Collection, up_to: u64) -> Result<u64> {
        let before = self.examined;
        let counted = self.count_on(read, collection, up_to, u64::MAX);
        tally::looked_at(before, self.examined);
        counted
    }

    /// The same, of which no operation gives account, and after so many keys at most; what indexes lead to is counted on
    /// from where the last count stopped.
    pub(super) fn count_on(
        &mut self,
        read: &dyn Read,
        collection: &Collection,
        up_to: u64,
        most_keys: u64,
    ) -> Result<u64> {
        let mut count = 0;
        let last = self.examined.keys.saturating_add(most_keys);
        let mut is_enough = false;
        for part in &mut self.parts {
            let (deadline, examined, seen) = (&mut self.deadline, &mut self.examined, &mut self.seen);
            let mut visit = |record: Option<u64>| {
                deadline.tick()?;
                examined.keys += 1;
                if let Some(record) = record
                    && seen.as_mut().is_none_or(|seen| seen.insert(record))
                {
                    count += 1;
                }
                is_enough = count >= up_to || examined.keys >= last;
                Ok(if is_enough { Flow::Stop } else { Flow::Continue })
            };
            match part {
                Part::Records { .. } => {
                    read.scan(
                        collection.records,
                        (Bound::Unbounded, Bound::Unbounded),
                        false,
                        &mut |key, _| {
                            Ok(match visit(Some(record_of(key)?))? {
                                Flow::Continue => ControlFlow::Continue(()),
                                Flow::Stop => ControlFlow::Break(()),
                            })
                        },
                    )?;
                }
                Part::Index { .. } => {
                    walk_index(part, read, &mut visit)?;
                }
            }
            if is_enough {
                break;
            }
        }
        Ok(count)
    }
}

fn collect_parts(access: &Access, collection: &Collection, parts: &mut Vec<Part>) {
    match access {
        Access::Nothing => {}
        Access::Collection { reverse } => parts.push(match clustered_index(collection) {
            // The order of a clustered collection is that of `_id`.
            Some(entry) => Part::Index {
                tree: entry.tree,
                ranges: vec![KeyRange {
                    from: Bound::Unbounded,
                    to: Bound::Unbounded,
                }],
                at: 0,
                reverse: *reverse,
                tail: None,
            },
            None => Part::Records {
                reverse: *reverse,
                after: None,
            },
        }),
        Access::Index {
            index,
            ranges,
            reverse,
            tail,
            ..
        } => {
            if let Some(entry) = collection.indexes.get(*index) {
                let mut stored = ranges.clone();
                if *reverse {
                    stored.reverse();
                }
                parts.push(Part::Index {
                    tree: entry.tree,
                    ranges: stored,
                    at: 0,
                    reverse: *reverse,
                    tail: tail.clone(),
                });
            }
        }
        Access::Union(union) => {
            for part in union {
                collect_parts(part, collection, parts);
            }
        }
    }
}

fn clustered_index(collection: &Collection) -> Option<&IndexEntry> {
    collection.indexes.iter().find(|entry| entry.definition.clustered)
}

/// So many entries between two ranges are passed over before the next range is looked for.
const MOST_STRAYS: usize = 4;

/// After so many vain looks for neighbors the ranges of a part are taken to be far from each other.
const MOST_VAIN: usize = 4;

/// Visits the record ids of an index part, and nothing for each key that does not hold what it has to; `true` when the
/// visitor stopped.
///
/// One scan goes through ranges that have little between them: looking for the start of a range costs more than passing
/// over a few entries.
fn walk_index(
    part: &mut Part,
    read: &dyn Read,
    visit: &mut dyn FnMut(Option<u64>) -> Result<Flow>,
) -> Result<bool> {
    let Part::Index {
        tree,
        ranges,
        at,
        reverse,
        tail,
    } = part
    else {
        return Ok(false);
    };
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
        read.scan(*tree, bounds, *reverse, &mut |key, _| {
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
            if let Some(tail) = tail
                && let Spot::Behind(edge) = tail.spot(key, *reverse)?
            {
                misses += 1;
                return Ok(match visit(None)? {
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
            Ok(match visit(Some(record))? {
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
                // The rest of this range is what lies behind the last key.
                match *reverse {
                    true => range.to = Bound::Excluded(key),
                    false => range.from = Bound::Excluded(key),
                }
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

fn record_of(key: &[u8]) -> Result<u64> {
    let bytes: [u8; 8] = key
        .try_into()
        .map_err(|_| Fault::of(Class::Corrupt, code::INTERNAL, "malformed record key"))?;
    Ok(u64::from_be_bytes(bytes))
}

pub(super) fn dangling(collection: &Collection, record: u64) -> Fault {
    Fault::of(
        Class::Corrupt,
        code::INTERNAL,
        format!(
            "an index of {} names record {record}, which does not exist",
            collection.name
        ),
    )
}
