//! Which output field gets which value.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitAnd;

use bson::{RawBson, RawDocumentBuf};

use super::accumulator::Accumulator;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Field, Numeric};
use crate::query::expression::{Encoding, Expr, Gives, Number, field_name};

/// Fields of `Out` with the values that they get from documents of `R`, in stages of a kind `K`; combined with `&`.
#[must_use]
pub struct Assignment<R, Out, K = Computed> {
    fields: Result<Vec<(String, RawBson)>>,
    marker: PhantomData<fn(R, Out, K)>,
}

/// The kind of the stages that compute fields of one document: `project`, `set`.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Computed;

/// Fields of `Out` with what they get from a group of documents of `R`; combined with `&`.
#[must_use]
pub struct Grouping<R, Out> {
    keys: Result<Vec<(String, RawBson)>>,
    fields: Result<Vec<(String, RawBson)>>,
    marker: PhantomData<fn() -> (R, Out)>,
}

impl<Out, T> Field<Out, T> {
    /// Gets this value in a [`project`](crate::Pipeline::project) or [`set`](crate::Pipeline::set).
    pub fn of<R>(&self, value: impl Gives<R, T>) -> Assignment<R, Out> {
        self.assigned(value.give(&Encoding::of(self.codec())))
    }

    /// Is what a [`group`](crate::Pipeline::group) goes by. The field is the output's `_id`, or one inside of it: then
    /// the group goes by all of them.
    pub fn by<R>(&self, key: impl Gives<R, T>) -> Grouping<R, Out> {
        Grouping {
            keys: self.given(key.give(&Encoding::of(self.codec()))),
            fields: Ok(Vec::new()),
            marker: PhantomData,
        }
    }

    /// Gets what is made of the group: `y.books.is(count())`.
    pub fn is<R, V>(&self, accumulator: Accumulator<R, V>) -> Grouping<R, Out>
    where
        V: Fits<T>,
    {
        Grouping {
            keys: Ok(Vec::new()),
            fields: self.given(accumulator.into_value()),
            marker: PhantomData,
        }
    }

    pub(super) fn assigned<R, K>(&self, value: Result<RawBson>) -> Assignment<R, Out, K> {
        Assignment {
            fields: self.given(value),
            marker: PhantomData,
        }
    }

    fn given(&self, value: Result<RawBson>) -> Result<Vec<(String, RawBson)>> {
        let path = self.query_path()?.as_str().to_owned();
        Ok(vec![(path, self.located(value)?)])
    }
}

/// What an accumulator gives, in an output field of type `T`.
#[diagnostic::on_unimplemented(
    message = "a field of type `{T}` cannot hold `{Self}`",
    label = "the output field is a `{T}`",
    note = "sums, means and counts fit every number; the others give values of their field's type, or a `Vec` of them"
)]
pub trait Fits<T> {}

impl<T> Fits<T> for T {}
impl<T> Fits<Option<T>> for T {}
impl<T> Fits<Option<T>> for Option<Option<T>> {}
impl<T: Numeric> Fits<T> for Number {}
impl<T: Numeric> Fits<Option<T>> for Option<Number> {}

impl<R, Out> Assignment<R, Out> {
    /// Assigns, of a field and a value in MongoDB's words.
    pub fn raw<T>(field: &Field<Out, T>, value: impl Into<crate::codec::Raw>) -> Assignment<R, Out> {
        field.assigned(Expr::<R, T>::raw(value).into_value())
    }

    /// The argument of `$set`, or of `$project`: then without an `_id` that is not said.
    pub(super) fn into_document(self, is_projection: bool) -> Result<RawDocumentBuf> {
        let stage = if is_projection { "$project" } else { "$set" };
        let says_id = self.fields.iter().flatten().any(|(path, _)| is_id(path));
        let mut document = self.into_fields(stage)?;
        if is_projection && !says_id {
            document.append(bson::cstr!("_id"), 0);
        }
        Ok(document)
    }
}

impl<R, Out, K> Assignment<R, Out, K> {
    /// The fields with what each gets in this stage.
    pub(super) fn into_fields(self, stage: &'static str) -> Result<RawDocumentBuf> {
        let fields = self.fields?;
        no_twice(stage, fields.iter().map(|(path, _)| path))?;
        let mut document = RawDocumentBuf::new();
        for (path, value) in fields {
            document.append(field_name(&path)?, value);
        }
        Ok(document)
    }
}

