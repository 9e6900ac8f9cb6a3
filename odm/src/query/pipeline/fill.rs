//! Values for what is null or missing.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::{CStr, cstr};
use bson::{RawBson, RawDocumentBuf};

use super::Pipeline;
use super::assignment::Assignment;
use super::series::{InOrder, InOrderOfOne, Series, all_of};
use crate::error::Result;
use crate::model::{Embedded, Field, Numeric, Path};
use crate::query::expression::{Encoding, Gives};
use crate::query::traits::Nullable;

/// The kind of the stage that gives values to what is null or missing: `fill`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Filling;

/// How fields of documents of `R`, which are in the order `O`, are filled.
pub struct Filler<R, O>(PhantomData<fn() -> (R, O)>);

impl<R, O> Filler<R, O> {
    /// The field gets this where it is null or missing: a constant, or what an expression gives of the same document.
    pub fn value<Out, V>(
        &self,
        field: &Field<Out, V>,
        value: impl Gives<R, V>,
    ) -> Assignment<R, Out, Filling> {
        filled(field, cstr!("value"), value.give(&Encoding::of(field.codec())))
    }
}

impl<R, O: InOrder> Filler<R, O> {
    /// The field gets the last value before it that is not null; it stays null before the first.
    pub fn locf<Out, V: Nullable>(&self, field: &Field<Out, V>) -> Assignment<R, Out, Filling> {
        filled(field, cstr!("method"), Ok(RawBson::String("locf".to_owned())))
    }
}

impl<R, O: InOrderOfOne> Filler<R, O> {
    /// The field gets what lies on the line between the values around it, by the field of the order, which is a number or
    /// a date. It stays null before the first value and behind the last.
    pub fn linear<Out, V: Nullable + Numeric>(&self, field: &Field<Out, V>) -> Assignment<R, Out, Filling> {
        filled(field, cstr!("method"), Ok(RawBson::String("linear".to_owned())))
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// The same documents with values where fields are null or missing (`$fill`). To be finished by
    /// [`output`](Series::output).
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Debug, Serialize, Deserialize, odm::Model)]
    /// struct Measure {
    ///     #[serde(rename = "_id")]
    ///     hour: i32,
    ///     degrees: Option<f64>,
    ///     note: Option<String>,
    /// }
    ///
    /// #[derive(Debug, PartialEq, Serialize, Deserialize, odm::Embedded)]
    /// struct Whole {
    ///     #[serde(rename = "_id")]
    ///     hour: i32,
    ///     degrees: Option<f64>,
    ///     note: String,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let measures = odm::Db::open("memory:").await?.collection::<Measure>();
    /// let measure = |(hour, degrees)| Measure { hour, degrees, note: None };
    /// measures.insert_many([(1, Some(2.0)), (2, None), (3, Some(5.0))].map(measure)).await?;
    /// let whole = measures
    ///     .aggregate()
    ///     .fill()
    ///     .sort_by(|m| m.hour)
    ///     .output::<Whole>(|_, w, f| f.linear(&w.degrees) & f.value(&w.note, "none"))
    ///     .await?;
    /// assert_eq!(whole[1], Whole { hour: 2, degrees: Some(3.5), note: "none".into() });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With an order or partitions, a partition is held in memory as a whole, up to the server's 100 MB.
    pub fn fill(self) -> Series<T, S, Filling> {
        Series::new(self)
    }
}

impl<T: Embedded, S, O> Series<T, S, Filling, O> {
    /// What is filled, and how. The fields of `Out` are those of the documents, by their stored names; it is `T` itself, or
    /// a type in which what was filled is not optional. The third argument of the closure says the ways that the order
    /// allows.
    pub fn output<Out: Embedded>(
        self,
        output: impl FnOnce(T::Fields<T>, Out::Fields<Out>, Filler<T, O>) -> Assignment<T, Out, Filling>,
    ) -> Pipeline<Out, S> {
        let output = output(
            T::fields_at(Path::root()),
            Out::fields_at(Path::root()),
            Filler(PhantomData),
        );
        let (partitions, order) = (self.partitions, self.order);
        let argument = output.into_fields("$fill").and_then(|output| {
            let mut argument = RawDocumentBuf::new();
            let partitions = partitions?;
            if !partitions.is_empty() {
                argument.append(cstr!("partitionBy"), all_of(partitions)?);
            }
            if let Some(order) = order? {
                argument.append(cstr!("sortBy"), order);
            }
            argument.append(cstr!("output"), output);
            Ok(argument)
        });
        self.pipeline.then(cstr!("$fill"), argument)
    }
}

fn filled<R, Out, V>(
    field: &Field<Out, V>,
    way: &'static CStr,
    value: Result<RawBson>,
) -> Assignment<R, Out, Filling> {
    field.assigned(value.map(|value| {
        let mut filled = RawDocumentBuf::new();
        filled.append(way, value);
        RawBson::Document(filled)
    }))
}

impl<R, O> fmt::Debug for Filler<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filler")
    }
}
