//! Pipelines: stages one after another, each seeing what the one before made.

mod accumulator;
mod assignment;
mod bucket;
mod densify;
mod facet;
mod fill;
mod frame;
mod geo_near;
mod graph_lookup;
mod lookup;
mod merge;
mod series;
mod stages;
mod window;
mod windows;

use std::fmt;
use std::marker::PhantomData;

use bson::raw::CStr;
use bson::{RawBson, RawDocumentBuf};

pub use self::accumulator::{
    Accumulator, add_to_set, avg, count, first, last, max, min, push, std_dev_pop, std_dev_samp, sum,
};
pub use self::assignment::{Assignment, Computed, Fits, Grouping};
pub use self::bucket::{AutoBuckets, Buckets};
pub use self::densify::{Densify, Steps};
pub use self::facet::{Facet, Facets};
pub use self::fill::{Filler, Filling};
pub use self::frame::Frame;
pub use self::geo_near::{Distance, GeoNear, Nearness};
pub use self::graph_lookup::Following;
pub use self::lookup::Joining;
pub use self::merge::{Merge, WhenMatched, WhenNotMatched};
pub use self::series::{Ascending, Descending, InOrder, InOrderOfOne, Series, Sorted, Unordered};
pub use self::window::{Edge, Window};
pub use self::windows::{Windowed, Windows};
use crate::error::Result;
use crate::lifecycle::Joins;
use crate::model::Model;

/// Stages that make documents of type `T`, each typed by what comes in and what goes out.
///
/// Begun by [`Collection::aggregate`](crate::Collection::aggregate), and then run by `.await`; or by
/// [`Pipeline::new`], as a part of another: of a [`facet`](Pipeline::facet), a [`lookup`](Pipeline::lookup_with) or a
/// [`union`](Pipeline::union_with).
#[must_use = "a pipeline does nothing until it is awaited"]
pub struct Pipeline<T, S = ()> {
    stages: Result<Vec<RawDocumentBuf>>,
    /// The models whose collections the stages name.
    joins: Joins,
    source: S,
    marker: PhantomData<fn() -> T>,
}

impl<T> Pipeline<T> {
    /// The part of a pipeline that sees documents of `T`.
    pub fn new() -> Pipeline<T> {
        Pipeline::with_source(())
    }
}

impl<T> Default for Pipeline<T> {
    fn default() -> Pipeline<T> {
        Pipeline::new()
    }
}

impl<T, S> Pipeline<T, S> {
    pub(crate) fn with_source(source: S) -> Pipeline<T, S> {
        Pipeline {
            stages: Ok(Vec::new()),
            joins: Joins::default(),
            source,
            marker: PhantomData,
        }
    }

    /// The stages as MongoDB takes them.
    ///
    /// # Errors
    /// The first of what could not be encoded, or cannot stand where it does.
    pub fn to_stages(&self) -> Result<Vec<RawDocumentBuf>> {
        self.stages.clone()
    }

    pub(crate) fn into_parts(self) -> (Result<Vec<RawDocumentBuf>>, Joins, S) {
        (self.stages, self.joins, self.source)
    }

    /// The same, which names the collection of a model.
    fn joining<M: Model>(mut self) -> Self {
        self.joins.add::<M>(M::DESCRIPTOR.collection);
        self
    }

    /// The same with what a part of it names.
    fn joining_all(mut self, joins: Joins) -> Self {
        self.joins.extend(joins);
        self
    }

    /// The source, to be refined.
    pub(crate) fn map_source(mut self, change: impl FnOnce(&mut S)) -> Self {
        change(&mut self.source);
        self
    }

    /// One stage more, which makes documents of `U`.
    fn then<U>(self, name: &'static CStr, argument: Result<impl Into<RawBson>>) -> Pipeline<U, S> {
        let stages = self.stages.and_then(|mut stages| {
            let mut stage = RawDocumentBuf::new();
            stage.append(name, argument?.into());
            stages.push(stage);
            Ok(stages)
        });
        Pipeline {
            stages,
            joins: self.joins,
            source: self.source,
            marker: PhantomData,
        }
    }
}

impl<T, S: Clone> Clone for Pipeline<T, S> {
    fn clone(&self) -> Self {
        Pipeline {
            stages: self.stages.clone(),
            joins: self.joins.clone(),
            source: self.source.clone(),
            marker: PhantomData,
        }
    }
}

impl<T, S> fmt::Debug for Pipeline<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stages {
            Ok(stages) => f.debug_tuple("Pipeline").field(stages).finish(),
            Err(error) => f.debug_tuple("Pipeline").field(error).finish(),
        }
    }
}
