//! Cursors of finds: batches of packed documents over one view.

mod request;
mod shape;

use std::borrow::Cow;
use std::sync::Arc;

pub(crate) use self::request::{Extras, FindRequest, RECORD_ID};
pub(super) use self::shape::Shape;
use super::super::aggregate::pipeline::Memory;
use super::super::catalog::Collection;
use super::super::document::Doc;
use super::super::fault::Result;
use super::super::kept::Kept;
use super::super::matcher::{Places, Scoring};
use super::super::plan::{Plan, TextPlan};
use super::super::storage::Read;
use super::search::{self, Found, Limits};
use super::view::{self, Through};
use super::walk::{Flow, Walk};
use super::{Deadline, place};

/// How many bytes of documents end a batch.
const BATCH_BYTES: usize = 1 << 20;

/// So many documents are few: a batch takes the memory for them at once.
const FEW: usize = 64;

/// Documents one after another in one buffer.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Packed {
    /// With room for a batch that its bytes will end: growing would take fresh memory again and again.
    fn for_many() -> Packed {
        Packed {
            // The last document goes past the end.
            bytes: Vec::with_capacity(BATCH_BYTES + BATCH_BYTES / 16),
            ends: Vec::with_capacity(BATCH_BYTES / 256),
        }
    }

    /// With room for so many documents, if they are few and as long as the first.
    fn for_few(documents: usize) -> Packed {
        let documents = if documents <= FEW { documents } else { 0 };
        Packed {
            bytes: Vec::new(),
            ends: Vec::with_capacity(documents),
        }
    }

    pub(crate) fn push(&mut self, document: &[u8]) {
        if self.bytes.capacity() == 0 {
            // The first of as many as there is room for the ends of.
            let room = document.len().saturating_mul(self.ends.capacity());
            self.bytes.reserve(room.min(BATCH_BYTES));
        }
        self.bytes.extend_from_slice(document);
        self.ends.push(self.bytes.len());
    }

    /// Adds the document that is appended.
    fn push_with(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The bytes of the document at this position.
    pub(crate) fn get(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(previous) => self.ends[previous],
            None => 0,
        };
        self.bytes.get(start..end)
    }

    pub(crate) fn is_full(&self, documents: Option<usize>) -> bool {
        self.bytes.len() >= BATCH_BYTES || documents.is_some_and(|most| self.len() >= most)
    }
}

/// What runs a find, and what reads on, as faults of documents tell it.
pub(crate) const IN_FIND: &str = "Executor error during find command";
pub(crate) const IN_GET_MORE: &str = "Executor error during getMore";

/// A running find.
#[derive(Debug)]
pub(crate) struct FindCursor {
    request: FindRequest,
    collection: Option<Arc<Collection>>,
    state: State,
    batches: u64,
    /// What the filter's text search became.
    text: Option<Arc<TextPlan>>,
    /// Where documents match, for a projection that needs it.
    places: Option<Places>,
    /// Whether a view was asked.
    on_view: bool,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a cursor has one, which stays where it is"
)]
enum State {
    Walking {
        walk: Walk,
        plan: Plan,
        skip: u64,
        left: u64,
    },
    Sorted(std::vec::IntoIter<Found>, Option<Plan>),
    Done,
}

impl FindCursor {
    /// Plans the find on this state of the database.
    pub(crate) fn open(read: &dyn Read, mut request: FindRequest) -> Result<FindCursor> {
        request.settle(&view::collation_of(read.catalog(), &request.namespace))?;
        if view::view_of(read.catalog(), &request.namespace).is_some() {
            request.extras.refuse_on_view(&request.query)?;
        }
        // The views of a database are read as a collection.
        let through = match view::list::is_list(&request.namespace) {
            true => None,
            false => view::through(
                read,
                &request.namespace,
                &request.query,
                request.projection.as_deref(),
                (request.skip, request.limit),
                (request.deadline, !request.extras.in_memory),
            )?,
        };
        if through.is_some()
            && let Some(projection) = &mut request.projection
            && let Cow::Owned(own) = projection.on_view()?
        {
            *projection = Arc::new(own);
        }
        let on_view = through.is_some();
        match through {
            None => {}
            Some(Through::Query(base, merged)) => {
                request.namespace = base;
                request.query = *merged;
                // It is a pipeline then, which may compute fields, too.
                request.order_what_is_left(read, true);
            }
            Some(Through::Rows(rows)) => {
                let found = (1..).zip(rows);
                let found = found.map(|(record, document)| Found { record, document });
                return Ok(FindCursor::given(found.collect(), request));
            }
        }
        let cursor = FindCursor::on_collection(read, request)?;
        Ok(FindCursor { on_view, ..cursor })
    }

