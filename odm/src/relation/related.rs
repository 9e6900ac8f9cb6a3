//! Conditions on documents that ask what they refer to, or what refers to them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Not};
use std::sync::Arc;

use bson::Document;

use super::link::Open;
use super::place::Step;
use super::plan::Inverse;
use super::stored::Steps;
use crate::error::Result;
use crate::lifecycle::Scope;
use crate::query::{self, Filter};

/// A condition on documents of `R` of which a part is about related documents: what they refer to
/// ([`Field::some`](crate::Field::some)) or what refers to them ([`HasMany::some`](crate::HasMany::some)).
///
/// It is no [`Filter`] yet, as the keys of the related documents are asked first:
/// [`Collection::whose`](crate::Collection::whose) does it. Combined with others and with filters by `&`, `|` and `!`.
///
/// ```
/// # use odm::{Db, Model, Ref};
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize, Model)]
/// struct Publisher {
///     #[serde(rename = "_id")]
///     id: i32,
///     city: String,
/// }
///
/// #[derive(Serialize, Deserialize, Model)]
/// struct Book {
///     #[serde(rename = "_id")]
///     id: i32,
///     year: i32,
///     publisher: Option<Ref<Publisher>>,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = Db::open("memory:").await?;
/// # db.collection::<Publisher>().insert(Publisher { id: 7, city: "Oslo".into() }).await?;
/// let books = db.collection::<Book>();
/// books.insert(Book { id: 1, year: 1990, publisher: Some(Ref::new(7)) }).await?;
/// books.insert(Book { id: 2, year: 2010, publisher: None }).await?;
/// let found = books.whose(|b| b.year.gt(2000) | b.publisher.some(|p| p.city.eq("Oslo"))).find_all().await?;
/// assert_eq!(found.len(), 2);
/// # Ok(())
/// # }
/// ```
#[must_use = "a condition does nothing until a collection is asked"]
pub struct RelatedFilter<R> {
    pub(super) asked: Asked,
    marker: PhantomData<fn() -> R>,
}

/// What can be asked of documents of `R`: a [`Filter`], or a [`RelatedFilter`] where related documents are a part of it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no condition on documents of `{R}`",
    label = "expected a `Filter<{R}>` or a `RelatedFilter<{R}>`",
    note = "a closure gets the fields of the model that is asked: `b.publisher.some(|p| p.city.eq(\"Oslo\"))`"
)]
pub trait RelatedCondition<R> {
    /// The condition as one on related documents.
    #[doc(hidden)]
    fn into_related(self) -> RelatedFilter<R>;
}

/// A condition without its types.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// Nothing related is in it.
    Plain(Result<query::Node>),
    All(Vec<Asked>),
    Any(Vec<Asked>),
    Not(Box<Asked>),
    Refers(Arc<Refers>),
    Referred(Arc<Result<Referred>>),
}

/// One of the references in a field is to a document that meets the condition.
#[derive(Debug)]
pub(crate) struct Refers {
    /// The way to the references.
    pub(super) steps: Result<Vec<Step>>,
    pub(super) path: String,
    /// Whether a position in an array is on the way.
    pub(super) has_position: bool,
    /// The field with the references of the other documents, as an inverse reads it.
    pub(super) holder: Result<Holder>,
    /// The targets' stored field that references hold.
    pub(super) key: Steps,
    pub(super) open: Open,
    pub(super) collection: String,
    /// Whether stored references name their collection.
    pub(super) named: bool,
    pub(super) scope: Scope,
    /// The collation that the targets' model declares.
    pub(super) collation: Option<Document>,
    pub(super) condition: Asked,
}

/// How the references in a field are read out of stored documents.
#[derive(Debug)]
pub(crate) struct Holder {
    pub(super) field: Steps,
    pub(super) links: super::plan::Links,
}

/// One of the documents that refer back meets the condition.
#[derive(Debug)]
pub(crate) struct Referred {
    pub(super) inverse: Inverse,
    pub(super) condition: Asked,
}

impl<R> RelatedFilter<R> {
    pub(super) fn new(asked: Asked) -> RelatedFilter<R> {
        RelatedFilter {
            asked,
            marker: PhantomData,
        }
    }

    pub(crate) fn into_asked(self) -> Asked {
        self.asked
    }

    /// The documents that all of these match; every document when there are none.
    pub fn and(conditions: impl IntoIterator<Item = RelatedFilter<R>>) -> RelatedFilter<R> {
        let all = conditions.into_iter().map(RelatedFilter::into_asked);
        RelatedFilter::new(Asked::All(all.collect()))
    }

    /// The documents that one of these matches; no document when there are none.
    pub fn or(conditions: impl IntoIterator<Item = RelatedFilter<R>>) -> RelatedFilter<R> {
        let any = conditions.into_iter().map(RelatedFilter::into_asked);
        RelatedFilter::new(Asked::Any(any.collect()))
    }
}

impl<R> From<Filter<R>> for RelatedFilter<R> {
    fn from(filter: Filter<R>) -> RelatedFilter<R> {
        RelatedFilter::new(Asked::Plain(filter.into_whole()))
    }
}

impl<R> RelatedCondition<R> for Filter<R> {
    fn into_related(self) -> RelatedFilter<R> {
        self.into()
    }
}

impl<R> RelatedCondition<R> for RelatedFilter<R> {
    fn into_related(self) -> RelatedFilter<R> {
        self
    }
}

impl<R, W: RelatedCondition<R>> BitAnd<W> for RelatedFilter<R> {
    type Output = RelatedFilter<R>;

    /// Documents that both match.
    fn bitand(self, other: W) -> RelatedFilter<R> {
        RelatedFilter::and([self, other.into_related()])
    }
}

impl<R, W: RelatedCondition<R>> BitOr<W> for RelatedFilter<R> {
    type Output = RelatedFilter<R>;

    /// Documents that one of the two matches.
    fn bitor(self, other: W) -> RelatedFilter<R> {
        RelatedFilter::or([self, other.into_related()])
    }
}

impl<R> BitAnd<RelatedFilter<R>> for Filter<R> {
    type Output = RelatedFilter<R>;

    /// Documents that both match.
    fn bitand(self, other: RelatedFilter<R>) -> RelatedFilter<R> {
        RelatedFilter::and([self.into(), other])
    }
}

impl<R> BitOr<RelatedFilter<R>> for Filter<R> {
    type Output = RelatedFilter<R>;

    /// Documents that one of the two matches.
    fn bitor(self, other: RelatedFilter<R>) -> RelatedFilter<R> {
        RelatedFilter::or([self.into(), other])
    }
}

impl<R> Not for RelatedFilter<R> {
    type Output = RelatedFilter<R>;

    /// Documents that it does not match: the exact complement.
    fn not(self) -> RelatedFilter<R> {
        RelatedFilter::new(self.asked.not())
    }
}

impl Asked {
    pub(super) fn not(self) -> Asked {
        match self {
            Asked::Not(asked) => *asked,
            asked => Asked::Not(Box::new(asked)),
        }
    }
}

impl<R> Clone for RelatedFilter<R> {
    fn clone(&self) -> Self {
        RelatedFilter::new(self.asked.clone())
    }
}

impl<R> fmt::Debug for RelatedFilter<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RelatedFilter").field(&self.asked).finish()
    }
}
