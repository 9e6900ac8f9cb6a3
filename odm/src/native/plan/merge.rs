//! Several scans that have one order, made one that has it: what MongoDB calls a sort merge.

use std::sync::Arc;

use super::super::fault::{Class, Fault, Result, code};
use super::super::index::Order;
use super::super::key::{self, END};
use super::super::matcher::Matcher;
use super::{Access, Plan, PlanRequest};

/// How many scans a merge may have.
pub(super) const MOST_STREAMS: usize = 200;

/// A part of an index whose records come in the order that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) access: Access,
    /// For each field of the order its component in the index's keys.
    order: Vec<Component>,
    /// Per component of a key whether it is stored complemented, as far as the order needs it.
    complemented: Vec<bool>,
    /// The branch of an `$or` that it answers, if it is one of those.
    branch: Option<usize>,
    /// What is asked of the documents that it leads to: another stream may give one that it does not. `None` where it leads
    /// to nothing else, or all streams have one filter.
    asked: Option<Arc<Matcher>>,
}

/// Where a field of an order is in the keys of an index.
#[derive(Clone, Copy, Debug)]
struct Component {
    position: usize,
    /// Whether its stored bytes are in the opposite order.
    is_against: bool,
}

impl Stream {
    /// Of a scan that has the order; `None` where the index's keys do not hold the values of its fields.
    pub(super) fn new(request: &PlanRequest<'_>, access: Access) -> Option<Stream> {
        let Access::Index { index, .. } = &access else {
            return None;
        };
        let keys = &request.indexes.get(*index)?.definition.keys;
        let order = request.sort?.fields.iter().map(|field| {
            let position = keys.iter().position(|key| key.path == field.path)?;
            Some(Component {
                position,
                is_against: is_descending(keys[position].order)? != field.descending,
            })
        });
        let order = order.collect::<Option<Vec<Component>>>()?;
        let most = order.iter().map(|own| own.position + 1).max().unwrap_or(0);
        let complemented = keys.iter().take(most).map(|key| is_descending(key.order));
        Some(Stream {
            complemented: complemented.collect::<Option<_>>()?,
            access,
            order,
            branch: None,
            asked: None,
        })
    }

    /// The branch of an `$or` that it answers.
    pub(super) fn branch(&self) -> Option<usize> {
        self.branch
    }

    /// What is asked of the documents that it leads to.
    pub(crate) fn asked(&self) -> Option<&Matcher> {
        self.asked.as_deref()
    }

    /// The same, which gives no other documents than those.
    pub(super) fn asking(self, asked: Arc<Matcher>) -> Stream {
        Stream {
            asked: Some(asked),
            ..self
        }
    }

    /// The same, which answers this branch.
    pub(super) fn of_branch(self, branch: usize) -> Stream {
        Stream {
            branch: Some(branch),
            ..self
        }
    }

    /// The place of a key of the index in the order, as bytes that compare with those of other streams.
    ///
    /// # Errors
    /// Corrupt, where it is no key of the index.
    pub(crate) fn place(&self, key: &[u8]) -> Result<Vec<u8>> {
        let malformed = || Fault::of(Class::Corrupt, code::INTERNAL, "malformed index key");
        let mut ends = Vec::with_capacity(self.complemented.len() + 1);
        ends.push(0);
        let mut at = 0;
        for complemented in &self.complemented {
            let rest = key.get(at..).unwrap_or_default();
            at += key::length(rest, *complemented).ok_or_else(malformed)?;
            ends.push(at);
        }
        let mut place = Vec::with_capacity(at + 1);
        for component in &self.order {
            let start = place.len();
            place.extend_from_slice(&key[ends[component.position]..ends[component.position + 1]]);
            if component.is_against {
                key::complement(&mut place[start..]);
            }
        }
        place.push(END);
        Ok(place)
    }
}

/// Whether the components of a field are stored complemented; `None` where they are not values.
fn is_descending(order: Order) -> Option<bool> {
    match order {
        Order::Ascending => Some(false),
        Order::Descending => Some(true),
        _ => None,
    }
}

impl Plan {
    /// All that the streams give, in their order.
    pub(super) fn merged(mut streams: Vec<Stream>) -> Plan {
        let access = match streams.len() {
            0 => return Plan::nothing(),
            1 => streams.remove(0).access,
            _ => Access::Merge(streams),
        };
        Plan {
            access,
            sorted: true,
            exact: false,
            repeats: true,
            covered_count: false,
            by_id: false,
            text: None,
            asked: None,
            cover: None,
            sieve: None,
            leap: None,
        }
    }
}
