//! Sets of index components: what a predicate leaves of one field of an index.

use super::super::collation::Collation;
use super::super::document::Value;
use super::super::document::compare::rank;
use super::super::key::{AFTER, BEFORE, END, rank_bytes};

/// The components from `from` up to, not including, `to`, as ascending bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) from: Vec<u8>,
    pub(crate) to: Vec<u8>,
}

/// Disjoint intervals in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Intervals(Vec<Interval>);

impl Interval {
    /// Whether exactly one component is in it: a value's, between just before and just after it.
    pub(crate) fn is_point(&self) -> bool {
        match (self.from.split_last(), self.to.split_last()) {
            (Some((&BEFORE, from)), Some((&AFTER, to))) => !from.is_empty() && from == to,
            _ => false,
        }
    }

    /// The same values' components as complemented bytes.
    fn reversed(&self) -> Interval {
        Interval {
            from: reversed_edge(&self.to),
            to: reversed_edge(&self.from),
        }
    }
}

/// What is at or after an edge ascending is before it when complemented.
fn reversed_edge(edge: &[u8]) -> Vec<u8> {
    let complement: Vec<u8> = edge.iter().map(|byte| !byte).collect();
    successor(complement)
}

/// The least bytes after everything that starts with `prefix`.
pub(super) fn successor(mut prefix: Vec<u8>) -> Vec<u8> {
    while let Some(last) = prefix.pop() {
        if last < 0xFF {
            prefix.push(last + 1);
            return prefix;
        }
    }
    vec![0xFF]
}

/// The edge just before a value's component.
pub(super) fn before(value: &Value<'_>, collation: &Collation) -> Vec<u8> {
    edge(value, BEFORE, collation)
}

/// The edge just after a value's component.
pub(super) fn after(value: &Value<'_>, collation: &Collation) -> Vec<u8> {
    edge(value, AFTER, collation)
}

fn edge(value: &Value<'_>, side: u8, collation: &Collation) -> Vec<u8> {
    let mut out = Vec::new();
    collation.encode(value, false, &mut out);
    out.push(side);
    out
}

/// The edge before the first component of a rank.
pub(super) fn start_of(rank: u8) -> Vec<u8> {
    vec![*rank_bytes(rank).start()]
}

/// The edge after the last component of a rank.
pub(super) fn end_of(rank: u8) -> Vec<u8> {
    vec![*rank_bytes(rank).end() + 1]
}

/// The edge before the first number that is not NaN.
pub(super) fn start_of_numbers() -> Vec<u8> {
    vec![rank::NUMBER + 1]
}

impl Intervals {
    /// Every component.
    pub(crate) fn all() -> Intervals {
        Intervals::range(vec![BEFORE], vec![AFTER])
    }

    /// No component.
    pub(crate) fn none() -> Intervals {
        Intervals(Vec::new())
    }

    /// From an edge to an edge.
    pub(crate) fn range(from: Vec<u8>, to: Vec<u8>) -> Intervals {
        if from < to {
            Intervals(vec![Interval { from, to }])
        } else {
            Intervals::none()
        }
    }

    /// One value.
    pub(crate) fn point(value: &Value<'_>, collation: &Collation) -> Intervals {
        Intervals::range(before(value, collation), after(value, collation))
    }

    /// One component given as bytes.
    pub(crate) fn component(bytes: Vec<u8>) -> Intervals {
        let (mut from, mut to) = (bytes.clone(), bytes);
        from.push(BEFORE);
        to.push(AFTER);
        Intervals::range(from, to)
    }

    /// Several components given as bytes, in order and distinct.
    pub(crate) fn components(all: Vec<Vec<u8>>) -> Intervals {
        let point = |bytes: Vec<u8>| {
            let to = [&*bytes, &[AFTER]].concat();
            let mut from = bytes;
            from.push(BEFORE);
            Interval { from, to }
        };
        Intervals(all.into_iter().map(point).collect())
    }

    /// All values of a rank.
    pub(crate) fn rank(rank: u8) -> Intervals {
        Intervals::range(start_of(rank), end_of(rank))
    }

