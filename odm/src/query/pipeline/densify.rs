//! Documents for the steps that are missing.

use bson::raw::cstr;
use bson::{Document, RawArrayBuf, RawBson, RawDocumentBuf};
use serde::Serialize;

use super::Pipeline;
use crate::error::Result;
use crate::model::{Date, Embedded, Field, Numeric, Path};
use crate::query::operand::Operand;
use crate::query::time_unit::TimeUnit;

/// The field of type `V` whose values get steps, to be said by [`every`](Densify::every) or
/// [`every_unit`](Densify::every_unit).
#[must_use]
#[derive(Debug)]
pub struct Densify<T, S, V> {
    pipeline: Pipeline<T, S>,
    field: Field<T, V>,
    partitions: Result<RawArrayBuf>,
}

/// The steps of a field of type `V`; from where to where they go is said by [`full`](Steps::full),
/// [`of_partitions`](Steps::of_partitions) or [`between`](Steps::between).
#[must_use]
#[derive(Debug)]
pub struct Steps<T, S, V> {
    of: Densify<T, S, V>,
    step: Result<RawBson>,
    unit: Option<TimeUnit>,
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// The documents, and between them new ones, so that a field of numbers or dates has a value at each step
    /// (`$densify`): to be finished as `.every(10).full()` or `.every_unit(1, TimeUnit::Day).between(first, end)`.
    ///
    /// ```
    /// use odm::bson::doc;
    /// # use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Debug, Serialize, Deserialize, odm::Model)]
    /// struct Reading {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     meter: String,
    ///     hour: i32,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let readings = odm::Db::open("memory:").await?.collection::<Reading>();
    /// let reading = |hour: i32| Reading { id: hour, meter: "a".into(), hour };
    /// readings.insert_many([1, 3].map(reading)).await?;
    /// let steps = readings.aggregate().densify(|r| r.hour).partition_by(|r| r.meter).every(1).full().await?;
    /// assert_eq!(steps[1], doc! { "meter": "a", "hour": 2 });
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A new document has the field and those of its partition, nothing else; [`into`](Pipeline::into) says what the
    /// documents are then. More than 500,000 new ones are an error of the server (code 5897900), a value that is neither
    /// null nor a number or a date too.
    pub fn densify<V>(self, field: impl FnOnce(T::Fields<T>) -> Field<T, V>) -> Densify<T, S, V> {
        Densify {
            pipeline: self,
            field: field(T::fields_at(Path::root())),
            partitions: Ok(RawArrayBuf::new()),
        }
    }
}

impl<T: Embedded, S, V> Densify<T, S, V> {
    /// Documents that have this field's value in common get steps of their own. Said several times, by all of the fields.
    pub fn partition_by<P>(mut self, field: impl FnOnce(T::Fields<T>) -> Field<T, P>) -> Self {
        let path = field(T::fields_at(Path::root())).query_path();
        self.partitions = self.partitions.and_then(|mut partitions| {
            partitions.push(path?.as_str());
            Ok(partitions)
        });
        self
    }

    /// A step is this number, greater than 0.
    pub fn every(self, step: impl Operand<V>) -> Steps<T, S, V>
    where
        V: Numeric + Serialize,
    {
        let step = self.field.located(self.field.operand(step));
        Steps {
            of: self,
            step,
            unit: None,
        }
    }

    /// A step is this many of a unit of time, greater than 0.
    pub fn every_unit(self, count: u32, unit: TimeUnit) -> Steps<T, S, V>
    where
        V: Date,
    {
        Steps {
            of: self,
            step: Ok(RawBson::Int64(i64::from(count))),
            unit: Some(unit),
        }
    }
}

impl<T: Embedded, S, V> Steps<T, S, V> {
    /// From the least value of all documents to the greatest, in each partition.
    pub fn full(self) -> Pipeline<Document, S> {
        self.finish(Ok(RawBson::String("full".to_owned())))
    }

    /// From the least value of each partition to its greatest.
    ///
    /// Without a partition it is an error of the server (code 5733408).
    pub fn of_partitions(self) -> Pipeline<Document, S> {
        self.finish(Ok(RawBson::String("partition".to_owned())))
    }

    /// From the first value up to the second, which is not made. Documents outside stay as they are.
    ///
    /// Bounds that do not ascend are an error of the server (code 5733402).
    pub fn between(self, from: impl Operand<V>, to: impl Operand<V>) -> Pipeline<Document, S>
    where
        V: Serialize,
    {
        let field = &self.of.field;
        let bounds = field.operand(from).and_then(|from| {
            let bounds = [from, field.operand(to)?].into_iter();
            Ok(RawBson::Array(bounds.collect()))
        });
        let bounds = field.located(bounds);
        self.finish(bounds)
    }

    fn finish(self, bounds: Result<RawBson>) -> Pipeline<Document, S> {
        let (of, step, unit) = (self.of, self.step, self.unit);
        let (field, partitions) = (of.field.query_path(), of.partitions);
        let argument = field.and_then(|field| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("field"), field.as_str());
            let partitions = partitions?;
            if !partitions.is_empty() {
                argument.append(cstr!("partitionByFields"), partitions);
            }
            let mut range = RawDocumentBuf::new();
            range.append(cstr!("step"), step?);
            if let Some(unit) = unit {
                range.append(cstr!("unit"), unit.as_str());
            }
            range.append(cstr!("bounds"), bounds?);
            argument.append(cstr!("range"), range);
            Ok(argument)
        });
        of.pipeline.then(cstr!("$densify"), argument)
    }
}
