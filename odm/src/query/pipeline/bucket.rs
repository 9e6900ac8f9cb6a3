//! Groups by ranges.

use bson::raw::{CStr, cstr};
use bson::spec::ElementType;
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf};
use serde::Serialize;

use super::Pipeline;
use super::assignment::Grouping;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Embedded, Path};
use crate::query::expression::{Term, Valued, constant};

/// Groups between given boundaries, to be finished by [`output`](Buckets::output).
#[must_use]
#[derive(Debug)]
pub struct Buckets<T, S> {
    pipeline: Pipeline<T, S>,
    ranges: Result<Ranges>,
}

/// What `$bucket` goes by.
#[derive(Debug)]
struct Ranges {
    by: RawBson,
    boundaries: Vec<RawBson>,
    default: Option<RawBson>,
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
    /// A value outside is an error unless there is a bucket [`otherwise`](Buckets::otherwise). Where a boundary holds what
    /// MongoDB would take for a field (a text that begins with `$`), the stage is the `$group` that `$bucket` stands for.
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
        let ranges = boundaries.and_then(|boundaries| {
            Ok(Ranges {
                by: by.into_value()?,
                boundaries,
                default: None,
            })
        });
        Buckets {
            pipeline: self,
            ranges,
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
        self.ranges = self.ranges.and_then(|mut ranges| {
            ranges.default = Some(constant(crate::codec::encode_value(&id)?));
            Ok(ranges)
        });
        self
    }

    /// What is made of each bucket: fields other than `_id`, by [`is`](crate::Field::is).
    pub fn output<Out: Embedded>(
        self,
        output: impl FnOnce(T::Fields<T>, Out::Fields<Out>) -> Grouping<T, Out>,
    ) -> Pipeline<Out, S> {
        let output = output(T::fields_at(Path::root()), Out::fields_at(Path::root()));
        let made = self
            .ranges
            .and_then(|ranges| ranges.with_output(output.into_output("$bucket")?));
        match made {
            Ok(Stages::Bucket(argument)) => self.pipeline.then(cstr!("$bucket"), Ok(argument)),
            Ok(Stages::Group(argument)) => {
                let order = single(cstr!("_id"), 1);
                let grouped: Pipeline<Out, S> = self.pipeline.then(cstr!("$group"), Ok(argument));
                grouped.then(cstr!("$sort"), Ok(order))
            }
            Err(error) => self
                .pipeline
                .then(cstr!("$bucket"), Err::<RawDocumentBuf, _>(error)),
        }
    }
}

/// The argument of a stage that makes the buckets.
enum Stages {
    Bucket(RawDocumentBuf),
    Group(RawDocumentBuf),
}

impl Ranges {
    /// Servers read the boundaries of `$bucket`, computed as they are, once more, and then take texts that begin with
    /// `$` for fields. Where there are such, this makes the groups that `$bucket` stands for.
    fn with_output(self, output: RawDocumentBuf) -> Result<Stages> {
        let mut constants = self.boundaries.iter().chain(&self.default);
        if constants.any(|constant| literal_of(constant).is_some_and(is_read_otherwise)) {
            return self.into_group(output).map(Stages::Group);
        }
        let mut argument = RawDocumentBuf::new();
        argument.append(cstr!("groupBy"), self.by);
        argument.append(
            cstr!("boundaries"),
            self.boundaries.into_iter().collect::<RawArrayBuf>(),
        );
        if let Some(default) = self.default {
            argument.append(cstr!("default"), default);
        }
        argument.append(cstr!("output"), output);
        Ok(Stages::Bucket(argument))
    }

