//! Walking the records that a plan's access names, resumable between batches.

use std::collections::HashSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::super::catalog::{Collection, IndexEntry};
use super::super::fault::{Class, Fault, Result, code};
use super::super::key;
use super::super::matcher::Matcher;
use super::super::plan::{Access, Cover, Leap, Made, Plan, Sieve};
use super::super::storage::Read;
use super::super::storage::format;
use super::super::tally::{self, Examined};
use super::Deadline;
use super::merge::{Merge, Seen};
use super::scan::{Entry, Scan, record_of};
use super::search;

/// A walk over the records that an access names, in its order. Each record comes once.
#[derive(Debug)]
pub(crate) struct Walk {
    parts: Vec<Part>,
    current: usize,
    seen: Option<HashSet<u64>>,
    /// The records that a scan has left to others, by part and position: an index may lead to one by many keys.
    left: HashSet<(usize, usize, u64)>,
    pub(crate) deadline: Deadline,
    pub(crate) examined: Examined,
    /// After so many keys it stops where it passes one over.
    pub(super) most_keys: u64,
    cover: Option<Arc<Cover>>,
    sieve: Option<Arc<Sieve>>,
    leap: Option<Arc<Leap>>,
    made: Made,
    /// Whether records that are come by without an index have their checksums compared.
    compares: bool,
    /// How many records are to be passed over yet.
    passed: u64,
    /// What each scan did, where it is asked.
    told: Option<Box<Told>>,
}

/// What the scans of a walk did, one after the other; those of a merge are scans of their own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    pub(crate) scans: Vec<Scanned>,
    /// The place of the part that the walk is at among them.
    at: usize,
}

/// What a scan did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) keys: u64,
    /// How many keys led to a record.
    pub(crate) entries: u64,
    /// How many of the records no key had led to before.
    pub(crate) led: u64,
    /// How many of these were read, passed over, or made of their keys: all that conditions on keys let through.
    pub(crate) given: u64,
}

impl Told {
    fn scan(&mut self, position: usize) -> &mut Scanned {
        let at = self.at + position;
        if self.scans.len() <= at {
            self.scans.resize(at + 1, Scanned::default());
        }
        &mut self.scans[at]
    }
}

#[derive(Debug)]
enum Part {
    /// The collection's records in their own order.
    Records {
        reverse: bool,
        after: Option<[u8; 8]>,
    },
    /// A scan, and what is asked of the documents that it leads to: another part may give one that it does not.
    Index(Scan, Option<Arc<Matcher>>),
    Merge(Merge),
}

