//! Documents in partitions and in order, for the stages that look at the documents around one.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::{CString, cstr};
use bson::{RawBson, RawDocumentBuf};

use super::Pipeline;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Embedded, Field, Ordered, Path};
use crate::query::Sort;
use crate::query::expression::{Valued, call_all, constant, field_name};

/// What comes into a stage `K` that looks at the documents around one: in which partitions, and in which order `O`. Begun
/// by [`windows`](Pipeline::windows) or [`fill`](Pipeline::fill), finished by `output`.
#[must_use]
pub struct Series<T, S, K, O = Unordered> {
    pub(super) pipeline: Pipeline<T, S>,
    pub(super) partitions: Result<Vec<RawBson>>,
    pub(super) order: Result<Option<RawDocumentBuf>>,
    marker: PhantomData<fn() -> (K, O)>,
}

/// In no order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Unordered;

/// In an order by any number of fields.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Sorted;

/// In ascending order of one field of type `V`.
#[derive(Clone, Copy, Debug)]
pub struct Ascending<V>(PhantomData<fn() -> V>);

/// In descending order of one field of type `V`.
#[derive(Clone, Copy, Debug)]
pub struct Descending<V>(PhantomData<fn() -> V>);

/// Documents that are in an order.
#[diagnostic::on_unimplemented(
    message = "this needs documents in an order",
    label = "documents are `{Self}`",
    note = "say the order before `output`: `.sort_by(|b| b.year)`, or `.sort(|b| b.year.asc() & b.title.asc())`"
)]
pub trait InOrder {}

/// Documents that are in the order of one field.
#[diagnostic::on_unimplemented(
    message = "this needs documents in the order of one field",
    label = "documents are `{Self}`",
    note = "say the field before `output`: `.sort_by(|b| b.year)` or `.sort_by_descending(|b| b.year)`"
)]
pub trait InOrderOfOne: InOrder {
    /// The field's type.
    type Value;
}

impl InOrder for Sorted {}
impl<V> InOrder for Ascending<V> {}
impl<V> InOrder for Descending<V> {}

impl<V> InOrderOfOne for Ascending<V> {
    type Value = V;
}

impl<V> InOrderOfOne for Descending<V> {
    type Value = V;
}

impl<T, S, K> Series<T, S, K> {
    pub(super) fn new(pipeline: Pipeline<T, S>) -> Series<T, S, K> {
        Series {
            pipeline,
            partitions: Ok(Vec::new()),
            order: Ok(None),
            marker: PhantomData,
        }
    }
}

impl<T: Embedded, S, K, O> Series<T, S, K, O> {
    /// Documents that have this value in common are a partition, and see one another only: a field or an expression; null
    /// and missing are the same. Said several times, by all of the values. Without it all documents are one partition.
    ///
    /// A value that is an array is an error of the server (code 14).
    pub fn partition_by<V: Valued<Root = T>>(mut self, by: impl FnOnce(T::Fields<T>) -> V) -> Self {
        let by = by(T::fields_at(Path::root())).expression().into_value();
        self.partitions = self.partitions.and_then(|mut partitions| {
            partitions.push(by?);
            Ok(partitions)
        });
        self
    }

    /// In this order. Where the order is by one field, [`sort_by`](Series::sort_by) says so, and more can be asked for.
    pub fn sort(self, sort: impl FnOnce(T::Fields<T>) -> Sort<T>) -> Series<T, S, K, Sorted> {
        let order = sort(T::fields_at(Path::root())).to_document();
        self.ordered(order)
    }

    /// In ascending order of this field.
    pub fn sort_by<V: Ordered>(
        self,
        field: impl FnOnce(T::Fields<T>) -> Field<T, V>,
    ) -> Series<T, S, K, Ascending<V>> {
        let order = field(T::fields_at(Path::root())).asc().to_document();
        self.ordered(order)
    }

    /// In descending order of this field.
    pub fn sort_by_descending<V: Ordered>(
        self,
        field: impl FnOnce(T::Fields<T>) -> Field<T, V>,
    ) -> Series<T, S, K, Descending<V>> {
        let order = field(T::fields_at(Path::root())).desc().to_document();
        self.ordered(order)
    }

    fn ordered<N>(self, order: Result<RawDocumentBuf>) -> Series<T, S, K, N> {
        let order = order.and_then(|order| match order.is_empty() {
            false => Ok(Some(order)),
            true => Err(Error::new(ErrorKind::InvalidArgument, "the order is by no field")),
        });
        Series {
            pipeline: self.pipeline,
            partitions: self.partitions,
            order,
            marker: PhantomData,
        }
    }
}

/// Several values as one document. Null and missing are the same in it.
pub(super) fn all_of(values: Vec<RawBson>) -> Result<RawBson> {
    let mut document = RawDocumentBuf::new();
    for (place, value) in values.into_iter().enumerate() {
        let name: CString = field_name(&format!("p{place}"))?;
        let null = Ok(constant(RawBson::Null));
        document.append(name, call_all(cstr!("$ifNull"), [Ok(value), null])?);
    }
    Ok(RawBson::Document(document))
}

impl<T, S: Clone, K, O> Clone for Series<T, S, K, O> {
    fn clone(&self) -> Self {
        Series {
            pipeline: self.pipeline.clone(),
            partitions: self.partitions.clone(),
            order: self.order.clone(),
            marker: PhantomData,
        }
    }
}

impl<T, S, K, O> fmt::Debug for Series<T, S, K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series")
            .field("pipeline", &self.pipeline)
            .field("partitions", &self.partitions)
            .field("order", &self.order)
            .finish()
    }
}
