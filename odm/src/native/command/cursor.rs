//! Cursors that stay open between commands.

mod in_use;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use self::in_use::InUse;
use super::super::document::{Doc, MAX_DOCUMENT_BYTES, Owned};
use super::super::engine::View;
use super::super::exec::aggregate::AggregateCursor;
use super::super::exec::cursor::{FindCursor, Packed};
use super::super::exec::tail::TailCursor;
use super::super::exec::watch::WatchCursor;
use super::super::fault::{Fault, Result, code};
use super::super::storage::Read;
use super::reply::{self, Reply};

/// How many cursors stay open; opening one more closes the one that was idle longest.
const MOST: usize = 1_000;

/// How long an unused cursor stays open, as on the server.
const IDLE: Duration = Duration::from_secs(600);

/// How many documents a first batch carries when nobody says.
const FIRST_BATCH: usize = 101;

/// How many bytes of documents a batch has at most, unless its first one has more.
const BATCH_BYTES: usize = MAX_DOCUMENT_BYTES;

/// Documents that a command answers with, read as they are asked for.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(super) ns: String,
    pub(super) rows: Rows,
    /// Of the first batch.
    pub(super) batch_size: Option<usize>,
    /// Whether the first batch is all that is wanted.
    pub(super) single: bool,
    /// Whether the batch stands last in the reply.
    pub(super) listing: bool,
    /// Whether it stays open however long it is not used.
    pub(super) stays: bool,
}

/// Where the documents come from.
#[derive(Debug)]
pub(super) enum Rows {
    Find(Box<FindCursor>),
    Pipeline(Box<AggregateCursor>),
    /// What a collection gets, from its newest state.
    Tail(Box<TailCursor>),
    /// What changes, from the newest state.
    Changes(Box<WatchCursor>),
    Held(VecDeque<Vec<u8>>),
    /// What did not fit into the last batch, and where the others come from.
    Left(VecDeque<Vec<u8>>, Box<Rows>),
}

/// What a cursor reads that has no state of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    Collection,
    Changes,
}

/// The documents of one answer.
struct Batch {
    documents: Vec<Vec<u8>>,
    bytes: usize,
    most: Option<usize>,
}

impl Batch {
    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.most.is_some_and(|most| self.documents.len() >= most)
    }

    /// Adds documents as long as they fit; gives back the others.
    fn fill(&mut self, rows: impl IntoIterator<Item = Vec<u8>>) -> VecDeque<Vec<u8>> {
        let mut rows = rows.into_iter().peekable();
        while let Some(next) = rows.peek()
            && !self.is_full()
            && (self.documents.is_empty() || self.bytes + next.len() <= BATCH_BYTES)
        {
            self.bytes += next.len();
            self.documents.extend(rows.next());
        }
        rows.collect()
    }
}

/// What a reading gave.
struct Given {
    documents: Vec<Vec<u8>>,
    /// Whether there may be more.
    more: bool,
    /// Where a change stream is.
    token: Option<Vec<u8>>,
}

impl Given {
    /// The reply with this batch, of a cursor that goes on by this number.
    fn reply(self, batch: &str, id: i64, ns: &str) -> Vec<u8> {
        match self.token {
            Some(token) => reply::changes(batch, self.documents, (token, !self.more), id, ns),
            None => reply::cursor(batch, self.documents, id, ns),
        }
    }
}

/// What is asked of an open cursor.
#[derive(Debug)]
pub(crate) struct More {
    pub(super) id: i64,
    pub(super) ns: String,
    pub(super) batch_size: Option<usize>,
    /// How long it is to wait.
    pub(super) patience: Option<Duration>,
}

/// What a cursor still has to give, and the state of the database it reads; in a transaction everything is read
/// at once.
#[derive(Debug)]
struct Waiting {
    ns: String,
    rows: Rows,
    view: Option<Arc<View>>,
    used: Instant,
    stays: bool,
}

impl Waiting {
    fn is_idle(&self, now: Instant) -> bool {
        !self.stays && now.saturating_duration_since(self.used) >= IDLE
    }
}

/// A cursor of the table.
#[derive(Debug)]
enum Slot {
    Waiting(Waiting),
    /// Taken out while it is read, so that others need not wait for it.
    InUse {
        killed: bool,
    },
}

impl Slot {
    fn waiting(&self) -> Option<&Waiting> {
        match self {
            Slot::Waiting(waiting) => Some(waiting),
            Slot::InUse { .. } => None,
        }
    }
}

/// The cursors of one engine.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: Mutex<HashMap<i64, Slot>>,
}

impl Rows {
    /// The next documents.
    fn next(&mut self, read: Option<&dyn Read>, most: Option<usize>) -> Result<Given> {
        let mut batch = Batch {
            documents: Vec::new(),
            bytes: 0,
            most,
        };
        let more = self.fill(read, &mut batch)?;
        let (is_full, documents) = (batch.is_full(), batch.documents);
        let token = match documents.last() {
            // What comes next is not looked at yet.
            Some(last) if is_full || self.has_left() => {
                let is_of_changes = self.follows() == Some(Follows::Changes);
                Doc::Raw(last)
                    .get("_id")
                    .filter(|_| is_of_changes)
                    .and_then(|id| id.as_document().map(|id| id.to_bytes()))
            }
            _ => self.token(),
        };
        Ok(Given {
            documents,
            more,
            token,
        })
    }