/// After so many keys of one value the next value is looked for.
const MOST_SAME: usize = 4;

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
            tally::scans();
        }
        Walk::uncounted(plan, collection, deadline).comparing(false)
    }

    /// The same of what the engine does by itself, with what it then copies or removes.
    pub(crate) fn uncounted(plan: &Plan, collection: &Collection, deadline: Deadline) -> Walk {
        let seen = plan.repeats.then(HashSet::new);
        let mut parts = Vec::new();
        collect_parts(&plan.access, None, collection, &mut parts);
        Walk {
            parts,
            current: 0,
            seen,
            left: HashSet::new(),
            deadline,
            examined: Examined::default(),
            most_keys: u64::MAX,
            cover: plan.cover.clone(),
            sieve: plan.sieve.clone(),
            leap: plan.leap.clone(),
            made: Made::default(),
            compares: true,
            passed: 0,
            told: None,
        }
    }

    /// The same, which compares the checksum of each record: nothing that is damaged is to be written with a new one.
    pub(crate) fn comparing(mut self, compares: bool) -> Walk {
        self.compares = compares;
        self
    }

    /// The same, which tells what each of its scans does.
    pub(crate) fn telling(mut self) -> Walk {
        self.told = Some(Box::default());
        self
    }

    /// What its scans did, where it was asked before.
    pub(crate) fn told(&self) -> Option<&Told> {
        self.told.as_deref()
    }

    /// Passes over so many of the first records without reading their documents, where all that it comes by is found; how
    /// many are left to pass over.
    pub(crate) fn pass_over(&mut self, plan: &Plan, count: u64) -> u64 {
        if !plan.exact || plan.leap.is_some() || plan.text.is_some() {
            return count;
        }
        self.passed = count;
        0
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
        let mut found = Finding {
            read,
            collection,
            deadline: &mut self.deadline,
            examined: &mut self.examined,
            seen: &mut self.seen,
            left: &mut self.left,
            part: self.current,
            most_keys: self.most_keys,
            cover: self.cover.as_deref(),
            sieve: self.sieve.as_deref(),
            made: &mut self.made,
            compares: self.compares,
            passed: &mut self.passed,
            told: self.told.as_deref_mut(),
            visit,
        };
        while let Some(part) = self.parts.get_mut(self.current) {
            found.part = self.current;
            let stopped = match part {
                Part::Records { reverse, after } => {
                    let mut last = None;
                    let place = after.as_ref().map(|key| key.as_slice());
                    let range = match (place, *reverse) {
                        (None, _) => (Bound::Unbounded, Bound::Unbounded),
                        (Some(key), false) => (Bound::Excluded(key), Bound::Unbounded),
                        (Some(key), true) => (Bound::Unbounded, Bound::Excluded(key)),
                    };
                    read.scan(collection.records, range, *reverse, &mut |key, stored| {
                        let record = record_of(key)?;
                        Ok(match found.document(record, key, stored)? {
                            Flow::Continue => ControlFlow::Continue(()),
                            Flow::Stop => {
                                last = Some(record.to_be_bytes());
                                ControlFlow::Break(())
                            }
                        })
                    })?;
                    let stopped = last.is_some();
                    *after = last.or(*after);
                    stopped
                }
                Part::Index(scan, asked) => match &self.leap {
                    Some(leap) => found.leap(scan, leap)?,
                    None => scan.go_on(read, &mut |entry, record| {
                        let flow = found.key(0)?;
                        let asked = asked.as_deref();
                        record.map_or(Ok(flow), |record| found.entry(0, entry, record, asked))
                    })?,
                },
                Part::Merge(merge) => merge.go_on(read, &mut |seen| match seen {
                    Seen::Key(position) => found.key(position),
                    Seen::Record(position, entry, record, asked) => {
                        found.entry(position, entry, record, asked)
                    }
                })?,
            };
            if stopped {
                return Ok(false);
            }
            if let Some(told) = found.told.as_deref_mut() {
                told.at += part.scans();
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
            let mut told = self.told.as_deref_mut();
            let mut visit = |record: Option<u64>| {
                deadline.tick()?;
                examined.keys += 1;
                let is_new =
                    record.is_some_and(|record| seen.as_mut().is_none_or(|seen| seen.insert(record)));
                count += u64::from(is_new);
                if let Some(told) = told.as_deref_mut() {
                    let scan = told.scan(0);
                    scan.keys += 1;
                    scan.entries += u64::from(record.is_some());
                    scan.led += u64::from(is_new);
                    scan.given += u64::from(is_new);
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
                Part::Index(scan, _) => {
                    scan.go_on(read, &mut |_, record| visit(record))?;
                }
                Part::Merge(merge) => {
                    for scan in merge.scans() {
                        if scan.go_on(read, &mut |_, record| visit(record))? {
                            break;
                        }
                    }
                }
            }
            if is_enough {
                break;
            }
            if let Some(told) = self.told.as_deref_mut() {
                told.at += part.scans();
            }
        }
        Ok(count)
    }
}

/// What indexes lead to, as a walk comes by it.
struct Finding<'a> {
    read: &'a dyn Read,
    collection: &'a Collection,
    deadline: &'a mut Deadline,
    examined: &'a mut Examined,
    seen: &'a mut Option<HashSet<u64>>,
    left: &'a mut HashSet<(usize, usize, u64)>,
    /// The part that is walked.
    part: usize,
    most_keys: u64,
    cover: Option<&'a Cover>,
    sieve: Option<&'a Sieve>,
    made: &'a mut Made,
    compares: bool,
    passed: &'a mut u64,
    told: Option<&'a mut Told>,
    visit: &'a mut dyn FnMut(u64, &[u8]) -> Result<Flow>,
}

