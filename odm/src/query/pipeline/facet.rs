//! Several pipelines over the same documents.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitAnd;

use bson::raw::cstr;
use bson::{RawArrayBuf, RawDocumentBuf};

use super::Pipeline;
use super::assignment::no_twice;
use crate::error::Result;
use crate::lifecycle::Joins;
use crate::model::{ArrayType, Embedded, Field, Path};
use crate::query::expression::field_name;

/// What every facet of a [`facet`](Pipeline::facet) sees: each begins with [`stages`](Facet::stages).
pub struct Facet<T>(PhantomData<fn() -> T>);

impl<T> Facet<T> {
    /// The stages of one more facet.
    pub fn stages(&self) -> Pipeline<T> {
        Pipeline::new()
    }
}

impl<T> fmt::Debug for Facet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Facet")
    }
}

/// Arrays of `Out`, each with the results of a pipeline; combined with `&`.
#[must_use]
pub struct Facets<Out> {
    fields: Result<Vec<(String, Vec<RawDocumentBuf>)>>,
    /// The models whose collections the stages name.
    joins: Joins,
    marker: PhantomData<fn() -> Out>,
}

impl<Out, A: ArrayType> Field<Out, A> {
    /// Gets the results of these stages in a [`facet`](Pipeline::facet).
    pub fn results(&self, stages: Pipeline<A::Item>) -> Facets<Out> {
        let (stages, joins, ()) = stages.into_parts();
        let fields = self.query_path().and_then(|path| {
            let stages = stages?;
            Ok(vec![(path.as_str().to_owned(), stages)])
        });
        Facets {
            fields,
            joins,
            marker: PhantomData,
        }
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// Runs several pipelines over the same documents and gives one document of their results (`$facet`):
    /// `|books, o| o.newest.results(books.stages().sort(|b| b.year.desc()).limit(3))`, several combined with `&`.
    ///
    /// The one document must fit 16 MB.
    pub fn facet<Out: Embedded>(
        self,
        facets: impl FnOnce(Facet<T>, Out::Fields<Out>) -> Facets<Out>,
    ) -> Pipeline<Out, S> {
        let Facets { fields, joins, .. } = facets(Facet(PhantomData), Out::fields_at(Path::root()));
        let argument = fields.and_then(|fields| {
            no_twice("$facet", fields.iter().map(|(path, _)| path))?;
            let mut argument = RawDocumentBuf::new();
            for (path, stages) in fields {
                argument.append(field_name(&path)?, stages.into_iter().collect::<RawArrayBuf>());
            }
            Ok(argument)
        });
        self.joining_all(joins).then(cstr!("$facet"), argument)
    }
}

impl<Out> BitAnd for Facets<Out> {
    type Output = Facets<Out>;

    fn bitand(mut self, other: Facets<Out>) -> Facets<Out> {
        self.joins.extend(other.joins);
        Facets {
            joins: self.joins,
            fields: self.fields.and_then(|mut fields| {
                fields.extend(other.fields?);
                Ok(fields)
            }),
            marker: PhantomData,
        }
    }
}

impl<Out> fmt::Debug for Facets<Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Facets").field(&self.fields).finish()
    }
}