    /// The same of what is known to be no view; the request has settled.
    pub(super) fn on_collection(read: &dyn Read, mut request: FindRequest) -> Result<FindCursor> {
        if let Some(projection) = &request.projection
            && !request.extras.return_key
        {
            let needs = projection.needs();
            let kept = needs.as_ref().map(Kept::of);
            request.query = request.query.needing(needs).keeping(kept);
            request.order_what_is_left(read, false);
        }
        let ns = &request.namespace;
        if let Some(rows) = view::list::found(read.catalog(), ns, &request.query)? {
            return FindCursor::over(rows, request);
        }
        let Some(collection) = read.catalog().collection(&ns.database, &ns.collection).cloned() else {
            request.query.check_without_collection(ns)?;
            return Ok(FindCursor {
                request,
                collection: None,
                state: State::Done,
                batches: 0,
                text: None,
                places: None,
                on_view: false,
            });
        };
        let wanted = (request.limit > 0).then(|| request.limit.saturating_add(request.skip));
        let plan = request.query.plan(read, &collection, wanted, request.deadline)?;
        let places = request.places();
        let limit = (request.limit > 0).then_some(request.limit);
        let text = plan.text.clone();
        let state = if request.query.order_after(&plan).is_some() {
            let limits = Limits {
                skip: request.skip,
                limit,
                memory: Memory::of(!request.extras.in_memory),
                is_to_write: false,
            };
            let query = &request.query;
            let found = search::all(read, &collection, query, &plan, limits, request.deadline);
            let (found, _) = found.map_err(|fault| query.in_run(fault))?;
            State::Sorted(found.into_iter(), Some(plan))
        } else {
            let mut walk = Walk::new(&plan, &collection, request.deadline);
            let skip = walk.pass_over(&plan, request.skip);
            State::Walking {
                walk,
                plan,
                skip,
                left: limit.unwrap_or(u64::MAX),
            }
        };
        Ok(FindCursor {
            request,
            collection: Some(collection),
            state,
            batches: 0,
            text,
            places,
            on_view: false,
        })
    }

