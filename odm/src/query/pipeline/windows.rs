//! Fields computed over the documents around one.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::cstr;
use bson::{RawBson, RawDocumentBuf};

use super::Pipeline;
use super::assignment::{Assignment, Fits};
use super::series::{Series, all_of};
use super::window::Window;
use crate::error::Result;
use crate::model::{Embedded, Field, Path};

/// The kind of the stage that computes over the documents around one: `windows`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Windows;

/// A value of type `V` that is computed of the documents around one of `R`: made by [`Window`] and
/// [`Frame`](super::Frame), given to an output field by [`over`](Field::over).
#[must_use]
pub struct Windowed<R, V> {
    value: Result<RawDocumentBuf>,
    marker: PhantomData<fn() -> (R, V)>,
}

impl<R, V> Windowed<R, V> {
    /// A window function in MongoDB's words, with its `window` if it has one: `doc! { "$sum": "$sold", "window": {
    /// "documents": ["unbounded", "current"] } }`. The type is believed.
    pub fn raw(function: impl Into<crate::codec::Raw>) -> Windowed<R, V> {
        Windowed::new(function.into().into_document())
    }

    /// The same in this window; all documents of the partition in an empty one.
    pub(super) fn within(self, window: Result<RawDocumentBuf>) -> Windowed<R, V> {
        Windowed::new(self.value.and_then(|mut value| {
            let window = window?;
            if !window.is_empty() {
                value.append(cstr!("window"), window);
            }
            Ok(value)
        }))
    }

    pub(super) fn new(value: Result<RawDocumentBuf>) -> Windowed<R, V> {
        Windowed {
            value,
            marker: PhantomData,
        }
    }
}

impl<Out, T> Field<Out, T> {
    /// Gets what is computed of the documents around each one, in a [`windows`](crate::Pipeline::windows):
    /// `d.total.over(w.all().of(sum(&s.sold)))`.
    pub fn over<R, V>(&self, value: Windowed<R, V>) -> Assignment<R, Out, Windows>
    where
        V: Fits<T>,
    {
        self.assigned(value.value.map(RawBson::Document))
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// The same documents with fields that are computed of the documents around each one (`$setWindowFields`): running
    /// totals, moving averages, ranks, the value of the document before. To be finished by [`output`](Series::output).
    ///
    /// ```
    /// use odm::bson::DateTime;
    /// use odm::expr::{Edge, TimeUnit, avg, sum};
    /// # use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Debug, Serialize, Deserialize, odm::Model)]
    /// struct Sale {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     shop: String,
    ///     day: DateTime,
    ///     sold: i32,
    /// }
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize, odm::Embedded)]
    /// struct Day {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     so_far: i64,
    ///     of_week: f64,
    ///     before: Option<i32>,
    ///     place: u32,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let sales = odm::Db::open("memory:").await?.collection::<Sale>();
    /// let day = |id: i32| DateTime::from_millis(i64::from(id) * 86_400_000);
    /// let sale = |id: i32| Sale { id, shop: "Wren".into(), day: day(id), sold: id * 10 };
    /// sales.insert_many((1..=3).map(sale)).await?;
    /// let days = sales
    ///     .aggregate()
    ///     .windows()
    ///     .partition_by(|s| s.shop)
    ///     .sort_by(|s| s.day)
    ///     .output::<Day>(|s, d, w| {
    ///         d.so_far.over(w.documents(Edge::Unbounded, Edge::Current).of(sum(&s.sold)))
    ///             & d.of_week.over(w.time(-6, 0, TimeUnit::Day).of(avg(&s.sold)))
    ///             & d.before.over(w.shift(&s.sold, -1))
    ///             & d.place.over(w.rank())
    ///     })
    ///     .await?;
    /// assert_eq!(days[2], Day { id: 3, so_far: 60, of_week: 20.0, before: Some(20), place: 3 });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The documents come out by partition and in the order that was said. A partition is held in memory as a whole, up to
    /// the server's 100 MB ([`allow_disk_use`](Pipeline::allow_disk_use)).
    pub fn windows(self) -> Series<T, S, Windows> {
        Series::new(self)
    }
}

impl<T: Embedded, S, O> Series<T, S, Windows, O> {
    /// What is computed, into which fields of `Out`: the documents' own fields stay, so that `Out` is `T` with more of
    /// them, or `T` itself. The third argument of the closure makes windows and functions of the order.
    pub fn output<Out: Embedded>(
        self,
        output: impl FnOnce(T::Fields<T>, Out::Fields<Out>, Window<T, O>) -> Assignment<T, Out, Windows>,
    ) -> Pipeline<Out, S> {
        let output = output(
            T::fields_at(Path::root()),
            Out::fields_at(Path::root()),
            Window::new(),
        );
        let (partitions, order) = (self.partitions, self.order);
        let argument = output.into_fields("$setWindowFields").and_then(|output| {
            let mut argument = RawDocumentBuf::new();
            let mut partitions = partitions?;
            match partitions.len() {
                0 => {}
                1 => argument.append(cstr!("partitionBy"), partitions.remove(0)),
                _ => argument.append(cstr!("partitionBy"), all_of(partitions)?),
            }
            if let Some(order) = order? {
                argument.append(cstr!("sortBy"), order);
            }
            argument.append(cstr!("output"), output);
            Ok(argument)
        });
        self.pipeline.then(cstr!("$setWindowFields"), argument)
    }
}

impl<R, V> Clone for Windowed<R, V> {
    fn clone(&self) -> Self {
        Windowed::new(self.value.clone())
    }
}

impl<R, V> fmt::Debug for Windowed<R, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Windowed").field(&self.value).finish()
    }
}