impl Finding<'_> {
    /// A key is looked at.
    fn key(&mut self, position: usize) -> Result<Flow> {
        self.deadline.tick()?;
        self.examined.keys += 1;
        if let Some(told) = &mut self.told {
            told.scan(position).keys += 1;
        }
        Ok(match self.examined.keys >= self.most_keys {
            true => Flow::Stop,
            false => Flow::Continue,
        })
    }

    /// A record is come by without an index.
    #[inline]
    fn document(&mut self, record: u64, key: &[u8], stored: &[u8]) -> Result<Flow> {
        self.deadline.tick()?;
        self.examined.documents += 1;
        if *self.passed > 0 {
            if self.is_new(record) {
                *self.passed -= 1;
            }
            return Ok(Flow::Continue);
        }
        let document = match self.compares {
            true => format::unseal(self.collection.records, key, stored)?,
            false => format::without_checksum(self.collection.records, key, stored)?,
        };
        match self.is_new(record) {
            true => (self.visit)(record, document),
            false => Ok(Flow::Continue),
        }
    }

    /// Whether the walk did not come by it before.
    #[inline]
    fn is_new(&mut self, record: u64) -> bool {
        self.seen.as_mut().is_none_or(|seen| seen.insert(record))
    }

    /// A key leads to a record that is new: what the key does not tell is read. `asked` is what is asked of it here.
    fn entry(
        &mut self,
        position: usize,
        entry: Entry<'_>,
        record: u64,
        asked: Option<&Matcher>,
    ) -> Result<Flow> {
        let is_left = asked.is_some() && self.left.contains(&(self.part, position, record));
        let is_new = !is_left && self.is_new(record);
        if let Some(told) = &mut self.told {
            let scan = told.scan(position);
            scan.entries += 1;
            scan.led += u64::from(is_new);
        }
        if !is_new {
            return Ok(Flow::Continue);
        }
        if *self.passed > 0 {
            *self.passed -= 1;
            self.tell_given(position);
            return Ok(Flow::Continue);
        }
        let Some(cover) = self.cover else {
            if let Some(sieve) = self.sieve {
                let types = format::unseal_entry(entry.tree, entry.key, entry.value)?;
                if !sieve.passes(entry.key, types, self.made) {
                    return Ok(Flow::Continue);
                }
            }
            self.tell_given(position);
            return self.record(position, record, asked);
        };
        self.tell_given(position);
        let types = format::unseal_entry(entry.tree, entry.key, entry.value)?;
        match cover.make(entry.key, types, self.made) {
            true => match asked {
                Some(asked) if !search::matches(asked, self.made.document())? => {
                    Ok(self.leave(position, record))
                }
                _ => (self.visit)(record, self.made.document()),
            },
            false => self.record(position, record, asked),
        }
    }

    /// The record is left to another part, which may lead to it too.
    fn leave(&mut self, position: usize, record: u64) -> Flow {
        self.left.insert((self.part, position, record));
        if let Some(seen) = self.seen {
            seen.remove(&record);
        }
        Flow::Continue
    }

    fn tell_given(&mut self, position: usize) {
        if let Some(told) = &mut self.told {
            told.scan(position).given += 1;
        }
    }

    /// Goes through a scan from one value to the next; `true` when the visitor stopped.
    fn leap(&mut self, scan: &mut Scan, leap: &Leap) -> Result<bool> {
        let (mut last, mut same) = (Vec::new(), 0);
        loop {
            let mut is_enough = false;
            let stopped = scan.go_on(self.read, &mut |entry, record| {
                let flow = self.key(0)?;
                let Some(record) = record else { return Ok(flow) };
                match leap.shared(entry.key) {
                    Some(shared) if shared == last => {
                        same += 1;
                        is_enough = same >= MOST_SAME;
                        Ok(if is_enough { Flow::Stop } else { flow })
                    }
                    shared => {
                        last.clear();
                        last.extend_from_slice(shared.unwrap_or_default());
                        same = 0;
                        self.entry(0, entry, record, None)
                    }
                }
            })?;
            if !is_enough {
                return Ok(stopped);
            }
            if !scan.is_reverse() {
                last.push(key::AFTER);
            }
            scan.go_behind(&last);
            last.clear();
            same = 0;
        }
    }

    /// A record is read.
    fn record(&mut self, position: usize, record: u64, asked: Option<&Matcher>) -> Result<Flow> {
        let (records, key) = (self.collection.records, record.to_be_bytes());
        let stored = self.read.get(records, &key)?;
        let stored = stored.ok_or_else(|| dangling(self.collection, record))?;
        self.examined.documents += 1;
        let document = format::unseal(records, &key, &stored)?;
        if let Some(asked) = asked
            && !search::matches(asked, document)?
        {
            return Ok(self.leave(position, record));
        }
        match self.cover {
            None => (self.visit)(record, document),
            Some(cover) => {
                cover.pick(document, self.made);
                (self.visit)(record, self.made.document())
            }
        }
    }
}

impl Part {
    /// How many scans it is.
    fn scans(&self) -> usize {
        match self {
            Part::Records { .. } | Part::Index(..) => 1,
            Part::Merge(merge) => merge.len(),
        }
    }
}

fn collect_parts(
    access: &Access,
    asked: Option<&Arc<Matcher>>,
    collection: &Collection,
    parts: &mut Vec<Part>,
) {
    match access {
        Access::Nothing => {}
        Access::Collection { reverse } => parts.push(match clustered_index(collection) {
            // The order of a clustered collection is that of `_id`.
            Some(entry) => Part::Index(Scan::whole(entry.tree, *reverse), None),
            None => Part::Records {
                reverse: *reverse,
                after: None,
            },
        }),
        Access::Index { .. } => {
            let scan = Scan::new(access, collection);
            parts.extend(scan.map(|scan| Part::Index(scan, asked.cloned())));
        }
        Access::Union(union) => {
            for part in union {
                collect_parts(&part.access, part.asked.as_ref(), collection, parts);
            }
        }
        Access::Merge(streams) => {
            let scans = streams.iter().filter_map(|stream| {
                let scan = Scan::new(&stream.access, collection)?;
                Some((stream.clone(), scan))
            });
            parts.push(Part::Merge(Merge::new(scans)));
        }
    }
}

fn clustered_index(collection: &Collection) -> Option<&IndexEntry> {
    collection.indexes.iter().find(|entry| entry.definition.clustered)
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
