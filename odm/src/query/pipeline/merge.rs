//! Results that are written into a collection.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::cstr;
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};

use super::Pipeline;
use super::assignment::Assignment;
use crate::error::Result;
use crate::model::{Embedded, Field, Model, Path, Segment};

/// What becomes of a document that a result of a [`merge_into`](Pipeline::merge_into) matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenMatched {
    /// The result takes its place.
    Replace,
    /// It stays as it is.
    KeepExisting,
    /// It gets the result's fields, and keeps its others.
    #[default]
    Merge,
    /// It stays as it is, and the pipeline ends with an error of kind `DuplicateKey`.
    Fail,
}

/// What becomes of a result of a [`merge_into`](Pipeline::merge_into) that matches no document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenNotMatched {
    /// It is inserted.
    #[default]
    Insert,
    /// It is left out.
    Discard,
    /// The pipeline ends with an error (code 13113).
    Fail,
}

/// The results of a pipeline on their way into a collection of `M`, to be refined: `.await` runs it.
#[must_use = "a pipeline does nothing until it is awaited"]
pub struct Merge<T, M, S> {
    pipeline: Pipeline<T, S>,
    into: RawDocumentBuf,
    on: Result<Vec<RawBson>>,
    matched: Matched,
    not_matched: WhenNotMatched,
    marker: PhantomData<fn() -> M>,
}

#[derive(Clone, Debug)]
enum Matched {
    Mode(WhenMatched),
    Update(Result<Vec<RawDocumentBuf>>),
}

impl WhenMatched {
    fn as_str(self) -> &'static str {
        match self {
            WhenMatched::Replace => "replace",
            WhenMatched::KeepExisting => "keepExisting",
            WhenMatched::Merge => "merge",
            WhenMatched::Fail => "fail",
        }
    }
}

impl WhenNotMatched {
    fn as_str(self) -> &'static str {
        match self {
            WhenNotMatched::Insert => "insert",
            WhenNotMatched::Discard => "discard",
            WhenNotMatched::Fail => "fail",
        }
    }
}

impl<T: Embedded, M: Model, S> Merge<T, M, S> {
    pub(crate) fn new(pipeline: Pipeline<T, S>, database: &str, collection: &str) -> Merge<T, M, S> {
        Merge {
            pipeline,
            into: place(database, collection),
            on: Ok(Vec::new()),
            matched: Matched::Mode(WhenMatched::default()),
            not_matched: WhenNotMatched::default(),
            marker: PhantomData,
        }
    }

    /// A result matches the document that has the same value in this field; said several times, in all of the fields. They
    /// need a unique index of exactly them: without one it is an error of the server (code 51183). Without this it is the
    /// one of the same `_id`.
    pub fn on<V>(mut self, field: impl FnOnce(M::Fields<M>) -> Field<M, V>) -> Self {
        let path = field(M::fields()).query_path();
        self.on = self.on.and_then(|mut on| {
            on.push(RawBson::String(path?.as_str().to_owned()));
            Ok(on)
        });
        self
    }

    /// What becomes of the document that matches; [`WhenMatched::Merge`] if nothing is said.
    pub fn when_matched(mut self, mode: WhenMatched) -> Self {
        self.matched = Matched::Mode(mode);
        self
    }

    /// The document that matches is changed: fields of it are computed anew, of itself and of the result, which comes
    /// second: `|total, new| total.sold.of(total.sold.value() + new.sold.value())`. Said several times, one after another.
    pub fn update(mut self, update: impl FnOnce(M::Fields<M>, T::Fields<M>) -> Assignment<M, M>) -> Self {
        let result = Path::root().then(Segment::Key("$$new".into()));
        let update = update(M::fields(), T::fields_at(result)).into_document(false);
        let before = match self.matched {
            Matched::Mode(_) => Ok(Vec::new()),
            Matched::Update(before) => before,
        };
        self.matched = Matched::Update(before.and_then(|mut stages| {
            let mut stage = RawDocumentBuf::new();
            stage.append(cstr!("$set"), update?);
            stages.push(stage);
            Ok(stages)
        }));
        self
    }

    /// What becomes of a result that matches no document; [`WhenNotMatched::Insert`] if nothing is said.
    ///
    /// With [`WhenMatched::KeepExisting`] or [`WhenMatched::Fail`] anything else is an error of the server (code 51181).
    pub fn when_not_matched(mut self, mode: WhenNotMatched) -> Self {
        self.not_matched = mode;
        self
    }

    /// The pipeline with its last stage.
    pub(crate) fn into_pipeline(self) -> Pipeline<(), S> {
        let (on, matched) = (self.on, self.matched);
        let mut argument = RawDocumentBuf::new();
        argument.append(cstr!("into"), self.into);
        argument.append(cstr!("whenNotMatched"), self.not_matched.as_str());
        let argument = on.and_then(|on| {
            if !on.is_empty() {
                argument.append(cstr!("on"), on.into_iter().collect::<RawArrayBuf>());
            }
            match matched {
                Matched::Mode(mode) => argument.append(cstr!("whenMatched"), mode.as_str()),
                Matched::Update(stages) => {
                    let stages: RawArrayBuf = stages?.into_iter().collect();
                    argument.append(cstr!("whenMatched"), stages);
                }
            }
            Ok(argument)
        });
        self.pipeline.then(cstr!("$merge"), argument)
    }
}

impl<T, S> Pipeline<T, S> {
    /// With a last stage that puts the results in place of a collection.
    pub(crate) fn into_out(self, database: &str, collection: &str) -> Pipeline<(), S> {
        self.then(cstr!("$out"), Ok(place(database, collection)))
    }
}

fn place(database: &str, collection: &str) -> RawDocumentBuf {
    let mut place = RawDocumentBuf::new();
    place.append(cstr!("db"), database);
    place.append(cstr!("coll"), collection);
    place
}

impl<T, M, S: Clone> Clone for Merge<T, M, S> {
    fn clone(&self) -> Self {
        Merge {
            pipeline: self.pipeline.clone(),
            into: self.into.clone(),
            on: self.on.clone(),
            matched: self.matched.clone(),
            not_matched: self.not_matched,
            marker: PhantomData,
        }
    }
}

impl<T, M, S> fmt::Debug for Merge<T, M, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge")
            .field("pipeline", &self.pipeline)
            .field("into", &self.into)
            .field("on", &self.on)
            .field("matched", &self.matched)
            .field("not_matched", &self.not_matched)
            .finish()
    }
}
