//! Changing the documents of a model, batch by batch.

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt as _};
use odm::action::{BulkWrite, Find};
use odm::bson::{Bson, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Filter, Model, Result, Update};

use super::error::StepError;
use crate::still::{Unchanged, is_same, is_same_document};
use crate::{exact, own};

/// How often a document that others change at the same time is read again.
const TRIES: usize = 8;

/// How documents are gone through.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) size: u32,
    pub(super) concurrency: usize,
    pub(super) is_timeless: bool,
    pub(super) collection: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            size: 500,
            concurrency: 8,
            is_timeless: false,
            collection: None,
        }
    }
}

/// What a batch did.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) examined: i64,
    pub(super) changed: i64,
    /// The token of what is behind it, if there is something.
    pub(super) next: Option<String>,
    /// The last `_id` of it.
    pub(super) reached: Option<Bson>,
}

/// A change of all documents that a filter finds.
pub(super) trait Batched: Send + Sync {
    /// Changes the documents behind a place.
    fn batch<'a>(
        &'a self,
        db: &'a Db,
        options: &'a Options,
        position: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Batch, StepError>>;

    /// How many documents the filter finds.
    fn count<'a>(&'a self, db: &'a Db, options: &'a Options) -> BoxFuture<'a, Result<u64>>;
}

type Change = Box<dyn Fn(&mut Document) -> Result<(), StepError> + Send + Sync>;

pub(super) struct Each<M> {
    filter: Filter<M>,
    change: Change,
    model: PhantomData<fn() -> M>,
}

impl<M: Model> Each<M> {
    pub(super) fn new(
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
        change: impl Fn(&mut Document) -> Result<(), StepError> + Send + Sync + 'static,
    ) -> Each<M> {
        Each {
            filter: filter(M::fields()),
            change: Box::new(change),
            model: PhantomData,
        }
    }

    fn documents(&self, db: &Db, options: &Options) -> Collection<M> {
        match &options.collection {
            Some(name) => db.collection_named(name),
            None => db.collection(),
        }
    }

    fn find(&self, documents: &Collection<M>, more: Option<Document>) -> Find<M, Document> {
        let filter = match more {
            Some(more) => self.filter.clone() & Filter::raw(more),
            None => self.filter.clone(),
        };
        documents.find(|_| filter).with_deleted().unscoped().untyped()
    }

    /// The update that makes of a document what the step's function makes of it; empty where it leaves it as it is.
    fn update_of(&self, old: &Document) -> Result<Document> {
        let mut new = old.clone();
        // A panic is told of as an error is: with the document that it is of.
        match catch_unwind(AssertUnwindSafe(|| (self.change)(&mut new))) {
            Ok(Ok(())) => difference(old, new),
            Ok(Err(error)) => Err(refused(error)),
            Err(_) => Err(refused(StepError::new("the function panicked"))),
        }
    }

    /// Changes a document; whether there was something to change.
    async fn change(
        &self,
        documents: &Collection<M>,
        options: &Options,
        found: Document,
    ) -> Result<bool, StepError> {
        let id = id_of(&found);
        let located = |error| located(documents, id.clone(), error);
        let (mut seen, mut has_changed) = (Some(found), false);
        for _ in 0..=TRIES {
            let Some(old) = seen.take() else {
                return Ok(false);
            };
            let change = self.update_of(&old).map_err(located)?;
            if change.is_empty() {
                return Ok(false);
            }
            let unchanged = Unchanged::of::<M>(&old).map_err(located)?;
            let mut update = own::update_one(documents, unchanged.condition, change);
            if unchanged.is_by_bytes {
                update = update.collation(exact::by_bytes());
            }
            if options.is_timeless {
                update = update.without_timestamps();
            }
            if update.await.map_err(located)?.matched == 1 {
                return Ok(true);
            }
            let this = doc! { "_id": { "$eq": &id } };
            seen = self.find(documents, Some(this)).limit(1).await?.pop();
            has_changed |= seen.as_ref().is_none_or(|seen| !is_same_document(&old, seen));
        }
        let error = match has_changed {
            true => Error::new(ErrorKind::Conflict, "the document kept changing"),
            // What is read of it has each field once.
            false => Error::new(
                ErrorKind::Unsupported,
                "the document is not found by what it was read as: a field may stand in it twice",
            ),
        };
        Err(located(error).into())
    }

