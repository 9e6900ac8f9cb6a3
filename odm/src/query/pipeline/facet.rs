//! Several pipelines over the same documents.

use std::fmt;
use std::marker::PhantomData;
use std::ops::BitAnd;

use bson::raw::cstr;
use bson::{RawArrayBuf, RawDocumentBuf};

use super::Pipeline;
use crate::error::Result;
use crate::model::{ArrayType, Embedded, Field, Path};
use crate::query::expression::field_name;

/// Arrays of `Out`, each with the results of a pipeline over documents of `T`; combined with `&`.
#[must_use]
pub struct Facets<T, Out> {
    fields: Result<Vec<(String, Vec<RawDocumentBuf>)>>,
    marker: PhantomData<fn() -> (T, Out)>,
}

impl<Out, A: ArrayType> Field<Out, A> {
    /// Gets the results of these stages in a [`facet`](Pipeline::facet).
    pub fn results<T>(&self, stages: impl FnOnce(Pipeline<T>) -> Pipeline<A::Item>) -> Facets<T, Out> {
        let fields = self.query_path().and_then(|path| {
            let stages = stages(Pipeline::new()).stages?;
            Ok(vec![(path.as_str().to_owned(), stages)])
        });
        Facets {
            fields,
            marker: PhantomData,
        }
    }
}

impl<T: Embedded, S> Pipeline<T, S> {
    /// Runs several pipelines over the same documents and gives one document of their results (`$facet`):
    /// `.facet::<Overview>(|o| o.years.results(|books| books.group(..)) & o.newest.results(|books| books.sort(..).limit(3)))`.
    ///
    /// The one document must fit 16 MB.
    pub fn facet<Out: Embedded>(
        self,
        facets: impl FnOnce(Out::Fields<Out>) -> Facets<T, Out>,
    ) -> Pipeline<Out, S> {
        let argument = facets(Out::fields_at(Path::root())).fields.and_then(|fields| {
            let mut argument = RawDocumentBuf::new();
            for (path, stages) in fields {
                argument.append(field_name(&path)?, stages.into_iter().collect::<RawArrayBuf>());
            }
            Ok(argument)
        });
        self.then(cstr!("$facet"), argument)
    }
}

impl<T, Out> BitAnd for Facets<T, Out> {
    type Output = Facets<T, Out>;

    fn bitand(self, other: Facets<T, Out>) -> Facets<T, Out> {
        Facets {
            fields: self.fields.and_then(|mut fields| {
                fields.extend(other.fields?);
                Ok(fields)
            }),
            marker: PhantomData,
        }
    }
}

impl<T, Out> fmt::Debug for Facets<T, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Facets").field(&self.fields).finish()
    }
}
