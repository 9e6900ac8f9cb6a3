//! Moving documents from one collection to another.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use odm::bson::{Document, doc};
use odm::{Collection, Error, ErrorKind, Filter, Model, Result};

use super::mark::Mark;
use super::state::{delete_unchanged, ids, is_same, write_unchanged};
use crate::dotted::elements_at;
use crate::outbox::outboxes_of;
use crate::own;

/// Moves documents: `.await` gives how many. Dropped before its end, it can be run again, and goes on.
#[must_use = "an action does nothing until it is awaited"]
pub struct Transfer<M> {
    documents: Collection<M>,
    /// Where they go.
    others: Collection<M>,
    sides: Sides<M>,
    /// The paths of outboxes whose events must be published before a document is moved.
    outboxes: Arc<[String]>,
    filter: Filter<M>,
    batch: usize,
    progress: Option<Progress>,
}

const DENIED: &str = "a document that is moved is marked by a field beside those of its model, which refuses fields that it \
                      does not have: remove `deny_unknown_fields`";

type Progress = Box<dyn FnMut(&Moved) + Send>;

/// From where to where.
#[derive(Debug)]
struct Sides<M> {
    from: Collection<Document>,
    to: Collection<Document>,
    /// Whether a document of the same `_id` makes room at the other side.
    replaces: bool,
    model: PhantomData<fn() -> M>,
}

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// How many documents are at the other side now, and no longer at this.
    pub moved: u64,
    /// How many stayed: because they were changed or deleted meanwhile, or because the other side has another document
    /// of the same `_id`. One that another unique index of the other side does not let in is an error, after the others of its
    /// batch were moved.
    pub kept: u64,
    /// How many stayed because events wait in their [outbox](crate::outbox::Outbox), which nobody would publish at the
    /// other side: run it again when they are published.
    pub waiting: u64,
}

impl<M: Model> Transfer<M> {
    pub(super) fn new(
        from: &Collection<M>,
        to: &Collection<M>,
        replaces: bool,
        filter: Filter<M>,
    ) -> Transfer<M> {
        Transfer {
            documents: from.clone(),
            others: to.clone(),
            sides: Sides {
                from: from.raw(),
                to: to.raw(),
                replaces,
                model: PhantomData,
            },
            outboxes: match replaces {
                true => outboxes_of::<M>(),
                false => Arc::default(),
            },
            filter,
            batch: 100,
            progress: None,
        }
    }

    /// How many documents are moved at a time: 100 unless said otherwise. At the most this many are in both places.
    pub fn batch(mut self, documents: usize) -> Self {
        self.batch = documents.max(1);
        self
    }

    /// Tells how far it is after each batch.
    pub fn progress(mut self, tell: impl FnMut(&Moved) + Send + 'static) -> Self {
        self.progress = Some(Box::new(tell));
        self
    }

    async fn run(mut self) -> Result<Moved> {
        crate::beside::room_in::<M>(DENIED)?;
        let options = M::DESCRIPTOR.options.map(|options| options());
        if options.is_some_and(|options| options.options().contains_key("timeseries")) {
            return Err(self.of_time_series());
        }
        super::deletes_with(&self.documents, &self.others)?;
        let mut moved = Moved::default();
        let filter = self.filter.clone();
        let found = self
            .documents
            .find(|_| filter)
            .with_deleted()
            .unscoped()
            .untyped();
        let mut found = found.stream();
        loop {
            let mut batch = Vec::with_capacity(self.batch);
            while batch.len() < self.batch {
                match found.try_next().await? {
                    Some(document) => batch.push(document),
                    None => break,
                }
            }
            let is_last = batch.len() < self.batch;
            let all = batch.len();
            batch.retain(|document| !self.has_events(document));
            moved.waiting += (all - batch.len()) as u64;
            if all > 0 {
                let gone = self
                    .sides
                    .step(&batch)
                    .await
                    .map_err(|error| match error.code() {
                        Some(CHANGES_ONE_OF_SERIES) => self.of_time_series().with_source(error),
                        _ => error,
                    })?;
                moved.moved += gone;
                moved.kept += (batch.len() as u64).saturating_sub(gone);
                if let Some(progress) = &mut self.progress {
                    progress(&moved);
                }
            }
            if is_last {
                return Ok(moved);
            }
        }
    }
}

