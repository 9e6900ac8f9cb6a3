//! Making the copies anew that wait for it.

use bson::{Bson, RawBson, RawDocument, RawDocumentBuf, rawdoc};

use super::setters::runs;
use crate::backend::Operation;
use crate::collection::Target;
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{self, narrow_kind};
use crate::query::Keyset;
use crate::relation::{DeclaredCopy, find_sources, followed, ids, read_sources};
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
/// A changed document that this program cannot read, of a later schema version or one whose migration fails, waits on, and
/// is named in [`failed`](PropagationReport::failed); the others are done.
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
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PropagationReport {
    /// How many changed documents were found, without those that failed.
    pub sources: u64,
    /// How many documents with copies of them were written.
    pub holders: u64,
    /// The `_id`s of changed documents that this program cannot read, as those of later schema versions, and why. They
    /// wait on.
    pub failed: Vec<(Bson, Error)>,
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
        for place in &places {
            let reach = target.check_reach(place.model);
            reach.map_err(|error| target.explain(error, "find"))?;
        }
        let mut report = PropagationReport::default();
        let mut last = None;
        loop {
            let marked = rawdoc! { "copies_pending": { "$exists": true } };
            let mut find = find_sources(target, behind(last.as_ref(), marked)?);
            find.sort = Some(rawdoc! { "_id": 1 });
            find.limit = SOURCES;
            let read = read_sources(target, &places, find).await?;
            if read.last.is_none() {
                return Ok(report);
            }
            last = read.last;
            for (id, error) in read.refused {
                let id = Bson::try_from(id).unwrap_or(Bson::Null);
                report.failed.push((id, target.explain(error, "find")));
            }
            for source in read.sources {
                report.holders += self.bring_in_step(&places, source).await?;
                report.sources += 1;
            }
        }
    }

    /// Makes all copies of one document anew; how many documents were written. The mark goes if it is still the one
    /// that was seen: what was changed meanwhile waits on.
    ///
    /// Where values change without a version, what was written may be what was there before somebody else came, wrote
    /// what is there now, and took the mark away. So this goes on until nobody has come.
    async fn bring_in_step(
        &self,
        places: &[&'static DeclaredCopy],
        mut source: RawDocumentBuf,
    ) -> Result<u64> {
        let is_reshaped = self.target.plan().is_some_and(|plan| plan.reshapes_copied());
        let mut written = 0;
        loop {
            let sources = std::slice::from_ref(&source);
            for place in places {
                for source in followed(place, &self.target, sources).await? {
                    written += self.follow(place, source, is_reshaped).await?;
                }
            }
            let released = match lifecycle::mark_of(&source) {
                Some(marked) => lifecycle::unmark(&self.target, marked, false).await?,
                None => 0,
            };
            if released > 0 || !is_reshaped {
                return Ok(written);
            }
            let ids = ids([&source])?;
            lifecycle::mark_unmarked(&self.target, ids.clone()).await?;
            let find = find_sources(&self.target, rawdoc! { "_id": { "$in": ids } });
            match read_sources(&self.target, places, find).await?.sources.pop() {
                Some(again) => source = again,
                None => return Ok(written),
            }
        }
    }

    /// Makes the copies of one document in one place anew; how many documents were written.
    async fn follow(&self, place: &DeclaredCopy, source: &RawDocument, is_reshaped: bool) -> Result<u64> {
        let Some(copied) = place.copied_from(source)? else {
            return Ok(0);
        };
        let copied = copied.reshaped(is_reshaped);
        let holder = (place.model.open)(&self.target, None, place.model.collection)?;
        let mut written = 0;
        let mut last = None;
        loop {
            let (outdated, collation) = place.outdated(&copied)?;
            let mut find = find_sources(&holder, behind(last.as_ref(), outdated)?);
            find.options.collation = collation;
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
}

/// Those of the documents that are behind an `_id` in the order of all types.
fn behind(id: Option<&RawBson>, filter: RawDocumentBuf) -> Result<RawDocumentBuf> {
    let Some(id) = id else {
        return Ok(filter);
    };
    let order = Keyset::new(None)?;
    let place = order.place(&rawdoc! { "_id": id.clone() }, false)?;
    Ok(rawdoc! { "$and": [filter, order.beyond(&place, false, false)?] })
}

runs!([] PropagateCopies => PropagationReport);
