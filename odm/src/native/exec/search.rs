//! Finding the documents of a query, in its order.

use std::cmp::Ordering;

use super::super::aggregate::pipeline::{Memory, OVER_MEMORY, SORT_OVER_MEMORY};
use super::super::catalog::Collection;
use super::super::document::Doc;
use super::super::fault::{Fault, Result};
use super::super::heap::First;
use super::super::kept;
use super::super::matcher::Matcher;
use super::super::plan::Plan;
use super::super::storage::Read;
use super::super::tally::Examined;
use super::Deadline;
use super::batch::is_fatal;
use super::query::{Order, Query};
use super::walk::{Flow, Walk};

/// A document that a query found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) record: u64,
    pub(crate) document: Vec<u8>,
}

/// Whether a document matches.
#[inline]
pub(crate) fn test(query: &Query, plan: &Plan, document: &[u8]) -> Result<bool> {
    let matcher = match (&plan.text, &plan.asked) {
        (Some(text), _) => &text.matcher,
        (None, Some(asked)) => asked,
        (None, None) => &query.matcher,
    };
    Ok(plan.exact || matches(matcher, document)?)
}

/// Whether a document matches a filter, as a query asks it.
#[inline]
pub(super) fn matches(matcher: &Matcher, document: &[u8]) -> Result<bool> {
    matcher.matches(Doc::Raw(document)).map_err(as_in_a_query)
}

/// The fault of a filter's expression, as a query words it: the server asks expressions there as they were before it had
/// one that looks for a constant set.
#[cold]
fn as_in_a_query(fault: Fault) -> Fault {
    match fault.code() {
        NO_SUBSET_OF_CONSTANT => fault.coded(NO_SUBSET),
        _ => fault,
    }
}

const NO_SUBSET: i32 = 17046;
const NO_SUBSET_OF_CONSTANT: i32 = 17310;

/// How many documents to find.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) skip: u64,
    /// `None`: all.
    pub(crate) limit: Option<u64>,
    /// How much may be held to bring documents in order.
    pub(crate) memory: Memory,
    /// Whether they are to be written.
    pub(crate) is_to_write: bool,
}

/// Finds all documents at once, in the query's order.
pub(crate) fn all(
    read: &dyn Read,
    collection: &Collection,
    query: &Query,
    plan: &Plan,
    limits: Limits,
    deadline: Deadline,
) -> Result<(Vec<Found>, Examined)> {
    if let Some(found) = nearest(read, collection, query, plan, limits, deadline)? {
        return Ok(found);
    }
    let mut walk = Walk::new(plan, collection, deadline).comparing(limits.is_to_write);
    let keep = limits
        .limit
        .map(|limit| usize::try_from(limit.saturating_add(limits.skip)).unwrap_or(usize::MAX));
    let mut found = match query.order_after(plan) {
        None => {
            let mut found = Vec::new();
            in_order(read, collection, query, plan, limits, &mut walk, &mut found)?;
            return Ok((found, walk.examined));
        }
        Some(order) => {
            let wanted = order.wanted();
            let mut top = Top::new(keep, query.kept());
            let mut key = Vec::new();
            walk.documents(read, collection, &mut |record, document| {
                if test(query, plan, document)? {
                    let known = match wanted.is_empty() {
                        true => None,
                        false => Some(query.known(Some(plan), Doc::Raw(document), wanted)?),
                    };
                    key.clear();
                    order.write_key(Doc::Raw(document), known.as_ref(), &mut key)?;
                    top.offer(&key, record, document);
                    limits.memory.hold(top.held, OVER_MEMORY, SORT_OVER_MEMORY)?;
                }
                Ok(Flow::Continue)
            })?;
            top.into_sorted()
        }
    };
    let skip = usize::try_from(limits.skip)
        .unwrap_or(usize::MAX)
        .min(found.len());
    found.drain(..skip);
    Ok((found, walk.examined))
}

/// Finds documents one after another, as the walk comes by them.
fn in_order(
    read: &dyn Read,
    collection: &Collection,
    query: &Query,
    plan: &Plan,
    limits: Limits,
    walk: &mut Walk,
    found: &mut Vec<Found>,
) -> Result<()> {
    if limits.limit == Some(0) {
        return Ok(());
    }
    let skip = walk.pass_over(plan, limits.skip);
    let mut skipped = 0;
    walk.documents(read, collection, &mut |record, document| {
        if !test(query, plan, document)? {
            return Ok(Flow::Continue);
        }
        if skipped < skip {
            skipped += 1;
            return Ok(Flow::Continue);
        }
        found.push(Found {
            record,
            document: document.to_vec(),
        });
        let is_last = limits.limit.is_some_and(|limit| found.len() as u64 >= limit);
        Ok(if is_last { Flow::Stop } else { Flow::Continue })
    })?;
    Ok(())
}

/// Finds the documents to write, and why no more were found: the server writes each as it comes by it, so that what it
/// found before a condition fails is written.
pub(crate) fn to_write(
    read: &dyn Read,
    collection: &Collection,
    query: &Query,
    is_multi: bool,
    deadline: Deadline,
) -> Result<(Vec<Found>, Result<()>)> {
    let limit = (!is_multi).then_some(1);
    let plan = query.plan(read, collection, limit, deadline)?;
    let limits = Limits {
        skip: 0,
        limit,
        memory: Memory::of(true),
        is_to_write: true,
    };
    if query.order_after(&plan).is_some() {
        let (found, _) = all(read, collection, query, &plan, limits, deadline)?;
        return Ok((found, Ok(())));
    }
    let mut walk = Walk::new(&plan, collection, deadline).comparing(true);
    let mut found = Vec::new();
    let ended = in_order(read, collection, query, &plan, limits, &mut walk, &mut found);
    match ended {
        Err(fault) if is_fatal(&fault) => Err(fault),
        ended => Ok((found, ended)),
    }
}