    /// Changes documents that were read in the running transaction, all in one write; how many. They are what was read:
    /// where somebody else changes one of them, the transaction is a conflict, and runs again.
    async fn change_together(
        &self,
        documents: &Collection<M>,
        options: &Options,
        found: Vec<Document>,
    ) -> Result<u64, StepError> {
        let mut writes = documents.bulk_write().with_deleted().unscoped();
        if options.is_timeless {
            writes = writes.without_timestamps();
        }
        let mut changes = Vec::new();
        for old in found {
            let id = id_of(&old);
            let change = self.update_of(&old);
            let change = change.map_err(|error| located(documents, id.clone(), error))?;
            if change.is_empty() {
                continue;
            }
            writes = this_one(writes, &id, &change);
            changes.push((id, change));
        }
        if changes.is_empty() {
            return Ok(0);
        }
        let error = match writes.await {
            Ok(written) => return Ok(written.matched),
            Err(error) => error,
        };
        let failed = error.write_errors().first().map(|failed| failed.index);
        let id = match failed.and_then(|index| changes.get(index)) {
            Some((id, _)) => Some(id.clone()),
            None if error.is_conflict() => None,
            None => unsent(documents, changes).await,
        };
        Err(match id {
            Some(id) => located(documents, id, error),
            None => error,
        }
        .into())
    }
}

/// Adds the change of one document to a batch.
fn this_one<M: Model>(writes: BulkWrite<M>, id: &Bson, change: &Document) -> BulkWrite<M> {
    let this = Filter::raw(doc! { "_id": { "$eq": id } });
    writes.update_one(|_| this, |_| Update::raw(change.clone()))
}

/// The document whose change the model refuses before anything is sent.
async fn unsent<M: Model>(documents: &Collection<M>, changes: Vec<(Bson, Document)>) -> Option<Bson> {
    for (id, change) in changes {
        let writes = documents.bulk_write().with_deleted().unscoped();
        if this_one(writes, &id, &change).prepared().await.is_err() {
            return Some(id);
        }
    }
    None
}

fn id_of(document: &Document) -> Bson {
    document.get("_id").cloned().unwrap_or(Bson::Null)
}

/// Says which document an error is of.
fn located<M: Model>(documents: &Collection<M>, id: Bson, error: Error) -> Error {
    error
        .with_model(M::DESCRIPTOR.name)
        .with_namespace(documents.namespace())
        .with_id(id)
}

impl<M: Model> Batched for Each<M> {
    fn batch<'a>(
        &'a self,
        db: &'a Db,
        options: &'a Options,
        position: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Batch, StepError>> {
        Box::pin(async move {
            let documents = self.documents(db, options);
            let page = self
                .find(&documents, None)
                .sort_raw(doc! { "_id": 1 })
                .page(options.size);
            let page = match position {
                Some(position) => page.after(position).await?,
                None => page.await?,
            };
            let mut batch = Batch {
                next: page.next.map(String::from),
                reached: page.items.last().and_then(|last| last.get("_id")).cloned(),
                ..Batch::default()
            };
            if db.in_transaction() {
                batch.examined = i64::try_from(page.items.len()).unwrap_or(i64::MAX);
                let changed = self.change_together(&documents, options, page.items).await?;
                batch.changed = i64::try_from(changed).unwrap_or(i64::MAX);
                return Ok(batch);
            }
            let changes: Vec<BoxFuture<'_, Result<bool, StepError>>> = page
                .items
                .into_iter()
                .map(|found| Box::pin(self.change(&documents, options, found)) as BoxFuture<'_, _>)
                .collect();
            let mut changes = stream::iter(changes).buffer_unordered(options.concurrency);
            while let Some(changed) = changes.next().await {
                batch.examined += 1;
                batch.changed += i64::from(changed?);
            }
            Ok(batch)
        })
    }

    fn count<'a>(&'a self, db: &'a Db, options: &'a Options) -> BoxFuture<'a, Result<u64>> {
        Box::pin(async move {
            let filter = self.filter.clone();
            self.documents(db, options)
                .count(|_| filter)
                .with_deleted()
                .unscoped()
                .await
        })
    }
}

