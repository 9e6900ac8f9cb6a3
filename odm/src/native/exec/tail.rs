//! Tailable cursors: what a capped collection gets after the cursor came to its end.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::time::Duration;

use super::super::catalog::{Collection, CollectionId};
use super::super::document::{Doc, number};
use super::super::fault::{Fault, Result, code};
use super::super::plan::{Plan, text_required};
use super::super::storage::{Read, format};
use super::cursor::{FindRequest, IN_GET_MORE, Packed, Shape};
use super::{place, search};

/// How a cursor waits at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// It gives an empty batch.
    Poll,
    /// It waits for the next document.
    Await,
}

/// How long a cursor waits for what comes unless it is said, as on the server.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// A cursor that outlives the state it began on: each batch is read from a newer one.
#[derive(Debug)]
pub(crate) struct TailCursor {
    request: FindRequest,
    followed: Option<Followed>,
    /// The last record seen.
    after: Option<u64>,
    /// Whether there was none behind it.
    at_end: bool,
    /// From the last document to the first; what comes then is not seen.
    backwards: bool,
    skip: u64,
    left: u64,
    batches: u64,
}

/// The collection that is followed.
#[derive(Debug)]
struct Followed {
    id: CollectionId,
    uuid: bson::Uuid,
}

/// Refuses an order that documents do not come in, and an end.
///
/// # Errors
/// Code 2.
pub(crate) fn check_followable(sort: Option<Doc<'_>>, single: bool) -> Result<()> {
    let is_forward = match sort.map(|sort| (sort.count(), sort.get("$natural"))) {
        None | Some((0, _)) => true,
        Some((1, Some(direction))) => number::as_f64(&direction) == Some(1.0),
        Some(_) => false,
    };
    let refused = match (is_forward, single) {
        (true, false) => return Ok(()),
        (true, true) => "the 'singleBatch' option",
        (false, _) => "a sort other than {$natural: 1}",
    };
    Err(Fault::new(
        code::BAD_VALUE,
        format!("cannot use tailable option with {refused}"),
    ))
}

impl TailCursor {
    /// Checks that the collection can be followed. One that does not exist gives nothing. Hints of indexes are for others:
    /// they do not have the order in which documents come.
    pub(crate) fn open(read: &dyn Read, mut request: FindRequest) -> Result<TailCursor> {
        check_followable(request.query.sort.as_ref().map(|sort| sort.spec()), false)?;
        if request.query.asks_near() {
            let message = "Tailable cursors and geo $near cannot be used together";
            return Err(Fault::new(code::BAD_VALUE, message));
        }
        request.settle(&super::view::collation_of(read.catalog(), &request.namespace))?;
        let ns = &request.namespace;
        super::view::refuse(read.catalog(), ns)
            .map_err(|_| Fault::new(168, "Tailable cursors are not supported in aggregation."))?;
        let collection = read.catalog().collection(&ns.database, &ns.collection);
        if let Some(collection) = collection {
            if request.query.searches_text() {
                let mut indexes = collection.indexes.iter();
                return Err(match indexes.any(|entry| entry.definition.text.is_some()) {
                    true => Fault::new(
                        code::BAD_VALUE,
                        "text and tailable cursor not allowed in same query",
                    ),
                    false => text_required(None),
                });
            }
            if collection.rules.capped.is_none() {
                let words = "tailable cursor requested on non capped collection";
                return Err(Fault::new(code::BAD_VALUE, words).prefixed(&request.query.asked_of(collection)));
            }
        }
        Ok(TailCursor {
            followed: collection.map(|own| Followed {
                id: own.id,
                uuid: bson::Uuid::from_bytes(own.uuid),
            }),
            after: None,
            at_end: false,
            backwards: request.query.goes_back(),
            skip: request.skip,
            left: match request.limit {
                0 => u64::MAX,
                limit => limit,
            },
            batches: 0,
            request,
        })
    }

    /// Whether there is nothing to follow: a server does not go on behind the last document of none.
    pub(crate) fn ends_at_once(&self, read: &dyn Read) -> Result<bool> {
        let Some(collection) = self
            .followed
            .as_ref()
            .and_then(|own| read.catalog().by_id(own.id))
        else {
            return Ok(true);
        };
        let mut is_empty = true;
        let all = (Bound::Unbounded, Bound::Unbounded);
        read.scan(collection.records, all, false, &mut |_, _| {
            is_empty = false;
            Ok(ControlFlow::Break(()))
        })?;
        Ok(is_empty)
    }

