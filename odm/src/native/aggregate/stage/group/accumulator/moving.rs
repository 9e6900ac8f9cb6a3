//! What accumulators gather of a window that documents enter and leave.

use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

use super::super::super::super::super::collation::Collation;
use super::super::super::super::super::document::{Items, Owned, Value};
use super::super::super::super::super::fault::Result;
use super::super::super::super::expression::Scope;
use super::super::super::Context;
use super::state::{State, check_bounded, check_items, held};
use super::{Accumulator, Operator, Which};

/// The documents of a window: the first that enters is the first that leaves.
pub(in super::super::super) struct Inside<'a> {
    accumulator: &'a Accumulator,
    collation: &'a Collation,
    kept: Kept,
    /// How many have entered and left: the numbers of the next ones.
    entered: u64,
    left: u64,
    /// Of those that are in.
    bytes: usize,
}

/// What a document is to an accumulator.
#[derive(Clone, Debug)]
pub(in super::super::super) struct Entry {
    /// What it is ordered, or known again, by.
    key: Vec<u8>,
    value: Owned,
}

impl Entry {
    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        self.key.len() + held(&self.value.as_value())
    }
}

enum Kept {
    Count,
    /// Those that may yet be the best, with their numbers: each is better than all that entered behind it.
    Best(VecDeque<(u64, Owned)>),
    Set(BTreeMap<Vec<u8>, VecDeque<Owned>>),
    List {
        items: VecDeque<Owned>,
        most: usize,
    },
    /// By their keys, and by their numbers where these are equal.
    Ranked {
        items: BTreeMap<(Vec<u8>, u64), Owned>,
        most: usize,
    },
}

impl Accumulator {
    /// What it gathers of windows, of which the first is empty.
    ///
    /// # Errors
    /// A count of values that is none.
    pub(in super::super::super) fn inside<'a>(&'a self, context: &'a Context<'_>) -> Result<Inside<'a>> {
        let kept = match (&self.operator, self.start(&Owned::Null, context)?) {
            (Operator::Count, _) => Kept::Count,
            (Operator::Min | Operator::Max, _) => Kept::Best(VecDeque::new()),
            (Operator::AddToSet, _) => Kept::Set(BTreeMap::new()),
            (_, State::Ranked { most, .. }) => Kept::Ranked {
                items: BTreeMap::new(),
                most,
            },
            (_, state) => Kept::List {
                items: VecDeque::new(),
                most: match state {
                    State::Bounded { most, .. } => most,
                    _ => usize::MAX,
                },
            },
        };
        Ok(Inside {
            accumulator: self,
            collation: &context.collation,
            kept,
            entered: 0,
            left: 0,
            bytes: 0,
        })
    }

    /// What a document is to it; `None` where it makes no difference.
    pub(in super::super::super) fn entry(&self, scope: &Scope<'_>) -> Result<Option<Entry>> {
        let answer = self.input.answer(scope)?;
        let value = answer.value();
        let with_key = |value: Value<'_>| {
            let mut key = Vec::new();
            scope.collation.encode(&value, false, &mut key);
            Entry {
                key,
                value: value.into(),
            }
        };
        let alone = |value: Option<Value<'_>>| Entry {
            key: Vec::new(),
            value: value.map_or(Owned::Null, Owned::from),
        };
        let is_there = |value: &Value<'_>| !matches!(value, Value::Null | Value::Undefined);
        Ok(match &self.operator {
            Operator::Ranked { order, .. } => Some(Entry {
                key: match order.wanted().is_empty() {
                    true => order.key_of_values(scope.root)?,
                    false => order.key_with(scope.root, scope.metadata)?,
                },
                ..alone(value)
            }),
            Operator::Count | Operator::Several(Which::First | Which::Last, _) => Some(alone(value)),
            Operator::Several(..) => value.filter(is_there).map(with_key),
            Operator::AddToSet => value.map(with_key),
            Operator::Min | Operator::Max => value.filter(is_there).map(|value| alone(Some(value))),
            _ => value.map(|value| alone(Some(value))),
        })
    }
}

