//! Making the copies anew that wait for it.

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};

use super::setters::runs;
use crate::backend::Operation;
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{self, PENDING, narrow_kind};
use crate::relation::{DeclaredCopy, find_sources, ids, read_sources};
use crate::schema::ModelDescriptor;

/// How many documents with copies are written together, unless it is said.
const BATCH: u32 = 1000;
/// How many sources are read together.
const SOURCES: u64 = 100;

/// Makes the copies of changed documents anew, where that waits: `.await` says how much there was to do.
///
/// What waits are the copies that are declared `eventual`, and what an interruption left of the others. The documents
/// that hold them are written in the order of their `_id`s, a batch at a time; what is up to date already is not
/// written again, so that a run that was interrupted is simply started again. Any number of runs may go on at the same
/// time.
///
/// Cost: a read for 100 changed documents, one more write for each; for each place with copies of each, one read and
/// one write for 1000 documents that hold them.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct PropagateCopies {
    model: &'static ModelDescriptor,
    target: Target,
    batch: u32,
}

/// What was to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PropagationReport {
    /// How many changed documents were found.
    pub sources: u64,
    /// How many documents with copies of them were written.
    pub holders: u64,
}

impl PropagateCopies {
    pub(crate) fn new(model: &'static ModelDescriptor, target: &Target) -> PropagateCopies {
        PropagateCopies {
            model,
            target: target.clone(),
            batch: BATCH,
        }
    }

    /// How many documents with copies are written together; 1000 unless said otherwise.
    pub fn batch_size(mut self, documents: u32) -> Self {
        self.batch = documents;
        self
    }

    async fn run(self) -> Result<PropagationReport> {
        let target = &self.target;
        if let Some(failure) = target.failure() {
            return Err(target.explain(failure, "find"));
        }
        if self.batch == 0 {
            let error = Error::new(ErrorKind::InvalidArgument, "a batch has at least one document");
            return Err(target.explain(error, "find"));
        }
        let places = self.model.copied();
        let mut report = PropagationReport::default();
        let mut last: Option<RawBson> = None;
        loop {
            let mut filter = rawdoc! { "copies_pending": { "$exists": true } };
            if let Some(last) = &last {
                filter.append(bson::cstr!("_id"), rawdoc! { "$gt": last.clone() });
            }
            let mut find = find_sources(target, filter);
            find.sort = Some(rawdoc! { "_id": 1 });
            find.limit = SOURCES;
            let sources = read_sources(target, &places, find).await?;
            let Some(end) = sources.last() else {
                return Ok(report);
            };
            last = end.get("_id").ok().flatten().map(RawBson::from);
            for source in &sources {
                for place in &places {
                    report.holders += self.follow(place, source).await?;
                }
                self.unmark(source).await?;
                report.sources += 1;
            }
        }
    }

    /// Makes the copies of one document in one place anew; how many documents were written.
    async fn follow(&self, place: &DeclaredCopy, source: &RawDocument) -> Result<u64> {
        let Some(copied) = place.copied_from(source)? else {
            return Ok(0);
        };
        let is_reshaped = self.target.plan().is_some_and(|plan| plan.reshapes_copied());
        let copied = copied.reshaped(is_reshaped);
        let holder = (place.model.open)(&self.target, None, place.model.collection)?;
        let mut written = 0;
        let mut last: Option<RawBson> = None;
        loop {
            let mut filter = place.outdated(&copied)?;
            if let Some(last) = &last {
                filter.append(bson::cstr!("_id"), rawdoc! { "$gt": last.clone() });
            }
            let mut find = find_sources(&holder, filter);
            find.sort = Some(rawdoc! { "_id": 1 });
            find.limit = self.batch.into();
            find.projection = Some(rawdoc! { "_id": 1 });
            let mut find = Operation::Find(find);
            if let Some(plan) = holder.plan() {
                narrow_kind(plan, &mut find)?;
            }
            let cursor = holder.execute(find).await?.cursor()?;
            let found = cursor::collect(&holder, "find", cursor, |document| Ok(document.to_owned())).await?;
            let Some(end) = found.last() else {
                return Ok(written);
            };
            last = end.get("_id").ok().flatten().map(RawBson::from);
            let among = rawdoc! { "_id": { "$in": ids(&found)? } };
            let statement = place.update(&copied, Some(among))?;
            written += lifecycle::write_copies(&holder, vec![statement]).await?;
            if found.len() < self.batch as usize {
                return Ok(written);
            }
        }
    }

    /// The mark goes if it is still the one that was seen: what was changed meanwhile waits on.
    async fn unmark(&self, source: &RawDocumentBuf) -> Result<()> {
        let field = |name: &str| -> RawBson {
            let value: Option<RawBsonRef<'_>> = source.get(name).ok().flatten();
            value.map_or(RawBson::Null, RawBson::from)
        };
        let filter = rawdoc! {
            "_id": { "$eq": field("_id") },
            "copies_pending": field(PENDING),
        };
        lifecycle::unmark(&self.target, filter, false).await
    }
}

runs!([] PropagateCopies => PropagationReport);