    /// A find over documents that match already.
    fn over(rows: Vec<Vec<u8>>, request: FindRequest) -> Result<FindCursor> {
        let mut found = Vec::with_capacity(rows.len());
        for (record, document) in (1..).zip(rows) {
            let key = match &request.query.sort {
                Some(sort) => sort.key(Doc::Raw(&document))?,
                None => Vec::new(),
            };
            found.push((key, Found { record, document }));
        }
        if request.query.sort.is_some() {
            found.sort_by(|a, b| a.0.cmp(&b.0));
        }
        let limit = match request.limit {
            0 => usize::MAX,
            limit => usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let found: Vec<Found> = found
            .into_iter()
            .skip(usize::try_from(request.skip).unwrap_or(usize::MAX))
            .take(limit)
            .map(|(_, found)| found)
            .collect();
        Ok(FindCursor::given(found, request))
    }

    /// A find of these documents, which are all that it asks for, in its order.
    fn given(found: Vec<Found>, request: FindRequest) -> FindCursor {
        FindCursor {
            request,
            collection: None,
            state: State::Sorted(found.into_iter(), None),
            batches: 0,
            text: None,
            places: None,
            on_view: true,
        }
    }

    /// The next documents, from the same state of the database; `None` after the last.
    pub(crate) fn next_batch(&mut self, read: &dyn Read) -> Result<Option<Packed>> {
        self.next_batch_of(read, self.request.most_of_batch(self.batches))
    }

    /// The text search that the documents answer.
    pub(crate) fn text(&self) -> Option<Arc<Scoring>> {
        self.text.as_ref().map(|text| text.scoring.clone())
    }

    /// The key of an index by which a document is found, where one leads the way.
    pub(crate) fn index_keys(&self) -> Option<IndexKeys> {
        let plan = match &self.state {
            State::Walking { plan, .. } | State::Sorted(_, Some(plan)) => plan.clone(),
            _ => return None,
        };
        self.collection
            .clone()
            .map(|collection| IndexKeys { plan, collection })
    }

    /// Whether it has given a batch.
    pub(crate) fn has_begun(&self) -> bool {
        self.batches > 0
    }

    /// Whether it reads what a view gives, which a server asks stages for.
    pub(crate) fn is_on_view(&self) -> bool {
        self.on_view
    }

    /// Whether there is nothing left; `false` when that is not known yet.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Visits all documents that are left, from the same state of the database.
    pub(crate) fn each(&mut self, read: &dyn Read, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if let State::Walking {
            walk,
            plan,
            skip,
            left,
        } = &mut self.state
            && let Some(collection) = &self.collection
            && self.request.projection.is_none()
        {
            let query = &self.request.query;
            walk.documents(read, collection, &mut |_, document| {
                if !search::test(query, plan, document)? {
                    return Ok(Flow::Continue);
                }
                if *skip > 0 {
                    *skip -= 1;
                    return Ok(Flow::Continue);
                }
                visit(document)?;
                *left -= 1;
                Ok(if *left == 0 { Flow::Stop } else { Flow::Continue })
            })
            .map_err(|fault| query.in_run(fault))?;
            self.state = State::Done;
            return Ok(());
        }
        while let Some(batch) = self.next_batch(read)? {
            for document in (0..batch.len()).filter_map(|at| batch.get(at)) {
                visit(document)?;
            }
        }
        Ok(())
    }

    /// How many documents are still to come at most.
    fn expected(&self) -> usize {
        match &self.state {
            State::Done => 0,
            State::Sorted(found, _) => found.len(),
            State::Walking { left, .. } => usize::try_from(*left).unwrap_or(usize::MAX),
        }
    }

    /// The next documents, at most so many.
    pub(crate) fn next_batch_of(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Option<Packed>> {
        if let Some(deadline) = self.deadline() {
            deadline.resume();
        }
        let batch = self.read_batch(read, most);
        if let Some(deadline) = self.deadline() {
            deadline.pause();
        }
        batch.map_err(|fault| self.request.query.in_run(fault))
    }

    /// When it must have found all documents, if it still looks for them.
    fn deadline(&mut self) -> Option<&mut Deadline> {
        match &mut self.state {
            State::Walking { walk, .. } => Some(&mut walk.deadline),
            State::Sorted(..) | State::Done => None,
        }
    }

    fn read_batch(&mut self, read: &dyn Read, most: Option<usize>) -> Result<Option<Packed>> {
        let projection = self.request.projection.clone();
        self.batches += 1;
        let mut packed = match most {
            Some(most) => Packed::for_few(most.min(self.expected())),
            None => Packed::for_many(),
        };
        let shape = Shape {
            query: &self.request.query,
            projection: projection.as_deref(),
            places: self.places.as_ref(),
            extras: self.request.extras,
            collection: self.collection.clone(),
        };
        match &mut self.state {
            State::Done => return Ok(None),
            State::Sorted(found, plan) => {
                for one in found.by_ref() {
                    shape.add(&mut packed, (one.record, &one.document), plan.as_ref())?;
                    if packed.is_full(most) {
                        break;
                    }
                }
                // Of a full batch the server does not know that it is the last.
                if found.len() == 0 && !packed.is_full(most) {
                    self.state = State::Done;
                }
            }
            State::Walking {
                walk,
                plan,
                skip,
                left,
            } => {
                let Some(collection) = self.collection.clone() else {
                    return Ok(None);
                };
                let query = &self.request.query;
                let ended = walk.documents(read, &collection, &mut |record, document| {
                    if !search::test(query, plan, document)? {
                        return Ok(Flow::Continue);
                    }
                    if *skip > 0 {
                        *skip -= 1;
                        return Ok(Flow::Continue);
                    }
                    shape.add(&mut packed, (record, document), Some(plan))?;
                    *left -= 1;
                    Ok(if *left == 0 || packed.is_full(most) {
                        Flow::Stop
                    } else {
                        Flow::Continue
                    })
                })?;
                // There is no other document with an `_id`.
                if ended || *left == 0 || (plan.by_id && packed.len() > 0) {
                    self.state = State::Done;
                }
            }
        }
        Ok((packed.len() > 0).then_some(packed))
    }
}

/// What tells the key of an index by which a document was found.
#[derive(Clone, Debug)]
pub(crate) struct IndexKeys {
    plan: Plan,
    collection: Arc<Collection>,
}

impl IndexKeys {
    /// The key of a document, as a document.
    pub(crate) fn of(&self, document: &[u8]) -> Result<Option<Vec<u8>>> {
        place::index_key(&self.plan, &self.collection, document)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those after the first may be longer than it, and it than a batch.
    #[test]
    fn a_batch_has_its_documents_whatever_it_expects() {
        for expected in [0, 1, 2, 10, FEW, FEW + 1, usize::MAX] {
            for first in [5, 300, BATCH_BYTES + 7] {
                let mut packed = Packed::for_few(expected);
                let documents: Vec<Vec<u8>> = (0..12).map(|at| vec![at as u8; first + at * 9]).collect();
                documents.iter().for_each(|document| packed.push(document));
                assert_eq!(packed.len(), documents.len());
                for (at, document) in documents.iter().enumerate() {
                    assert_eq!(packed.get(at), Some(document.as_slice()));
                }
                assert_eq!(packed.get(documents.len()), None);
            }
        }
    }
}