impl<M> Transfer<M> {
    fn has_events(&self, document: &Document) -> bool {
        let mut outboxes = self.outboxes.iter();
        outboxes.any(|path| elements_at(document, &format!("{path}.events")).next().is_some())
    }
}

impl<M: Model> Transfer<M> {
    fn of_time_series(&self) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            "documents of a time series cannot be archived: none is changed or deleted alone",
        )
        .with_model(M::DESCRIPTOR.name)
        .with_namespace(self.documents.name())
    }
}

/// MongoDB's code of a change that reaches one document of a time series.
const CHANGES_ONE_OF_SERIES: i32 = 72;

impl<M: Model> Sides<M> {
    /// Moves a batch; gives how many are gone from here.
    ///
    /// Each document is marked here, stored at the other side with the same mark, and deleted here if it still has the
    /// mark. Whoever moves it the other way marks it there, and here, so that of two who rely on each other's copies none
    /// deletes: for both to delete, each would have had to mark the other side before the other one did.
    async fn step(&self, batch: &[Document]) -> Result<u64> {
        if batch.is_empty() {
            return Ok(0);
        }
        let mark = Mark::new();
        let claimed = mark.claim::<M>(&self.from, batch).await?;
        if claimed.is_empty() {
            return Ok(0);
        }
        let (stored, refused) = self.copy(&claimed, &mark).await?;
        let deleted = delete_unchanged::<M>(&self.from, &stored).await?;
        if deleted < claimed.len() as u64 {
            // A document that is here without the mark may have been stored anew after the marked one was deleted, of which
            // the copy is all that there is.
            let here = match deleted {
                0 => stored.clone(),
                _ => mark.of(&self.from, &stored).await?,
            };
            self.take_back(&here, &mark).await?;
            mark.lift(&self.from, &claimed).await?;
        }
        if !stored.is_empty() {
            mark.lift(&self.to, &stored).await?;
        }
        match refused {
            Some(error) => Err(error),
            None => Ok(deleted),
        }
    }

    /// Stores copies; gives the documents that are at the other side with the mark, and why others cannot be.
    async fn copy(&self, claimed: &[Document], mark: &Mark) -> Result<(Vec<Document>, Option<Error>)> {
        let there = same_ids(&self.to, claimed).await?;
        let mut stored = Vec::with_capacity(claimed.len());
        let (mut fresh, mut others) = (Vec::new(), Vec::new());
        for document in claimed {
            match with_id(&there, document) {
                None => fresh.push(document),
                // One of another kind stays where it is.
                Some(other) if !own::is_of_kind::<M>(other) => {}
                Some(other) if self.replaces || is_same(other, document)? => others.push((document, other)),
                Some(_) => {}
            }
        }
        let (inserted, mut refused) = self.insert(fresh).await?;
        stored.extend(inserted.into_iter().cloned());
        if !others.is_empty() {
            let (displaced, error) = self.displace(claimed, others, mark).await?;
            stored.extend(displaced);
            refused = refused.or(error);
        }
        Ok((stored, refused))
    }

    /// Whether an error is about some documents alone, which another unique index than that of `_id` does not let in: that
    /// will not pass, and the others need not wait for it.
    fn is_refusal(&self, error: &Error) -> bool {
        let failed = error.write_errors();
        let are_duplicates = failed.iter().all(|one| one.error.is_duplicate_key());
        let is_met = error.write_concern_error().is_none();
        !self.to.in_transaction() && is_met && !failed.is_empty() && are_duplicates
    }