    fn fill(&mut self, read: Option<&dyn Read>, batch: &mut Batch) -> Result<bool> {
        if let Rows::Left(left, rest) = self {
            *left = batch.fill(std::mem::take(left));
            if !left.is_empty() {
                return Ok(true);
            }
            let rest = std::mem::replace(&mut **rest, Rows::Held(VecDeque::new()));
            *self = rest;
        }
        if let Rows::Held(rows) = self {
            *rows = batch.fill(std::mem::take(rows));
            return Ok(!rows.is_empty());
        }
        let Some(read) = read else {
            return Ok(false);
        };
        while !batch.is_full() {
            let most = batch.most.map(|most| most - batch.documents.len());
            let Some(packed) = self.batch(read, most)? else {
                return Ok(false);
            };
            if packed.len() == 0 {
                return Ok(true);
            }
            let rows = (0..packed.len()).filter_map(|at| packed.get(at));
            let left = batch.fill(rows.map(<[u8]>::to_vec));
            if !left.is_empty() {
                let rest = std::mem::replace(self, Rows::Held(VecDeque::new()));
                *self = Rows::Left(left, Box::new(rest));
                return Ok(true);
            }
        }
        Ok(!self.is_done())
    }

    fn batch(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Option<Packed>> {
        match self {
            Rows::Find(cursor) => cursor.next_batch_of(read, most),
            Rows::Pipeline(cursor) => cursor.next_batch_of(read, most),
            Rows::Tail(cursor) => cursor.next_batch_of(read, most),
            Rows::Changes(cursor) => changes(cursor, read, most),
            Rows::Held(_) | Rows::Left(..) => Ok(None),
        }
    }

    /// Whether a server asks stages for it: it does not look whether more comes behind a first batch that is full.
    fn is_of_stages(&self) -> bool {
        match self {
            Rows::Find(cursor) => cursor.is_on_view(),
            Rows::Pipeline(_) => true,
            Rows::Tail(_) | Rows::Changes(_) | Rows::Held(_) | Rows::Left(..) => false,
        }
    }

    /// What it follows, if that is what it does.
    fn follows(&self) -> Option<Follows> {
        match self {
            Rows::Tail(_) => Some(Follows::Collection),
            Rows::Changes(_) => Some(Follows::Changes),
            Rows::Left(_, rest) => rest.follows(),
            Rows::Find(_) | Rows::Pipeline(_) | Rows::Held(_) => None,
        }
    }

    /// Whether it waits for what comes.
    fn awaits(&self) -> bool {
        match self {
            Rows::Tail(cursor) => cursor.awaits(),
            Rows::Changes(_) => true,
            Rows::Left(_, rest) => rest.awaits(),
            Rows::Find(_) | Rows::Pipeline(_) | Rows::Held(_) => false,
        }
    }

    /// Where a change stream is.
    fn token(&self) -> Option<Vec<u8>> {
        match self {
            Rows::Changes(cursor) => Some(cursor.token()),
            _ => None,
        }
    }

    fn has_left(&self) -> bool {
        matches!(self, Rows::Left(..))
    }

    fn is_done(&self) -> bool {
        match self {
            Rows::Find(cursor) => cursor.is_done(),
            Rows::Pipeline(cursor) => cursor.is_done(),
            // Of a stream that is over, it is told when more is asked for.
            Rows::Tail(_) | Rows::Changes(_) => false,
            Rows::Held(rows) => rows.is_empty(),
            Rows::Left(left, rest) => left.is_empty() && rest.is_done(),
        }
    }
}

/// The next changes; nothing when there will be none.
fn changes(cursor: &mut WatchCursor, read: &dyn Read, most: Option<usize>) -> Result<Option<Packed>> {
    loop {
        let events = cursor.next_batch_of(read, most)?;
        if events.batch.len() > 0 {
            return Ok(Some(events.batch));
        }
        if cursor.is_over() {
            return Ok(None);
        }
        if !events.more {
            return Ok(Some(Packed::default()));
        }
    }
}

impl Cursors {
    fn open(&self) -> MutexGuard<'_, HashMap<i64, Slot>> {
        // What is in the table is whole at any time.
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// How many cursors are open.
    pub(crate) fn count(&self) -> usize {
        self.open().len()
    }

