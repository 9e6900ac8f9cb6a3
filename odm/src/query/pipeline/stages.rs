//! The stages of one collection.

use bson::raw::cstr;
use bson::{Document, RawBson, RawDocumentBuf};

use super::Pipeline;
use super::assignment::{Assignment, Grouping};
use crate::codec::Raw;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ArrayType, Embedded, Field, Path};
use crate::query::expression::Valued;
use crate::query::{Filter, Sort, without_distance};

impl<T, S> Pipeline<T, S> {
    /// At most so many documents (`$limit`).
    pub fn limit(self, count: u64) -> Self {
        let count = match count {
            0 => Err(Error::new(
                ErrorKind::InvalidArgument,
                "a limit in a pipeline is 1 at the least",
            )),
            count => whole(count),
        };
        self.then(cstr!("$limit"), count)
    }

    /// Without the first so many documents (`$skip`).
    pub fn skip(self, count: u64) -> Self {
        self.then(cstr!("$skip"), whole(count))
    }

    /// So many documents by chance (`$sample`).
    pub fn sample(self, count: u64) -> Self {
        let argument = whole(count).map(|count| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("size"), count);
            argument
        });
        self.then(cstr!("$sample"), argument)
    }

    /// A stage in MongoDB's words. Where it changes the shape, [`into`](Pipeline::into) says what it is then.
    pub fn raw(self, stage: impl Into<Raw>) -> Self {
        let stage = stage.into().into_document();
        Pipeline {
            stages: self.stages.and_then(|mut stages| {
                stages.push(stage?);
                Ok(stages)
            }),
            joins: self.joins,
            source: self.source,
            marker: std::marker::PhantomData,
        }
    }

    /// Takes the documents for those of another type from here on: for the stages that follow, where it is
    /// [`Embedded`], and for the results, which are decoded as it. No stage; documents that do not fit are an error of
    /// kind `Decode`.
    pub fn into<U>(self) -> Pipeline<U, S> {
        Pipeline {
            stages: self.stages,
            joins: self.joins,
            source: self.source,
            marker: std::marker::PhantomData,
        }
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// The documents that match (`$match`). Conditions on what is computed: `b.spent.value().gt(&b.budget).holds()`.
    pub fn filter(self, filter: impl FnOnce(T::Fields<T>) -> Filter<T>) -> Self {
        let filter = filter(fields::<T>()).to_document().and_then(without_distance);
        self.then(cstr!("$match"), filter)
    }

    /// The order (`$sort`).
    pub fn sort(self, sort: impl FnOnce(T::Fields<T>) -> Sort<T>) -> Self {
        let sort = sort(fields::<T>()).to_document();
        self.then(cstr!("$sort"), sort)
    }

    /// One document for each group (`$group`): `|b, y| y.year.by(b.year) & y.books.is(count()) & y.pages.is(sum(b.pages))`.
    ///
    /// Without a key all documents are one group. Fields of the output that get nothing are missing in the results.
    pub fn group<Out: Embedded>(
        self,
        group: impl FnOnce(T::Fields<T>, Out::Fields<Out>) -> Grouping<T, Out>,
    ) -> Pipeline<Out, S> {
        let argument = group(fields::<T>(), fields::<Out>()).into_group();
        self.then(cstr!("$group"), argument)
    }

    /// Documents of another type, each field computed (`$project`): `|b, s| s.title.of(b.title) & s.age.of(b.year.value() * -1 + 2024)`.
    ///
    /// Only what is said: the `_id` too, where the output has one.
    pub fn project<Out: Embedded>(
        self,
        project: impl FnOnce(T::Fields<T>, Out::Fields<Out>) -> Assignment<T, Out>,
    ) -> Pipeline<Out, S> {
        let argument = project(fields::<T>(), fields::<Out>()).into_document(true);
        self.then(cstr!("$project"), argument)
    }

    /// The same documents with fields computed anew (`$set`).
    pub fn set(self, set: impl FnOnce(T::Fields<T>) -> Assignment<T, T>) -> Self {
        let argument = set(fields::<T>()).into_document(false);
        self.then(cstr!("$set"), argument)
    }

    /// The same documents with more fields, which make them `Out` (`$set`).
    pub fn set_into<Out: Embedded>(
        self,
        set: impl FnOnce(T::Fields<T>, Out::Fields<Out>) -> Assignment<T, Out>,
    ) -> Pipeline<Out, S> {
        let argument = set(fields::<T>(), fields::<Out>()).into_document(false);
        self.then(cstr!("$set"), argument)
    }

    /// The documents without a field (`$unset`); [`into`](Pipeline::into) says what they are then.
    pub fn unset<V>(self, field: impl FnOnce(T::Fields<T>) -> Field<T, V>) -> Pipeline<Document, S> {
        let path = field(fields::<T>()).query_path();
        self.then(cstr!("$unset"), path.map(|path| path.as_str().to_owned()))
    }

    /// One document for each element of an array (`$unwind`), which is in the array's place; none where there is no
    /// element. [`into`](Pipeline::into) says what they are then.
    pub fn unwind<A: ArrayType>(
        self,
        array: impl FnOnce(T::Fields<T>) -> Field<T, A>,
    ) -> Pipeline<Document, S> {
        let path = array(fields::<T>()).value().into_value();
        self.then(cstr!("$unwind"), path)
    }

    /// As [`unwind`](Pipeline::unwind), with the documents that have no element, and with the element's position in
    /// another field.
    pub fn unwind_all<A: ArrayType>(
        self,
        array: impl FnOnce(T::Fields<T>) -> Field<T, A>,
        position: &str,
    ) -> Pipeline<Document, S> {
        let argument = array(fields::<T>()).value().into_value().map(|path| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("path"), path);
            argument.append(cstr!("includeArrayIndex"), position);
            argument.append(cstr!("preserveNullAndEmptyArrays"), true);
            argument
        });
        self.then(cstr!("$unwind"), argument)
    }

    /// The different values with how often each is there, the most frequent first (`$sortByCount`): documents of `_id`
    /// and `count`. [`into`](Pipeline::into) gives them a type.
    pub fn sort_by_count<V: Valued<Root = T>>(
        self,
        value: impl FnOnce(T::Fields<T>) -> V,
    ) -> Pipeline<Document, S> {
        let value = value(fields::<T>()).expression().into_value();
        self.then(cstr!("$sortByCount"), value)
    }

    /// An embedded document of each document, instead of it (`$replaceRoot`): `|b| b.author.value()`.
    ///
    /// A document that has none there is an error of the server.
    pub fn replace_root<V>(self, root: impl FnOnce(T::Fields<T>) -> V) -> Pipeline<V::Value, S>
    where
        V: Valued<Root = T>,
        V::Value: Embedded,
    {
        let root = root(fields::<T>()).expression().into_value();
        let argument = root.map(|root| {
            let mut argument = RawDocumentBuf::new();
            argument.append(cstr!("newRoot"), root);
            argument
        });
        self.then(cstr!("$replaceRoot"), argument)
    }
}

fn fields<T: Embedded>() -> T::Fields<T> {
    T::fields_at(Path::root())
}

fn whole(count: u64) -> Result<RawBson> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Ok(RawBson::Int64(count))
}