    fn into_group(self, output: RawDocumentBuf) -> Result<RawDocumentBuf> {
        self.check()?;
        let pair = |operator, one: &RawBson, other: &RawBson| {
            let both: RawArrayBuf = [one.clone(), other.clone()].into_iter().collect();
            RawBson::Document(single(operator, both))
        };
        let both = |one, other| {
            let both: RawArrayBuf = [one, other].into_iter().collect();
            RawBson::Document(single(cstr!("$and"), both))
        };
        let mut branches = RawArrayBuf::new();
        for ends in self.boundaries.windows(2) {
            // Whether they ascend, the server knows: it may compare texts by a collation.
            branches.push(case(
                single(cstr!("$not"), pair(cstr!("$lt"), &ends[0], &ends[1])),
                failing(),
            ));
        }
        if let (Some(default), Some(first), Some(last)) =
            (&self.default, self.boundaries.first(), self.boundaries.last())
        {
            let inside = both(
                pair(cstr!("$gte"), default, first),
                pair(cstr!("$lt"), default, last),
            );
            branches.push(case(inside, failing()));
        }
        for ends in self.boundaries.windows(2) {
            let inside = both(
                pair(cstr!("$gte"), &self.by, &ends[0]),
                pair(cstr!("$lt"), &self.by, &ends[1]),
            );
            branches.push(case(inside, ends[0].clone()));
        }
        let mut switch = single(cstr!("branches"), branches);
        if let Some(default) = self.default {
            switch.append(cstr!("default"), default);
        }
        let mut argument = single(cstr!("_id"), single(cstr!("$switch"), switch));
        for element in &output {
            let (name, value) = element.map_err(|error| {
                Error::new(ErrorKind::Encode, "an output is malformed").with_source(error)
            })?;
            argument.append(name, value);
        }
        Ok(argument)
    }

    /// What a server says of the argument of `$bucket`, as far as it is known here.
    fn check(&self) -> Result<()> {
        let refuse = |message: &'static str| Err(Error::new(ErrorKind::InvalidArgument, message));
        if self.boundaries.len() < 2 {
            return refuse("buckets have two boundaries at least");
        }
        let types = self.boundaries.iter().map(|boundary| {
            let value = literal_of(boundary);
            value.map_or(ElementType::EmbeddedDocument, |value| value.element_type())
        });
        let mut types = types.collect::<Vec<_>>();
        types.dedup();
        match types.len() {
            1 => Ok(()),
            _ => refuse("boundaries of buckets are of one type"),
        }
    }
}

fn case(condition: impl Into<RawBson>, then: impl Into<RawBson>) -> RawDocumentBuf {
    let mut case = single(cstr!("case"), condition);
    case.append(cstr!("then"), then.into());
    case
}

/// A conversion that fails with a text that says why. It depends on the document, so that it is made only then.
fn failing() -> RawDocumentBuf {
    let mut texts = RawArrayBuf::new();
    texts.push("odm: the boundaries of buckets ascend, and what is otherwise is not between them: ");
    texts.push(single(cstr!("$type"), "$_id"));
    single(cstr!("$toInt"), single(cstr!("$concat"), texts))
}

fn single(name: &'static CStr, value: impl Into<RawBson>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append(name, value.into());
    document
}

/// The constant that this is, if it is one as such.
fn literal_of(value: &RawBson) -> Option<RawBsonRef<'_>> {
    let RawBson::Document(document) = value else {
        return Some(value.as_raw_bson_ref());
    };
    let (name, literal) = document.iter().next()?.ok()?;
    (name == "$literal").then_some(literal)
}

/// Whether it is something else when it is read as an expression.
fn is_read_otherwise(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::String(text) => text.starts_with('$'),
        RawBsonRef::Document(document) => document.iter().flatten().any(|(name, value)| {
            name.as_str().starts_with('$') || name.as_str().contains('.') || is_read_otherwise(value)
        }),
        RawBsonRef::Array(items) => items.into_iter().flatten().any(is_read_otherwise),
        _ => false,
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
        let output = output(T::fields_at(Path::root()), Out::fields_at(Path::root()));
        let argument = self.argument.and_then(|mut argument| {
            argument.append(cstr!("output"), output.into_output("$bucketAuto")?);
            Ok(argument)
        });
        self.pipeline.then(cstr!("$bucketAuto"), argument)
    }
}
