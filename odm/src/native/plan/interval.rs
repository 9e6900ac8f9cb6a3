//! Sets of keys of one component, as disjoint intervals between cuts.

use std::cmp::Ordering;
use std::ops::Bound;

use super::KeyRange;

/// A place between keys: before or after all keys that start with some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Before(Vec<u8>),
    After(Vec<u8>),
}

impl Cut {
    fn bytes(&self) -> &[u8] {
        match self {
            Cut::Before(bytes) | Cut::After(bytes) => bytes,
        }
    }

    /// The same place in a component whose bytes are complemented: the order turns round.
    fn complemented(&self) -> Cut {
        let bytes = self.bytes().iter().map(|byte| !byte).collect();
        match self {
            Cut::Before(_) => Cut::After(bytes),
            Cut::After(_) => Cut::Before(bytes),
        }
    }

    /// As a lower bound behind a prefix of other components.
    fn lower(&self, prefix: &[u8]) -> Option<Bound<Vec<u8>>> {
        let whole = [prefix, self.bytes()].concat();
        match self {
            Cut::Before(_) if whole.is_empty() => Some(Bound::Unbounded),
            Cut::Before(_) => Some(Bound::Included(whole)),
            Cut::After(_) => successor(whole).map(Bound::Included),
        }
    }

    /// As an upper bound behind a prefix of other components.
    fn upper(&self, prefix: &[u8]) -> Option<Bound<Vec<u8>>> {
        let whole = [prefix, self.bytes()].concat();
        match self {
            Cut::Before(_) if whole.is_empty() => None,
            Cut::Before(_) => Some(Bound::Excluded(whole)),
            Cut::After(_) => Some(successor(whole).map_or(Bound::Unbounded, Bound::Excluded)),
        }
    }
}

impl PartialOrd for Cut {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Cut {
    fn cmp(&self, other: &Self) -> Ordering {
        let (own, their) = (self.bytes(), other.bytes());
        let shared = own.len().min(their.len());
        match own[..shared].cmp(&their[..shared]) {
            Ordering::Equal => {}
            different => return different,
        }
        // One is a prefix of the other: the shorter one's cut lies before or after everything of the longer one.
        match own.len().cmp(&their.len()) {
            Ordering::Equal => matches!(self, Cut::After(_)).cmp(&matches!(other, Cut::After(_))),
            Ordering::Less if matches!(self, Cut::Before(_)) => Ordering::Less,
            Ordering::Less => Ordering::Greater,
            Ordering::Greater if matches!(other, Cut::Before(_)) => Ordering::Greater,
            Ordering::Greater => Ordering::Less,
        }
    }
}

/// The least byte string above all that start with `bytes`; none when they are all 0xFF.
fn successor(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = bytes.pop() {
        if last < 0xFF {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}

/// A set of keys: disjoint, ascending intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Intervals(Vec<(Cut, Cut)>);

impl Intervals {
    /// No key.
    pub(super) fn none() -> Intervals {
        Intervals(Vec::new())
    }

    /// Every key.
    pub(super) fn all() -> Intervals {
        Intervals(vec![(Cut::Before(Vec::new()), Cut::After(Vec::new()))])
    }

    /// The keys between two cuts.
    pub(super) fn between(from: Cut, to: Cut) -> Intervals {
        if from < to { Intervals(vec![(from, to)]) } else { Intervals::none() }
    }

    /// The keys that start with these bytes.
    pub(super) fn prefix(bytes: Vec<u8>) -> Intervals {
        Intervals(vec![(Cut::Before(bytes.clone()), Cut::After(bytes))])
    }

    /// The keys of either set.
    pub(super) fn union(mut self, other: Intervals) -> Intervals {
        self.0.extend(other.0);
        self.0.sort();
        let mut merged: Vec<(Cut, Cut)> = Vec::with_capacity(self.0.len());
        for (from, to) in self.0 {
            match merged.last_mut() {
                Some(last) if from <= last.1 => {
                    if to > last.1 {
                        last.1 = to;
                    }
                }
                _ => merged.push((from, to)),
            }
        }
        Intervals(merged)
    }

    /// The keys of both sets.
    pub(super) fn intersect(&self, other: &Intervals) -> Intervals {
        let mut out = Vec::new();
        for (from, to) in &self.0 {
            for (their_from, their_to) in &other.0 {
                let (low, high) = (from.max(their_from), to.min(their_to));
                if low < high {
                    out.push((low.clone(), high.clone()));
                }
            }
        }
        out.sort();
        Intervals(out)
    }

    /// The keys outside.
    pub(super) fn complement(&self) -> Intervals {
        let mut out = Vec::new();
        let mut from = Cut::Before(Vec::new());
        for (low, high) in &self.0 {
            if from < *low {
                out.push((from, low.clone()));
            }
            from = high.clone();
        }
        let end = Cut::After(Vec::new());
        if from < end {
            out.push((from, end));
        }
        Intervals(out)
    }

    /// Whether no key is inside.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every key is inside.
    pub(super) fn is_all(&self) -> bool {
        *self == Intervals::all()
    }

    /// Whether every key of this set is in the other.
    pub(super) fn is_within(&self, other: &Intervals) -> bool {
        self.0.iter().all(|(from, to)| other.0.iter().any(|(low, high)| low <= from && to <= high))
    }

    /// The single values inside, when it is a set of single values: an interval around exactly one prefix.
    pub(super) fn points(&self) -> Option<Vec<&[u8]>> {
        self.0
            .iter()
            .map(|(from, to)| match (from, to) {
                (Cut::Before(a), Cut::After(b)) if a == b && !a.is_empty() => Some(a.as_slice()),
                _ => None,
            })
            .collect()
    }

    /// The intervals as key ranges behind a prefix, in the order of the stored keys.
    pub(super) fn ranges(&self, prefix: &[u8], descending: bool, out: &mut Vec<KeyRange>) {
        let mut push = |from: &Cut, to: &Cut| {
            if let (Some(from), Some(to)) = (from.lower(prefix), to.upper(prefix)) {
                out.push(KeyRange { from, to });
            }
        };
        if descending {
            for (from, to) in self.0.iter().rev() {
                push(&to.complemented(), &from.complemented());
            }
        } else {
            for (from, to) in &self.0 {
                push(from, to);
            }
        }
    }
}