/// The first distance within which the nearest documents are looked for: a kilometer of an Earth of radius one.
const FIRST_DISTANCE: f64 = 1.0 / 6378.1;

/// The nearest documents, looked for in growing circles; `None` when the documents are not just the nearest.
fn nearest(
    read: &dyn Read,
    collection: &Collection,
    query: &Query,
    plan: &Plan,
    limits: Limits,
    deadline: Deadline,
) -> Result<Option<(Vec<Found>, Examined)>> {
    let order = query.order_after(plan).filter(Order::is_by_distance);
    let (Some(_), Some(field), Some(limit)) = (order, query.near(), limits.limit) else {
        return Ok(None);
    };
    let wanted = usize::try_from(limit.saturating_add(limits.skip)).unwrap_or(usize::MAX);
    let mut examined = Examined::default();
    for radius in field.near.radii(FIRST_DISTANCE) {
        let within = query.within(radius);
        let plan = Plan {
            exact: false,
            ..within.plan(read, collection, Some(limit), deadline)?
        };
        let mut walk = Walk::new(&plan, collection, deadline);
        let mut top = Top::new(Some(wanted), query.kept()).stable();
        let mut key = Vec::new();
        walk.documents(read, collection, &mut |record, document| {
            if test(&within, &plan, document)? {
                key.clear();
                if let Some(order) = within.order_after(&plan) {
                    order.write_key(Doc::Raw(document), None, &mut key)?;
                }
                top.offer(&key, record, document);
            }
            Ok(Flow::Continue)
        })?;
        examined.keys += walk.examined.keys;
        examined.documents += walk.examined.documents;
        let mut found = top.into_sorted();
        if found.len() >= wanted || radius >= field.near.max() {
            let skip = usize::try_from(limits.skip)
                .unwrap_or(usize::MAX)
                .min(found.len());
            found.drain(..skip);
            return Ok(Some((found, examined)));
        }
    }
    Ok(Some((Vec::new(), examined)))
}

/// The first `keep` of the offered documents by key, or all of them.
struct Top<'a> {
    /// What is kept of a document, if that is not all.
    fields: Option<&'a kept::Kept>,
    first: First<Ranked>,
    is_stable: bool,
    offered: u64,
    /// Bytes.
    held: usize,
}

/// Small, because a heap moves it: what mostly decides, and the rest elsewhere.
struct Ranked {
    /// The first bytes of the key.
    head: u64,
    order: u64,
    kept: Box<Kept>,
}

struct Kept {
    key: Vec<u8>,
    found: Found,
}

/// The first bytes of a key, in whose order keys are as far as they go.
fn head(key: &[u8]) -> u64 {
    match key.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            let mut first = [0; 8];
            first[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(first)
        }
    }
}

/// The order of documents by their keys. Equals keep that in which they came, or are equal: the first of a few are then
/// those that the server has.
#[inline]
fn ranks(is_stable: bool) -> impl Fn(&Ranked, &Ranked) -> Ordering {
    move |one, another| match one.head.cmp(&another.head) {
        Ordering::Equal => {
            let keys = one.kept.key.cmp(&another.kept.key);
            keys.then_with(|| match is_stable {
                true => one.order.cmp(&another.order),
                false => Ordering::Equal,
            })
        }
        order => order,
    }
}

impl<'a> Top<'a> {
    /// Keeps the first `keep`, or all.
    fn new(keep: Option<usize>, fields: Option<&'a kept::Kept>) -> Top<'a> {
        Top {
            fields,
            first: First::of(keep.unwrap_or(usize::MAX)),
            is_stable: false,
            offered: 0,
            held: 0,
        }
    }

    /// The same, with equals as they came.
    fn stable(self) -> Top<'a> {
        Top {
            is_stable: true,
            ..self
        }
    }

    /// Takes a document if its key is among the first so far.
    fn offer(&mut self, key: &[u8], record: u64, document: &[u8]) {
        let order = self.offered;
        self.offered += 1;
        let head = head(key);
        let fields = self.fields;
        let copy = |out: &mut Vec<u8>| match fields {
            None => out.extend_from_slice(document),
            Some(fields) => fields.write(document, out),
        };
        let Some(worst) = self.first.worst() else {
            let mut copied = Vec::new();
            copy(&mut copied);
            self.held += key.len() + copied.len();
            let found = Found {
                record,
                document: copied,
            };
            let key = key.to_vec();
            let ranked = Ranked {
                head,
                order,
                kept: Box::new(Kept { key, found }),
            };
            return self.first.push(ranked, &ranks(self.is_stable));
        };
        // A later document with an equal key never displaces an earlier one.
        let is_less = match head.cmp(&worst.head) {
            Ordering::Equal => key < worst.kept.key.as_slice(),
            order => order.is_lt(),
        };
        if is_less {
            // Where documents come in the reverse order each of them comes here.
            let change = |worst: &mut Ranked| {
                (worst.head, worst.order) = (head, order);
                let Kept { key: own, found } = &mut *worst.kept;
                own.clear();
                own.extend_from_slice(key);
                found.record = record;
                found.document.clear();
                copy(&mut found.document);
            };
            self.first.replace(change, &ranks(self.is_stable));
        }
    }

    /// The kept documents in order.
    fn into_sorted(self) -> Vec<Found> {
        let sorted = self.first.into_sorted(&ranks(self.is_stable));
        sorted.into_iter().map(|ranked| ranked.kept.found).collect()
    }
}
