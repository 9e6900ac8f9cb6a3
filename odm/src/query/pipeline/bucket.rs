//! Groups by ranges.

use bson::raw::cstr;
use bson::{RawArrayBuf, RawBson, RawDocumentBuf};
use serde::Serialize;

use super::Pipeline;
use super::assignment::Grouping;
use crate::error::Result;
use crate::model::{Embedded, Path};
use crate::query::expression::{Term, Valued};

/// Groups between given boundaries, to be finished by [`output`](Buckets::output).
#[must_use]
#[derive(Debug)]
pub struct Buckets<T, S> {
    pipeline: Pipeline<T, S>,
    argument: Result<RawDocumentBuf>,
}

/// So many groups of about the same size, to be finished by [`output`](AutoBuckets::output).
#[must_use]
#[derive(Debug)]
pub struct AutoBuckets<T, S> {
    pipeline: Pipeline<T, S>,
    argument: Result<RawDocumentBuf>,
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// Groups by the boundaries that a value lies between (`$bucket`): the lower one is in, the upper one is not. The
    /// output's `_id` is the lower boundary.
    ///
    /// A value outside is an error unless there is a bucket [`otherwise`](Buckets::otherwise).
    pub fn bucket<V, I>(self, by: impl FnOnce(T::Fields<T>) -> V, boundaries: I) -> Buckets<T, S>
    where
        V: Valued<Root = T>,
        I: IntoIterator<Item: Term<T, V::Value>>,
    {
        let by = by(T::fields_at(Path::root())).expression();
        let encoding = by.encoding();
        let boundaries = boundaries
            .into_iter()
            .map(|boundary| by.named(boundary.term(&encoding)));
        let boundaries: Result<Vec<RawBson>> = boundaries.collect();
        let argument = boundaries.and_then(|boundaries| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("groupBy"), by.into_value()?);
            argument.append(
                cstr!("boundaries"),
                boundaries.into_iter().collect::<RawArrayBuf>(),
            );
            Ok(argument)
        });
        Buckets {
            pipeline: self,
            argument,
        }
    }

    /// Groups into at most so many buckets of about the same number of documents (`$bucketAuto`). The output's `_id` has
    /// the fields `min` and `max`.
    pub fn bucket_auto<V>(self, by: impl FnOnce(T::Fields<T>) -> V, buckets: u32) -> AutoBuckets<T, S>
    where
        V: Valued<Root = T>,
    {
        let by = by(T::fields_at(Path::root())).expression().into_value();
        let argument = by.map(|by| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("groupBy"), by);
            argument.append(cstr!("buckets"), i64::from(buckets));
            argument
        });
        AutoBuckets {
            pipeline: self,
            argument,
        }
    }
}

impl<T: Embedded, S> Buckets<T, S> {
    /// The `_id` of a bucket of all values outside, which must not lie between the boundaries.
    pub fn otherwise(mut self, id: impl Serialize) -> Self {
        self.argument = self.argument.and_then(|mut argument| {
            argument.append(cstr!("default"), crate::codec::encode_value(&id)?);
            Ok(argument)
        });
        self
    }

    /// What is made of each bucket: fields other than `_id`, by [`is`](crate::Field::is).
    pub fn output<Out: Embedded>(
        self,
        output: impl FnOnce(T::Fields<T>, Out::Fields<Out>) -> Grouping<T, Out>,
    ) -> Pipeline<Out, S> {
        let argument = with_output::<T, Out>(self.argument, output);
        self.pipeline.then(cstr!("$bucket"), argument)
    }
}

impl<T: Embedded, S> AutoBuckets<T, S> {
    /// Boundaries of a series of preferred numbers: `R5`, `E12`, `1-2-5`, `POWERSOF2`, ...
    pub fn granularity(mut self, series: &str) -> Self {
        if let Ok(argument) = &mut self.argument {
            argument.append(cstr!("granularity"), series);
        }
        self
    }

    /// What is made of each bucket: fields other than `_id`, by [`is`](crate::Field::is).
    pub fn output<Out: Embedded>(
        self,
        output: impl FnOnce(T::Fields<T>, Out::Fields<Out>) -> Grouping<T, Out>,
    ) -> Pipeline<Out, S> {
        let argument = with_output::<T, Out>(self.argument, output);
        self.pipeline.then(cstr!("$bucketAuto"), argument)
    }
}

fn with_output<T: Embedded, Out: Embedded>(
    argument: Result<RawDocumentBuf>,
    output: impl FnOnce(T::Fields<T>, Out::Fields<Out>) -> Grouping<T, Out>,
) -> Result<RawDocumentBuf> {
    let mut argument = argument?;
    let output = output(T::fields_at(Path::root()), Out::fields_at(Path::root()));
    argument.append(cstr!("output"), output.into_output()?);
    Ok(argument)
}
