//! Tailable cursors: what a capped collection gets after the cursor came to its end.

use std::ops::{Bound, ControlFlow};

use super::super::catalog::{Collection, CollectionId};
use super::super::document::Doc;
use super::super::fault::{Fault, Result, code};
use super::super::plan::Plan;
use super::super::storage::{Read, format};
use super::cursor::{FindRequest, Packed};
use super::search;

/// How a cursor waits at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// It gives an empty batch.
    Poll,
    /// It waits for the next document.
    Await,
}

/// How many documents the first batch carries when nobody says.
const FIRST_BATCH: usize = 101;

/// A cursor that outlives the state it began on: each batch is read from a newer one.
#[derive(Debug)]
pub(crate) struct TailCursor {
    request: FindRequest,
    collection: Option<CollectionId>,
    /// The last record seen.
    after: Option<u64>,
    skip: u64,
    batches: u64,
}

impl TailCursor {
    /// Checks that the collection can be followed. One that does not exist gives nothing.
    pub(crate) fn open(read: &dyn Read, mut request: FindRequest) -> Result<TailCursor> {
        let order = request.query.sort.as_ref();
        if order.is_some_and(|order| order.natural != Some(false)) {
            return Err(Fault::new(
                code::BAD_VALUE,
                "cannot use tailable option with a sort other than {$natural: 1}",
            ));
        }
        request.settle(&super::view::collation_of(read.catalog(), &request.namespace))?;
        let ns = &request.namespace;
        super::view::refuse(read.catalog(), ns)
            .map_err(|_| Fault::new(168, "Tailable cursors are not supported in aggregation."))?;
        let collection = read.catalog().collection(&ns.database, &ns.collection);
        if collection.is_some_and(|collection| collection.rules.capped.is_none()) {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("error processing query: ns={ns} tailable cursor requested on non capped collection"),
            ));
        }
        Ok(TailCursor {
            collection: collection.map(|own| own.id),
            after: None,
            skip: request.skip,
            batches: 0,
            request,
        })
    }

    /// Whether the cursor waits for documents.
    pub(crate) fn awaits(&self) -> bool {
        self.request.tail == Some(Tail::Await)
    }

    /// What this state has after what was seen; perhaps empty. `None` when there is nothing to follow.
    ///
    /// # Errors
    /// Code 136 when the last document seen has made room for newer ones, so that some may have been missed;
    /// 175 when the collection is gone.
    pub(crate) fn next_batch(&mut self, read: &dyn Read) -> Result<Option<Packed>> {
        self.request.deadline.resume();
        let batch = self.read_batch(read);
        self.request.deadline.pause();
        batch
    }

    fn read_batch(&mut self, read: &dyn Read) -> Result<Option<Packed>> {
        let Some(id) = self.collection else {
            return Ok(None);
        };
        let Some(collection) = read.catalog().by_id(id).cloned() else {
            self.collection = None;
            return Err(Fault::new(175, "collection dropped between getMore calls"));
        };
        let most = match self.request.batch_size {
            Some(0) | None => (self.batches == 0).then_some(FIRST_BATCH),
            Some(size) => usize::try_from(size).ok(),
        };
        let most = match (most, self.request.limit) {
            (most, 0) => most,
            (most, limit) => {
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                Some(most.map_or(limit, |most| most.min(limit)))
            }
        };
        self.batches += 1;
        self.check_place(read, &collection)?;
        let mut packed = Packed::default();
        let (request, skip) = (&self.request, &mut self.skip);
        let places = request.places();
        let scan = Plan::scan();
        let after = self.after.map(u64::to_be_bytes);
        let from = match &after {
            Some(key) => Bound::Excluded(key.as_slice()),
            None => Bound::Unbounded,
        };
        let mut last = self.after;
        let mut deadline = request.deadline;
        let records = collection.records;
        read.scan(records, (from, Bound::Unbounded), false, &mut |key, stored| {
            deadline.tick()?;
            last = key.try_into().ok().map(u64::from_be_bytes).or(last);
            let document = format::unseal(records, key, stored)?;
            if search::test(&request.query, &scan, document)? {
                if *skip > 0 {
                    *skip -= 1;
                    return Ok(ControlFlow::Continue(()));
                }
                match &request.projection {
                    None => packed.push(document),
                    Some(projection) => {
                        let matched = places.as_ref().and_then(|places| places.at(Doc::Raw(document)));
                        packed.push(&projection.apply(Doc::Raw(document), matched)?);
                    }
                }
            }
            Ok(if packed.is_full(most) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        self.after = last;
        Ok(Some(packed))
    }

    fn check_place(&self, read: &dyn Read, collection: &Collection) -> Result<()> {
        match self.after {
            Some(record) if read.get(collection.records, &record.to_be_bytes())?.is_none() => {
                Err(Fault::new(
                    136,
                    "CollectionScan died due to position in capped collection being deleted.",
                ))
            }
            _ => Ok(()),
        }
    }
}