/// The update of the top-level fields that are different.
fn difference(old: &Document, mut new: Document) -> Result<Document> {
    let (mut set, mut unset) = (Document::new(), Document::new());
    for (name, before) in old {
        let after = new.remove(name);
        if after.as_ref().is_some_and(|after| is_same(before, after)) {
            continue;
        }
        let refused = match name.as_str() {
            "_id" => Some("a document keeps its `_id`: another one would be another document"),
            name => unreachable_by_path(name),
        };
        if let Some(message) = refused {
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(name.clone()));
        }
        match after {
            Some(after) => set.insert(name, after),
            None => unset.insert(name, ""),
        };
    }
    for (name, value) in new {
        if let Some(message) = unreachable_by_path(&name) {
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_path(name));
        }
        set.insert(name, value);
    }
    let mut change = Document::new();
    for (operator, fields) in [("$set", set), ("$unset", unset)] {
        if !fields.is_empty() {
            change.insert(operator, fields);
        }
    }
    Ok(change)
}

/// Why no update reaches a field of this name, if none does.
fn unreachable_by_path(name: &str) -> Option<&'static str> {
    let is_none = name.is_empty() || name.starts_with('$') || name.contains(['.', '\0']);
    is_none.then_some("the name of the field is none that an update can name")
}

/// The error of a document that the step's function refuses.
fn refused(error: StepError) -> Error {
    let kind = error.database().map_or(ErrorKind::Validation, Error::kind);
    Error::new(kind, "the document cannot be changed").with_source(Refused(error))
}

#[derive(Debug)]
struct Refused(StepError);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.cause())
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause().source()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_different_is_said_by_field() {
        let old = doc! { "_id": 1, "a": 1, "b": { "x": 1, "y": 2 }, "c": f64::NAN, "d": 1, "$odd": 1 };
        assert_eq!(difference(&old, old.clone()).unwrap(), doc! {});
        let mut new = old.clone();
        new.insert("a", 1_i64);
        new.insert("b", doc! { "y": 2, "x": 1 });
        new.remove("d");
        new.insert("e", Bson::Null);
        let expected = doc! {
            "$set": { "a": 1_i64, "b": { "y": 2, "x": 1 }, "e": Bson::Null },
            "$unset": { "d": "" },
        };
        assert_eq!(difference(&old, new).unwrap(), expected);
    }

    #[test]
    fn what_no_update_reaches_is_refused() {
        let old = doc! { "_id": 1, "$odd": 1, "x.y": 1 };
        let with = |name: &str, value: Bson| {
            let mut new = old.clone();
            new.insert(name, value);
            difference(&old, new)
        };
        for (name, value) in [
            ("_id", 2),
            ("$odd", 2),
            ("x.y", 2),
            ("", 1),
            ("a.b", 1),
            ("$a", 1),
            ("a\0", 1),
        ] {
            let error = with(name, value.into()).unwrap_err();
            assert_eq!(
                (error.kind(), error.path()),
                (ErrorKind::InvalidArgument, Some(name))
            );
        }
        assert!(difference(&old, doc! { "$odd": 1, "x.y": 1 }).is_err());
    }
}