    /// What is in either.
    pub(crate) fn union(mut self, other: Intervals) -> Intervals {
        self.0.extend(other.0);
        self.0.sort_unstable_by(|a, b| a.from.cmp(&b.from));
        let mut merged: Vec<Interval> = Vec::with_capacity(self.0.len());
        for next in self.0 {
            match merged.last_mut() {
                Some(last) if next.from <= last.to => {
                    if next.to > last.to {
                        last.to = next.to;
                    }
                }
                _ => merged.push(next),
            }
        }
        Intervals(merged)
    }

    /// The union of many.
    pub(crate) fn union_all(sets: impl Iterator<Item = Intervals>) -> Intervals {
        Intervals(sets.flat_map(|set| set.0).collect()).union(Intervals::none())
    }

    /// What is in both.
    pub(crate) fn intersect(&self, other: &Intervals) -> Intervals {
        let mut common = Vec::new();
        let (mut i, mut j) = (0, 0);
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            let (from, to) = (a.from.clone().max(b.from.clone()), (&a.to).min(&b.to).clone());
            if from < to {
                common.push(Interval { from, to });
            }
            if a.to < b.to { i += 1 } else { j += 1 }
        }
        Intervals(common)
    }

    /// What is not in it.
    pub(crate) fn complement(&self) -> Intervals {
        let mut rest = Vec::with_capacity(self.0.len() + 1);
        let mut from = vec![BEFORE];
        for interval in &self.0 {
            if from < interval.from {
                rest.push(Interval {
                    from,
                    to: interval.from.clone(),
                });
            }
            from = interval.to.clone();
        }
        let end = vec![AFTER];
        if from < end {
            rest.push(Interval { from, to: end });
        }
        Intervals(rest)
    }

    /// Whether it has strings, or what may hold some.
    pub(crate) fn has_text(&self) -> bool {
        let text = Intervals::range(start_of(rank::STRING), end_of(rank::ARRAY));
        !self.intersect(&text).is_empty()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether nothing is left out.
    pub(crate) fn is_all(&self) -> bool {
        matches!(&self.0[..], [only] if only.from == [BEFORE] && only.to == [AFTER])
    }

    /// Whether it is one value.
    pub(crate) fn is_one_point(&self) -> bool {
        matches!(&self.0[..], [only] if only.is_point())
    }

    /// Whether it is values only.
    pub(crate) fn is_points(&self) -> bool {
        self.0.iter().all(Interval::is_point)
    }

    /// Whether a value is in one of them.
    pub(crate) fn has(&self, value: &Value<'_>, collation: &Collation) -> bool {
        let mut component = Vec::new();
        collation.encode(value, false, &mut component);
        // An edge lies between components by what follows them.
        component.push(END);
        self.0
            .iter()
            .any(|own| own.from <= component && component < own.to)
    }

    /// Each of them alone.
    pub(super) fn each(&self) -> impl Iterator<Item = Intervals> {
        self.0.iter().map(|own| Intervals(vec![own.clone()]))
    }

    pub(crate) fn as_slice(&self) -> &[Interval] {
        &self.0
    }

    /// The intervals of the components as they are stored, in stored order.
    pub(crate) fn stored(&self, descending: bool) -> Vec<Interval> {
        if descending {
            self.0.iter().rev().map(Interval::reversed).collect()
        } else {
            self.0.clone()
        }
    }

    /// A guess of which part of an index it is, 0 to 1.
    pub(crate) fn fraction(&self) -> f64 {
        if self.is_empty() {
            0.0
        } else if self.is_points() {
            (0.01 * self.0.len() as f64).min(0.5)
        } else if self.is_all() {
            1.0
        } else if self.0.first().is_some_and(|first| first.from == [BEFORE]) {
            0.9
        } else if self
            .0
            .iter()
            .all(|interval| interval.from.len() > 1 && interval.to.len() > 1)
        {
            0.1
        } else {
            0.3
        }
    }
}