impl Inside<'_> {
    pub(in super::super::super) fn enter(&mut self, entry: &Entry) -> Result<()> {
        let number = self.entered;
        self.entered += 1;
        self.bytes += entry.bytes();
        let value = &entry.value;
        match &mut self.kept {
            Kept::Count => {}
            Kept::Best(best) => {
                // Of equals the first is the least, and the last the greatest.
                let is_max = matches!(self.accumulator.operator, Operator::Max);
                let is_beaten =
                    |other: &Owned| match self.collation.compare(&value.as_value(), &other.as_value()) {
                        Ordering::Less => !is_max,
                        Ordering::Equal | Ordering::Greater => is_max,
                    };
                while best.back().is_some_and(|(_, other)| is_beaten(other)) {
                    best.pop_back();
                }
                best.push_back((number, value.clone()));
            }
            Kept::Set(set) => {
                set.entry(entry.key.clone()).or_default().push_back(value.clone());
                check_items(self.bytes, "set", set.len())?;
            }
            Kept::List { items, .. } => {
                items.push_back(value.clone());
                check_items(self.bytes, "array", items.len())?;
            }
            Kept::Ranked { items, .. } => {
                items.insert((entry.key.clone(), number), value.clone());
                check_bounded(self.bytes)?;
            }
        }
        Ok(())
    }

    pub(in super::super::super) fn leave(&mut self, entry: &Entry) {
        let number = self.left;
        self.left += 1;
        self.bytes = self.bytes.saturating_sub(entry.bytes());
        match &mut self.kept {
            Kept::Count => {}
            Kept::Best(best) => {
                if best.front().is_some_and(|(first, _)| *first == number) {
                    best.pop_front();
                }
            }
            Kept::Set(set) => {
                if let Some(equals) = set.get_mut(&entry.key) {
                    equals.pop_front();
                    if equals.is_empty() {
                        set.remove(&entry.key);
                    }
                }
            }
            Kept::List { items, .. } => {
                items.pop_front();
            }
            Kept::Ranked { items, .. } => {
                items.remove(&(entry.key.clone(), number));
            }
        }
    }

    /// The result for those that are in.
    pub(in super::super::super) fn result(&self) -> Owned {
        match &self.kept {
            Kept::Count => {
                let count = self.entered - self.left;
                i32::try_from(count).map_or(Owned::Int64(count as i64), Owned::Int32)
            }
            Kept::Best(best) => best.front().map_or(Owned::Null, |(_, value)| value.clone()),
            // A set that is sorted.
            Kept::Set(set) => array(set.values().filter_map(VecDeque::front)),
            Kept::List { items, most } => {
                let skipped = match self.accumulator.operator {
                    Operator::Several(Which::Last, _) => items.len().saturating_sub(*most),
                    _ => 0,
                };
                array(items.iter().skip(skipped).take(*most))
            }
            Kept::Ranked { items, most } => {
                let (which, is_ranked) = match &self.accumulator.operator {
                    Operator::Ranked { which, .. } => (*which, true),
                    Operator::Several(which, _) => (*which, false),
                    _ => (Which::Min, false),
                };
                let mut best: Vec<&Owned> = match which {
                    Which::Max | Which::LastMax => items.values().rev().take(*most).collect(),
                    _ => items.values().take(*most).collect(),
                };
                // The last of an order stand in it; the greatest come first.
                if is_ranked && matches!(which, Which::Max | Which::LastMax) {
                    best.reverse();
                }
                match self.accumulator.operator {
                    Operator::Ranked { count: None, .. } => {
                        best.first().map_or(Owned::Null, |value| (*value).clone())
                    }
                    _ => array(best.into_iter()),
                }
            }
        }
    }
}

fn array<'a>(values: impl Iterator<Item = &'a Owned>) -> Owned {
    values.map(Owned::as_value).collect::<Items>().into_owned()
}