    /// Answers with the first batch and keeps the rest. Without a view to keep, the rest is read now.
    pub(crate) fn answer(&self, opened: Opened, read: &dyn Read, view: Option<Arc<View>>) -> Result<Vec<u8>> {
        let Opened {
            ns,
            mut rows,
            batch_size,
            single,
            listing,
            stays,
        } = opened;
        if view.is_none() && rows.follows().is_some() {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                "It is illegal to open a tailable cursor in a transaction",
            ));
        }
        let most = batch_size.unwrap_or(FIRST_BATCH);
        let mut first = match most {
            0 => Given {
                documents: Vec::new(),
                more: true,
                token: rows.token(),
            },
            most => rows.next(Some(read), Some(most))?,
        };
        first.more |= first.documents.len() == most && rows.is_of_stages();
        let id = if first.more && !single {
            if view.is_none() {
                let mut held = VecDeque::new();
                loop {
                    let given = rows.next(Some(read), None)?;
                    held.extend(given.documents);
                    if !given.more {
                        break;
                    }
                }
                rows = Rows::Held(held);
            }
            // What is followed is not a state.
            let view = view.filter(|_| rows.follows().is_none());
            self.keep(ns.clone(), rows, view, stays)
        } else {
            0
        };
        Ok(if listing {
            reply::listing(first.documents, id, &ns)
        } else {
            first.reply("firstBatch", id, &ns)
        })
    }

    fn keep(&self, ns: String, rows: Rows, view: Option<Arc<View>>, stays: bool) -> i64 {
        let used = Instant::now();
        self.close_idle(used);
        let mut open = self.open();
        if open.len() >= MOST
            && let Some(oldest) = open
                .iter()
                .filter_map(|(id, slot)| Some((*id, slot.waiting()?.used)))
                .min_by_key(|(_, used)| *used)
                .map(|(id, _)| id)
        {
            open.remove(&oldest);
        }
        let id = loop {
            let id = fresh_id();
            if id != 0 && !open.contains_key(&id) {
                break id;
            }
        };
        let waiting = Waiting {
            ns,
            rows,
            view,
            used,
            stays,
        };
        open.insert(id, Slot::Waiting(waiting));
        id
    }

    /// Closes the cursors that have not been used for long: each keeps a state of the database from being given up.
    pub(crate) fn close_idle(&self, now: Instant) {
        let idle: Vec<_> = {
            let mut open = self.open();
            let is_idle = |slot: &Slot| slot.waiting().is_some_and(|waiting| waiting.is_idle(now));
            open.extract_if(|_, slot| is_idle(slot)).collect()
        };
        // Giving a state up may take the store a while: not under the lock.
        drop(idle);
    }

    /// Takes an open cursor, to be read.
    ///
    /// # Errors
    /// Code 43 when there is no such cursor, 143 when somebody reads it, 13 when it is of another collection, 2 when it is to
    /// wait and does not.
    pub(crate) fn take(&self, asked: More) -> Result<InUse<'_>> {
        let id = asked.id;
        let missing = || Fault::new(code::CURSOR_NOT_FOUND, format!("cursor id {id} not found"));
        let mut open = self.open();
        let slot = open.get_mut(&id).ok_or_else(missing)?;
        let Some(waiting) = slot.waiting() else {
            return Err(Fault::new(143, format!("cursor id {id} is already in use")));
        };
        if waiting.is_idle(Instant::now()) {
            open.remove(&id);
            return Err(missing());
        }
        if waiting.ns != asked.ns {
            return Err(Fault::new(
                13,
                format!(
                    "Requested getMore on namespace '{}', but cursor belongs to a different namespace {}",
                    asked.ns, waiting.ns
                ),
            ));
        }
        if asked.patience.is_some() && !waiting.rows.awaits() {
            return Err(Fault::new(
                code::BAD_VALUE,
                "cannot set maxTimeMS on getMore command for a non-awaitData cursor",
            ));
        }
        let Slot::Waiting(cursor) = std::mem::replace(slot, Slot::InUse { killed: false }) else {
            return Err(missing());
        };
        Ok(InUse {
            cursors: self,
            asked,
            cursor: Some(cursor),
            has_waited: false,
        })
    }

    /// Closes cursors, of whatever collections; the reply to `killCursors`.
    pub(crate) fn kill(&self, ids: &[i64]) -> Vec<u8> {
        let mut open = self.open();
        let (mut killed, mut missing) = (Vec::new(), Vec::new());
        for id in ids {
            match open.get_mut(id) {
                Some(Slot::InUse { killed }) => *killed = true,
                Some(Slot::Waiting(_)) => drop(open.remove(id)),
                None => {
                    missing.push(Owned::Int64(*id));
                    continue;
                }
            }
            killed.push(Owned::Int64(*id));
        }
        Reply::new()
            .with("cursorsKilled", Owned::Array(killed))
            .with("cursorsNotFound", Owned::Array(missing))
            .with("cursorsAlive", Owned::Array(Vec::new()))
            .with("cursorsUnknown", Owned::Array(Vec::new()))
            .done()
    }
}

/// A number that nobody guesses by counting.
fn fresh_id() -> i64 {
    let bytes = bson::Uuid::new().bytes();
    let mut id = [0; 8];
    id.copy_from_slice(&bytes[..8]);
    i64::from_be_bytes(id) & i64::MAX
}
