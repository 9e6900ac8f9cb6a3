//! Finding one document.

use std::fmt;

use bson::{Bson, Document, RawDocument};

use super::setters::runs;
use super::{Draft, Explain, Find, Hint, LoadOne};
use crate::backend;
use crate::codec::Raw;
use crate::collection::Record;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::Tracked;
use crate::model::{Embedded, Model};
use crate::query::Sort;
use crate::relation::Relation;

/// Finds one document: `.await` gives it or `None`. One round trip.
#[must_use = "an action does nothing until it is awaited"]
pub struct FindOne<D, P = D> {
    find: Find<D, P>,
}

impl<D, P> FindOne<D, P> {
    pub(crate) fn new(find: Find<D, P>) -> FindOne<D, P> {
        FindOne { find }
    }

    /// How many documents to pass over.
    pub fn skip(self, count: u64) -> Self {
        FindOne {
            find: self.find.skip(count),
        }
    }

    /// Which document is the first, in MongoDB's words.
    pub fn sort_raw(self, sort: impl Into<Raw>) -> Self {
        FindOne {
            find: self.find.sort_raw(sort),
        }
    }

    /// Makes the backend use this index, given by its name or its keys.
    pub fn hint(self, hint: impl Into<Hint>) -> Self {
        FindOne {
            find: self.find.hint(hint),
        }
    }

    /// A text for the server's log and profiler.
    pub fn comment(self, comment: impl Into<String>) -> Self {
        FindOne {
            find: self.find.comment(comment),
        }
    }

    /// How long the operation may take on the server, in milliseconds, of which a part counts for a whole one. When
    /// there is no time left, as a deadline in the past gives it, it ends with the kind `Timeout` before anything is
    /// sent. More than 24 days are no limit.
    pub fn max_time(self, time: std::time::Duration) -> Self {
        FindOne {
            find: self.find.max_time(time),
        }
    }

    /// How strings compare, in MongoDB's words: `{locale: "en", strength: 2}`.
    pub fn collation(self, collation: impl Into<Raw>) -> Self {
        FindOne {
            find: self.find.collation(collation),
        }
    }

    /// Variables for expressions, as `$$name`: MongoDB's `let`.
    pub fn variables(self, variables: impl Into<Raw>) -> Self {
        FindOne {
            find: self.find.variables(variables),
        }
    }

    /// Fetches only the stored fields of another type, and decodes that.
    pub fn project<Q: Embedded>(self) -> FindOne<D, Q>
    where
        D: Record,
    {
        FindOne {
            find: self.find.project(),
        }
    }

    /// Softly deleted documents too. Says nothing where the model has no `#[odm(soft_delete)]`.
    pub fn with_deleted(self) -> Self {
        FindOne {
            find: self.find.with_deleted(),
        }
    }

    /// Also documents that the model's `#[odm(scope = ..)]` leaves out. Says nothing where the model has none.
    pub fn unscoped(self) -> Self {
        FindOne {
            find: self.find.unscoped(),
        }
    }

    /// Only softly deleted documents. Says nothing where the model has no `#[odm(soft_delete)]`.
    pub fn only_deleted(self) -> Self {
        FindOne {
            find: self.find.only_deleted(),
        }
    }

    /// Gives the document untyped.
    pub fn untyped(self) -> FindOne<D, Document> {
        FindOne {
            find: self.find.untyped(),
        }
    }

    /// Takes a missing document for an error of kind `NotFound`, which carries the `_id` when it was asked by.
    pub fn required(self) -> Required<D, P> {
        Required { find: self.find }
    }

    /// How the document would be found.
    pub fn explain(self) -> Explain {
        self.find.explain()
    }

    // Not an `async fn`, which would keep room for the action twice.
    fn run(self) -> impl Future<Output = Result<Option<P>>> + Send
    where
        P: Send,
    {
        self.find.run_first()
    }
}

impl<M: Model, P> FindOne<M, P> {
    /// Which document is the first.
    pub fn sort(self, sort: impl FnOnce(M::Fields<M>) -> Sort<M>) -> Self {
        FindOne {
            find: self.find.sort(sort),
        }
    }

    /// Loads what a field of the document refers to; as [`Find::load`].
    pub fn load<L: Relation<M>>(self, relation: impl FnOnce(M::Fields<M>) -> L) -> LoadOne<M, P, (L,)> {
        self.with(relation(M::fields()))
    }

    /// Loads what refers to the document; as [`Find::with`].
    pub fn with<L: Relation<M>>(self, relation: L) -> LoadOne<M, P, (L,)> {
        LoadOne::new(self.find.with(relation))
    }
}

impl<M: Model> FindOne<M> {
    /// Gives the document with what it was when it was loaded, so that it can be changed and
    /// [saved](Tracked::save) by what is different.
    pub fn tracked(self) -> FindOne<M, Tracked<M>> {
        FindOne {
            find: self.find.tracked(),
        }
    }
}

runs!([D: 'static, P: Send + 'static] FindOne<D, P> => Option<P>);

/// Finds one document that must be there. One round trip.
#[must_use = "an action does nothing until it is awaited"]
pub struct Required<D, P = D> {
    find: Find<D, P>,
}

impl<D, P> Required<D, P> {
    async fn run(self) -> Result<P> {
        let wanted = Wanted::by(self.find.draft());
        self.find.run_first().await?.ok_or_else(|| wanted.missing())
    }
}

/// What was asked for, for the error when it is not there.
pub(super) struct Wanted {
    target: Target,
    id: Option<Bson>,
}

impl Wanted {
    pub(super) fn by(draft: &Draft<backend::Find>) -> Wanted {
        Wanted::matching(&draft.target, &draft.operation.filter)
    }

    pub(super) fn matching(target: &Target, filter: &RawDocument) -> Wanted {
        let id = filter.get("_id").ok().flatten();
        Wanted {
            target: target.clone(),
            id: id.and_then(|id| Bson::try_from(id).ok()),
        }
    }

    pub(super) fn missing(self) -> Error {
        self.missing_for("find")
    }

    pub(super) fn missing_for(self, operation: &'static str) -> Error {
        let error = Error::new(ErrorKind::NotFound, "no document matches");
        let error = self.id.into_iter().fold(error, Error::with_id);
        self.target.explain(error, operation)
    }
}

runs!([D: 'static, P: Send + 'static] Required<D, P> => P);

impl<D, P> fmt::Debug for FindOne<D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FindOne").field(&self.find).finish()
    }
}

impl<D, P> fmt::Debug for Required<D, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Required").field(&self.find).finish()
    }
}