    /// Stores copies where nothing was; gives those that are there now, and why others cannot be.
    async fn insert<'a>(&self, documents: Vec<&'a Document>) -> Result<(Vec<&'a Document>, Option<Error>)> {
        let insertions = self.to.bulk_write().unordered();
        let insertions = documents
            .iter()
            .fold(insertions, |all, document| all.insert(*document));
        if insertions.is_empty() {
            return Ok((documents, None));
        }
        let Err(error) = insertions.await else {
            return Ok((documents, None));
        };
        if !self.is_refusal(&error) {
            return Err(error);
        }
        let failed = error.write_errors();
        // Where the `_id` is there, somebody else was first. What it stored is looked at the next time.
        let refused = failed.iter().find(|one| !own::is_of_id(&one.error));
        let refused = refused.map(|one| self.refused(one.error.clone(), documents.get(one.index).copied()));
        let is_there = |index: usize| failed.iter().all(|one| one.index != index);
        let documents = documents.into_iter().enumerate();
        let inserted = documents.filter(|(index, _)| is_there(*index));
        Ok((inserted.map(|(_, document)| document).collect(), refused))
    }

    /// Says which document the other side does not let in.
    fn refused(&self, error: Error, document: Option<&Document>) -> Error {
        let error = error
            .with_model(M::DESCRIPTOR.name)
            .with_namespace(self.to.namespace());
        match document.and_then(|document| document.get("_id")) {
            Some(id) => error.with_id(id.clone()),
            None => error,
        }
    }

    /// Puts copies in the place of other documents of their `_id`s; gives those that are there now. Who has marked the
    /// document here since may have stored a newer copy before the others were read, which stays.
    async fn displace(
        &self,
        claimed: &[Document],
        others: Vec<(&Document, &Document)>,
        mark: &Mark,
    ) -> Result<(Vec<Document>, Option<Error>)> {
        let here = same_ids(&self.from, claimed).await?;
        let is_ours = |document: &Document| with_id(&here, document).is_some_and(|now| mark.is_on(now));
        let others = others.into_iter().filter(|(document, _)| is_ours(document));
        let (replacing, others): (Vec<Document>, Vec<&Document>) =
            others.map(|(document, other)| (document.clone(), other)).unzip();
        let replaced = write_unchanged::<M>(&self.to, others, |all, unchanged, index| {
            all.replace_one(unchanged, &replacing[index])
        });
        let (replaced, refused) = match replaced.await {
            Ok(replaced) => (replaced, None),
            Err(error) if self.is_refusal(&error) => (0, Some(self.refused(error, None))),
            Err(error) => return Err(error),
        };
        match replaced == replacing.len() as u64 {
            true => Ok((replacing, None)),
            false => Ok((mark.of(&self.to, &replacing).await?, refused)),
        }
    }

    /// Takes back the copies of documents that are still here, in whatever state: only copies in the state in which they
    /// were made, so that what somebody else has copied since stays. Who relies on a copy to delete here is stopped by the
    /// mark first.
    async fn take_back(&self, copied: &[Document], mark: &Mark) -> Result<()> {
        if copied.is_empty() {
            return Ok(());
        }
        let stale = mark.stop(&self.from, copied).await?;
        delete_unchanged::<M>(&self.to, &stale).await.map(drop)
    }
}

/// The documents of a collection with the `_id`s of these.
pub(super) async fn same_ids(
    collection: &Collection<Document>,
    documents: &[Document],
) -> Result<Vec<Document>> {
    collection.find(doc! { "_id": ids(documents) }).await
}

pub(super) fn with_id<'a>(documents: &'a [Document], like: &Document) -> Option<&'a Document> {
    documents
        .iter()
        .find(|document| document.get("_id") == like.get("_id"))
}

impl<M: Model> IntoFuture for Transfer<M> {
    type Output = Result<Moved>;
    type IntoFuture = BoxFuture<'static, Result<Moved>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<M> fmt::Debug for Transfer<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transfer")
            .field("from", &self.sides.from)
            .field("to", &self.sides.to)
            .field("filter", &self.filter)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}