    /// Whether the cursor waits for documents.
    pub(crate) fn awaits(&self) -> bool {
        self.request.tail == Some(Tail::Await)
    }

    /// What this state has after what was seen; perhaps empty. `None` when there is nothing to follow.
    ///
    /// # Errors
    /// Code 136 when the last document seen has made room for newer ones, so that some may have been missed;
    /// 175 when the collection is gone, or has another name.
    pub(crate) fn next_batch(&mut self, read: &dyn Read) -> Result<Option<Packed>> {
        self.next_batch_of(read, self.request.most_of_batch(self.batches))
    }

    /// The same, at most so many.
    pub(crate) fn next_batch_of(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Option<Packed>> {
        self.batches += 1;
        let Some(followed) = &self.followed else {
            return Ok(None);
        };
        let collection = match followed.found(read, &self.request) {
            Ok(collection) => collection,
            Err(fault) => {
                self.followed = None;
                return Err(fault);
            }
        };
        self.check_place(read, &collection)?;
        if self.left == 0 || (self.backwards && self.at_end) {
            return Ok(Some(Packed::default()));
        }
        self.request.deadline.resume();
        let batch = self.read_batch(read, &collection, most);
        self.request.deadline.pause();
        batch.map(Some).map_err(|fault| self.request.query.in_run(fault))
    }

    fn read_batch(
        &mut self,
        read: &dyn Read,
        collection: &Arc<Collection>,
        most: Option<usize>,
    ) -> Result<Packed> {
        let mut packed = Packed::default();
        let (request, skip, left) = (&self.request, &mut self.skip, &mut self.left);
        let places = request.places();
        let shape = Shape {
            query: &request.query,
            projection: request.projection.as_deref(),
            places: places.as_ref(),
            extras: request.extras,
            collection: Some(collection.clone()),
        };
        let scan = Plan::scan();
        let after = self.after.map(u64::to_be_bytes);
        let seen = match &after {
            Some(key) => Bound::Excluded(key.as_slice()),
            None => Bound::Unbounded,
        };
        let range = match self.backwards {
            true => (Bound::Unbounded, seen),
            false => (seen, Bound::Unbounded),
        };
        let mut last = self.after;
        let mut at_end = true;
        let mut deadline = request.deadline;
        let records = collection.records;
        read.scan(records, range, self.backwards, &mut |key, stored| {
            deadline.tick()?;
            let record = key.try_into().map(u64::from_be_bytes);
            let record = record.map_err(|_| format::damaged("a record has no id".to_owned()))?;
            let document = format::unseal(records, key, stored)?;
            let is_found = search::test(&request.query, &scan, document)?;
            if is_found && *skip == 0 {
                shape.add(&mut packed, (record, document), None)?;
                *left -= 1;
            } else if is_found {
                *skip -= 1;
            }
            last = Some(record);
            at_end = *left > 0 && !packed.is_full(most);
            Ok(match at_end {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            })
        })?;
        (self.after, self.at_end) = (last, at_end);
        Ok(packed)
    }

    fn check_place(&self, read: &dyn Read, collection: &Collection) -> Result<()> {
        let Some(record) = self.after else {
            return Ok(());
        };
        if read.get(collection.records, &record.to_be_bytes())?.is_some() {
            return Ok(());
        }
        let why = match self.at_end {
            true => "failure to restore tailable cursor position",
            false => "position in capped collection being deleted",
        };
        let record = place::record_id(collection, record)?;
        let fault = Fault::new(
            136,
            format!("CollectionScan died due to {why}. Last seen record id: RecordId({record})"),
        );
        Err(match self.at_end {
            true => fault.while_running(IN_GET_MORE),
            false => fault,
        })
    }
}

impl Followed {
    fn found(&self, read: &dyn Read, request: &FindRequest) -> Result<Arc<Collection>> {
        let ns = &request.namespace;
        let what = match read.catalog().by_id(self.id) {
            Some(own) if (&*own.database, &*own.name) == (ns.database.as_str(), ns.collection.as_str()) => {
                return Ok(own.clone());
            }
            Some(own) => format!(
                "collection renamed from '{ns}' to '{}.{}'",
                own.database, own.name
            ),
            None => "collection dropped".to_owned(),
        };
        Err(Fault::new(175, format!("{what}. UUID {}", self.uuid)))
    }
}
