//! Following references from document to document.

use std::fmt;
use std::marker::PhantomData;

use bson::raw::cstr;
use bson::{RawBson, RawDocumentBuf};

use super::Pipeline;
use super::lookup::living;
use crate::error::Result;
use crate::model::{ArrayType, Embedded, Field, Model, Path};
use crate::query::expression::Valued;
use crate::query::{Filter, without_distance};

/// How documents of `F` are followed from those of `R`, as which type `I` they come, and into which array of `Out`.
#[must_use]
pub struct Following<R, F, I, Out> {
    start: Result<RawBson>,
    from: Result<String>,
    to: Result<String>,
    into: Result<String>,
    max_depth: Option<u32>,
    depth: Option<Result<String>>,
    filter: Option<Result<RawDocumentBuf>>,
    marker: PhantomData<fn(R, F, I, Out)>,
}

impl<Out, A: ArrayType> Field<Out, A> {
    /// Gets the documents of the other model that are reached in a [`graph_lookup`](crate::Pipeline::graph_lookup): first
    /// those whose field `to` has the value of `start`, then those whose `to` has the value that `from` has in these, and
    /// so on; an array's elements each.
    pub fn follows<S: Valued, F, K, L>(
        &self,
        start: S,
        from: &Field<F, K>,
        to: &Field<F, L>,
    ) -> Following<S::Root, F, A::Item, Out> {
        Following {
            start: start.expression().into_value(),
            from: path(from),
            to: path(to),
            into: path(self),
            max_depth: None,
            depth: None,
            filter: None,
            marker: PhantomData,
        }
    }
}

impl<R, F: Model, I, Out> Following<R, F, I, Out> {
    /// At most so many references on from the first documents: 0 gives these alone.
    pub fn max_depth(mut self, depth: u32) -> Self {
        self.max_depth = Some(depth);
        self
    }

    /// A field of the documents that are reached gets how many references on they were found.
    pub fn depth<V>(mut self, field: impl FnOnce(I::Fields<I>) -> Field<I, V>) -> Self
    where
        I: Embedded,
    {
        self.depth = Some(path(&field(I::fields_at(Path::root()))));
        self
    }

    /// Only documents that match are found, and followed.
    pub fn filter(mut self, filter: impl FnOnce(F::Fields<F>) -> Filter<F>) -> Self {
        let filter = filter(F::fields()).to_document();
        self.filter = Some(filter.and_then(without_distance));
        self
    }

    fn argument(self) -> Result<RawDocumentBuf> {
        let mut argument = RawDocumentBuf::new();
        argument.append(cstr!("from"), F::DESCRIPTOR.collection);
        argument.append(cstr!("startWith"), self.start?);
        argument.append(cstr!("connectFromField"), self.from?);
        argument.append(cstr!("connectToField"), self.to?);
        argument.append(cstr!("as"), self.into?);
        if let Some(depth) = self.max_depth {
            argument.append(cstr!("maxDepth"), i64::from(depth));
        }
        if let Some(depth) = self.depth {
            argument.append(cstr!("depthField"), depth?);
        }
        let mut conditions: Vec<RawDocumentBuf> = living::<F>()?.into_iter().collect();
        conditions.extend(self.filter.transpose()?);
        if let Some(first) = conditions.pop() {
            let restricted = match conditions.is_empty() {
                true => first,
                false => {
                    conditions.push(first);
                    let mut all = RawDocumentBuf::new();
                    all.append(
                        cstr!("$and"),
                        conditions.into_iter().collect::<bson::RawArrayBuf>(),
                    );
                    all
                }
            };
            argument.append(cstr!("restrictSearchWithMatch"), restricted);
        }
        Ok(argument)
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// Follows references through the documents of a model (`$graphLookup`): `Out` is `T` with an array of all that are
    /// reached, each once, in no order that is promised.
    ///
    /// ```
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Debug, Serialize, Deserialize, odm::Model)]
    /// struct Person {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     boss: Option<i32>,
    /// }
    ///
    /// #[derive(Debug, Serialize, Deserialize, odm::Embedded)]
    /// struct WithBosses {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     bosses: Vec<Person>,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let people = odm::Db::open("memory:").await?.collection::<Person>();
    /// let person = |id| Person { id, boss: (id > 1).then_some(id / 2) };
    /// people.insert_many((1..=7).map(person)).await?;
    /// let found = people
    ///     .aggregate()
    ///     .filter(|p| p.id.eq(7))
    ///     .graph_lookup::<Person, WithBosses, _>(|p, boss, out| out.bosses.follows(&p.boss, &boss.boss, &boss.id))
    ///     .await?;
    /// let mut ids: Vec<i32> = found[0].bosses.iter().map(|boss| boss.id).collect();
    /// ids.sort();
    /// assert_eq!(ids, [1, 3]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Softly deleted documents of the other model are neither found nor followed, and so are documents of other kinds. An
    /// index on the field that is found by serves each step. All that is reached must fit the server's 100 MB, and the
    /// document with it 16 MB.
    pub fn graph_lookup<F: Model, Out: Embedded, I>(
        self,
        follow: impl FnOnce(T::Fields<T>, F::Fields<F>, Out::Fields<Out>) -> Following<T, F, I, Out>,
    ) -> Pipeline<Out, S> {
        let follow = follow(
            T::fields_at(Path::root()),
            F::fields(),
            Out::fields_at(Path::root()),
        );
        self.joining::<F>().then(cstr!("$graphLookup"), follow.argument())
    }
}

fn path<R, V>(field: &Field<R, V>) -> Result<String> {
    field.query_path().map(|path| path.as_str().to_owned())
}

impl<R, F, I, Out> fmt::Debug for Following<R, F, I, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Following")
            .field("start", &self.start)
            .field("from", &self.from)
            .field("to", &self.to)
            .field("into", &self.into)
            .field("max_depth", &self.max_depth)
            .field("depth", &self.depth)
            .field("filter", &self.filter)
            .finish()
    }
}