fn is_id(path: &str) -> bool {
    path == "_id" || path.starts_with("_id.")
}

impl<R, Out> Grouping<R, Out> {
    /// The argument of `$group`.
    pub(super) fn into_group(self) -> Result<RawDocumentBuf> {
        let mut document = RawDocumentBuf::new();
        document.append(bson::cstr!("_id"), key(self.keys?)?);
        append_outputs("$group", self.fields?, &mut document)?;
        Ok(document)
    }

    /// The `output` of a stage of buckets, which has its key already.
    pub(super) fn into_output(self, stage: &'static str) -> Result<RawDocumentBuf> {
        if !self.keys?.is_empty() {
            return Err(invalid(
                "buckets go by what they were begun with, and have no other key",
            ));
        }
        let mut document = RawDocumentBuf::new();
        append_outputs(stage, self.fields?, &mut document)?;
        Ok(document)
    }
}

fn append_outputs(
    stage: &'static str,
    fields: Vec<(String, RawBson)>,
    document: &mut RawDocumentBuf,
) -> Result<()> {
    no_twice(stage, fields.iter().map(|(path, _)| path))?;
    for (path, value) in fields {
        document.append(field_name(&own(path)?)?, value);
    }
    Ok(())
}

/// Whether no field gets two values, be it as a whole and in a part. Of such a stage each server makes its own.
pub(super) fn no_twice<'p>(stage: &'static str, paths: impl Iterator<Item = &'p String>) -> Result<()> {
    let mut paths: Vec<Vec<&str>> = paths.map(|path| path.split('.').collect()).collect();
    paths.sort();
    match paths.windows(2).find(|pair| pair[1].starts_with(&pair[0])) {
        None => Ok(()),
        Some(pair) => {
            let message = format!("`{stage}` gives a field two values, be it as a whole and in a part");
            Err(Error::new(ErrorKind::InvalidArgument, message).with_path(pair[1].join(".")))
        }
    }
}

/// The key of a group: one value, a document of several, or null for one group of all.
fn key(keys: Vec<(String, RawBson)>) -> Result<RawBson> {
    no_twice("$group", keys.iter().map(|(path, _)| path))?;
    let mut document = RawDocumentBuf::new();
    let is_one = keys.len() == 1;
    for (path, value) in keys {
        match path.strip_prefix("_id") {
            Some("") if is_one => return Ok(value),
            Some(inner) if inner.starts_with('.') && !inner[1..].contains('.') => {
                document.append(field_name(&inner[1..])?, value);
            }
            _ => {
                return Err(
                    invalid("a group goes by the output's `_id`, or by fields directly in it")
                        .with_path(path),
                );
            }
        }
    }
    Ok(match document.is_empty() {
        true => RawBson::Null,
        false => RawBson::Document(document),
    })
}

fn own(path: String) -> Result<String> {
    match path.contains('.') || path == "_id" {
        true => Err(
            invalid("what a group makes goes into fields of the output itself, other than `_id`")
                .with_path(path),
        ),
        false => Ok(path),
    }
}

fn invalid(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

fn both<V>(first: Result<Vec<V>>, second: Result<Vec<V>>) -> Result<Vec<V>> {
    first.and_then(|mut all| {
        all.extend(second?);
        Ok(all)
    })
}

impl<R, Out, K> BitAnd for Assignment<R, Out, K> {
    type Output = Assignment<R, Out, K>;

    fn bitand(self, other: Assignment<R, Out, K>) -> Assignment<R, Out, K> {
        Assignment {
            fields: both(self.fields, other.fields),
            marker: PhantomData,
        }
    }
}

impl<R, Out> BitAnd for Grouping<R, Out> {
    type Output = Grouping<R, Out>;

    fn bitand(self, other: Grouping<R, Out>) -> Grouping<R, Out> {
        Grouping {
            keys: both(self.keys, other.keys),
            fields: both(self.fields, other.fields),
            marker: PhantomData,
        }
    }
}

impl<R, Out, K> fmt::Debug for Assignment<R, Out, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Assignment").field(&self.fields).finish()
    }
}

impl<R, Out> fmt::Debug for Grouping<R, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grouping")
            .field("keys", &self.keys)
            .field("fields", &self.fields)
            .finish()
    }
}
