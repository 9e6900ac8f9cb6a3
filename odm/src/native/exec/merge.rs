//! Walking several parts of indexes at once, in the order that they share: a sort merge.

use std::collections::VecDeque;

use super::super::fault::Result;
use super::super::heap;
use super::super::matcher::Matcher;
use super::super::plan::Stream;
use super::super::storage::Read;
use super::scan::{Entry, Scan};
use super::walk::Flow;

/// How many keys are read at once of a part at most.
const MOST_KEYS: usize = 64;

/// A walk over parts whose records come in the order of all of them.
#[derive(Debug)]
pub(super) struct Merge {
    sources: Vec<Source>,
    /// In which order they are asked for their next keys where the walk goes on.
    order: Vec<usize>,
}

/// One of the parts.
#[derive(Debug)]
struct Source {
    stream: Stream,
    /// What lies behind the keys that were read.
    rest: Scan,
    /// The same before they were read.
    before: Scan,
    /// Keys that were read and not taken.
    ahead: VecDeque<Ahead>,
    /// The last key that was taken of those that were read.
    taken: Option<Vec<u8>>,
    /// Whether the next key was counted already.
    is_counted: bool,
    /// How many keys to read at once.
    most: usize,
}

/// A key that was read.
#[derive(Debug)]
struct Ahead {
    place: Vec<u8>,
    key: Vec<u8>,
    value: Vec<u8>,
    record: u64,
}

/// What the walk says of the keys of indexes, by the position of their scan.
pub(super) enum Seen<'a> {
    /// It was looked at, and leads to a record or to nothing.
    Key(usize),
    /// It is the next in order; what is asked of its document.
    Record(usize, Entry<'a>, u64, Option<&'a Matcher>),
}

impl Merge {
    /// Of streams with their scans.
    pub(super) fn new(scans: impl IntoIterator<Item = (Stream, Scan)>) -> Merge {
        let sources = scans.into_iter().map(|(stream, rest)| Source {
            stream,
            before: rest.clone(),
            rest,
            ahead: VecDeque::new(),
            taken: None,
            is_counted: false,
            most: 1,
        });
        let sources: Vec<Source> = sources.collect();
        Merge {
            order: (0..sources.len()).collect(),
            sources,
        }
    }

    /// How many scans it has.
    pub(super) fn len(&self) -> usize {
        self.sources.len()
    }

    /// What is left of each, for who only counts.
    pub(super) fn scans(&mut self) -> impl Iterator<Item = &mut Scan> {
        self.sources.iter_mut().map(|source| &mut source.rest)
    }

    /// Visits keys as they are looked at, and records in order; `true` when the visitor stopped: the walk goes on behind.
    pub(super) fn go_on(
        &mut self,
        read: &dyn Read,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<Flow>,
    ) -> Result<bool> {
        let stopped = self.in_order(read, visit)?;
        // What is read ahead may be another's by the time that the walk goes on.
        for source in &mut self.sources {
            source.put_back();
        }
        Ok(stopped)
    }

    /// Keeps the heap as it is for when the walk goes on, and the source last that a key was taken from.
    fn keep_order(&mut self, heads: &Heads, last: usize) {
        let heads = heads.0.iter().map(|(_, position)| *position);
        let mut order: Vec<usize> = heads.chain([last]).collect();
        let mut is_kept = vec![false; self.sources.len()];
        order.iter().for_each(|position| is_kept[*position] = true);
        order.extend((0..self.sources.len()).filter(|position| !is_kept[*position]));
        self.order = order;
    }

    fn in_order(&mut self, read: &dyn Read, visit: &mut dyn FnMut(Seen<'_>) -> Result<Flow>) -> Result<bool> {
        let mut heads = Heads(Vec::with_capacity(self.sources.len()));
        for position in self.order.clone() {
            let source = &mut self.sources[position];
            if source.next(position, read, visit)? == Flow::Stop {
                return Ok(true);
            }
            heads.extend(source.place().map(|place| (place, position)));
        }
        while let Some(position) = heads.pop() {
            let source = &mut self.sources[position];
            let tree = source.rest.tree();
            let Some(taken) = source.take() else { continue };
            let entry = Entry {
                tree,
                key: &taken.key,
                value: &taken.value,
            };
            let flow = visit(Seen::Record(position, entry, taken.record, source.stream.asked()))?;
            source.taken = Some(taken.key);
            if flow == Flow::Stop {
                self.keep_order(&heads, position);
                return Ok(true);
            }
            if source.next(position, read, visit)? == Flow::Stop {
                return Ok(true);
            }
            heads.extend(source.place().map(|place| (place, position)));
        }
        Ok(false)
    }
}

/// Where the next key of each source is in the order, in a heap.
struct Heads(Vec<(Vec<u8>, usize)>);

impl Heads {
    fn extend(&mut self, head: Option<(Vec<u8>, usize)>) {
        if let Some(head) = head {
            self.0.push(head);
            heap::rise(&mut self.0, &is_behind);
        }
    }

    /// Takes the source of the first key.
    fn pop(&mut self) -> Option<usize> {
        let last = self.0.pop()?;
        let Some(first) = self.0.first_mut() else {
            return Some(last.1);
        };
        let (_, position) = std::mem::replace(first, last);
        heap::settle(&mut self.0, &is_behind);
        Some(position)
    }
}

fn is_behind(one: &(Vec<u8>, usize), another: &(Vec<u8>, usize)) -> bool {
    one.0 > another.0
}

impl Source {
    /// Has the next key at hand, if there is one.
    fn next(
        &mut self,
        position: usize,
        read: &dyn Read,
        visit: &mut dyn FnMut(Seen<'_>) -> Result<Flow>,
    ) -> Result<Flow> {
        if self.ahead.is_empty() {
            self.before = self.rest.clone();
            self.taken = None;
            let (stream, ahead, most) = (&self.stream, &mut self.ahead, self.most);
            let mut is_over = false;
            self.rest.go_on(read, &mut |entry, record| {
                let Some(record) = record else {
                    let flow = visit(Seen::Key(position))?;
                    is_over = flow == Flow::Stop;
                    return Ok(flow);
                };
                ahead.push_back(Ahead {
                    place: stream.place(entry.key)?,
                    key: entry.key.to_vec(),
                    value: entry.value.to_vec(),
                    record,
                });
                Ok(if ahead.len() < most {
                    Flow::Continue
                } else {
                    Flow::Stop
                })
            })?;
            self.most = (most * 2).min(MOST_KEYS);
            if is_over {
                return Ok(Flow::Stop);
            }
        }
        if self.ahead.is_empty() || std::mem::replace(&mut self.is_counted, true) {
            return Ok(Flow::Continue);
        }
        visit(Seen::Key(position))
    }

    /// Where the next key is in the order.
    fn place(&mut self) -> Option<Vec<u8>> {
        self.ahead
            .front_mut()
            .map(|entry| std::mem::take(&mut entry.place))
    }

    fn take(&mut self) -> Option<Ahead> {
        self.is_counted = false;
        self.ahead.pop_front()
    }

    /// Forgets the keys that were read and not taken: they are read again.
    fn put_back(&mut self) {
        if self.ahead.is_empty() {
            return;
        }
        self.ahead.clear();
        self.rest.clone_from(&self.before);
        if let Some(taken) = self.taken.take() {
            self.rest.go_behind(&taken);
        }
        self.most = 1;
    }
}
