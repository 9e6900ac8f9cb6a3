//! The documents that refer to a document.

use std::fmt;
use std::marker::PhantomData;

use bson::{RawDocument, RawDocumentBuf};

use super::comparing;
use super::inverse::{LinksTo, key_path, through};
use super::link::Link;
use super::plan::{Inverse, Links, Node, Plan};
use super::relation_trait::{Joinable, Relation};
use super::shape::Reference;
use super::shelf::Shelf;
use super::stored::Steps;
use super::to::{Alone, Extra, Nested};
use crate::action::projection;
use crate::collection::{Record, Target, encode, projected};
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{Life, Scope};
use crate::model::{Embedded, Model, Path};
use crate::query::{Filter, Sort};

/// The documents of `C` that refer to a document of `P`: `Book::by_publisher()` for the books of a publisher.
///
/// Declared on the reference, `#[odm(inverse = by_publisher)]`, or made by [`Field::inverse`](crate::Field::inverse).
/// Loaded by `with`: `publishers.find_all().with(Book::by_publisher())` gives `(Publisher, Vec<Book>)`.
///
/// Cost: one query for each batch of parents. It asks by the field that refers: declare an index that begins with it.
/// With [`skip`](HasMany::skip) or [`limit`](HasMany::limit), which hold for each parent, it is for several parents an
/// aggregation on the parents' collection: a `$lookup` of each, which reads only what is given if an index over the
/// field that refers and the fields of the sort is there (on the embedded engine it reads all of a parent's, and keeps
/// what is given). That costs MongoDB a fraction of a millisecond for each parent; where parents have few documents
/// each, taking all and cutting in memory is faster.
///
/// ```
/// # use odm::{Db, Id, Model, Ref};
/// # use serde::{Deserialize, Serialize};
/// #[derive(Serialize, Deserialize, Model)]
/// struct Host {
///     #[serde(rename = "_id")]
///     id: Id<Host>,
///     name: String,
/// }
///
/// #[derive(Serialize, Deserialize, Model)]
/// #[odm(index(keys(host, desc(at))))]
/// struct Message {
///     #[serde(rename = "_id")]
///     id: Id<Message>,
///     #[odm(inverse = by_host)]
///     host: Ref<Host>,
///     at: i64,
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// # let db = Db::open("memory:").await?;
/// # let host = Host { id: Id::new(), name: "alpha".into() };
/// # db.collection::<Host>().insert(&host).await?;
/// # let messages = (0..9).map(|at| Message { id: Id::new(), host: Ref::to(&host), at });
/// # db.collection::<Message>().insert_many(messages).await?;
/// let last = Message::by_host().sort(|m| m.at.desc()).limit(5);
/// let found = db.collection::<Host>().find_all().with(last).with(Message::by_host().count()).await?;
/// let (host, messages, count) = &found[0];
/// assert_eq!((host.name.as_str(), messages.len(), *count), ("alpha", 5, 9));
/// # Ok(())
/// # }
/// ```
#[must_use = "a relation does nothing until it is loaded"]
pub struct HasMany<P, C, Q = C, N = Alone> {
    asked: Asked,
    decode: fn(&RawDocument) -> Result<Q>,
    nested: N,
    marker: PhantomData<fn() -> (P, C)>,
}

/// Which documents are asked for, without the types.
#[derive(Clone)]
struct Asked {
    path: Path,
    links: Links,
    named: bool,
    key: String,
    collection: String,
    filter: Option<Result<RawDocumentBuf>>,
    sort: Option<Result<RawDocumentBuf>>,
    skip: u64,
    limit: u64,
    projection: Option<Result<RawDocumentBuf>>,
    scope: Scope,
}

impl<P: Model, C: Model> HasMany<P, C> {
    pub(super) fn new<X: Reference>(path: Path) -> HasMany<P, C>
    where
        X::Link: LinksTo<P>,
    {
        let (path, links) = through::<X>(path);
        let asked = Asked {
            path,
            links,
            named: <X::Link as Link>::NAMED,
            key: key_path::<X>(),
            collection: C::DESCRIPTOR.collection.to_owned(),
            filter: None,
            sort: None,
            skip: 0,
            limit: 0,
            projection: None,
            scope: Scope::default(),
        };
        HasMany {
            asked,
            decode: <C as Record>::decode,
            nested: Alone,
            marker: PhantomData,
        }
    }
}

impl<P: Model, C: Model, Q, N> HasMany<P, C, Q, N> {
    /// Only those that match; given again, those that match all.
    pub fn filter(mut self, filter: impl FnOnce(C::Fields<C>) -> Filter<C>) -> Self {
        let more = encode::filter::<C>(filter);
        self.asked.filter = Some(match self.asked.filter.take() {
            None => more,
            Some(before) => before.and_then(|before| Ok(super::plan::and(vec![before, more?]))),
        });
        self
    }

    /// Their order: `|m| m.at.desc()`.
    pub fn sort(mut self, sort: impl FnOnce(C::Fields<C>) -> Sort<C>) -> Self {
        self.asked.sort = Some(sort(C::fields()).to_document());
        self
    }

    /// How many to pass over for each parent.
    pub fn skip(mut self, count: u64) -> Self {
        self.asked.skip = count;
        self
    }

    /// How many to give at the most for each parent; 0 is no limit.
    pub fn limit(mut self, count: u64) -> Self {
        self.asked.limit = count;
        self
    }

    /// Looks in another collection of the model than its own: `logs_2026_11`.
    pub fn from_collection(mut self, name: impl Into<String>) -> Self {
        self.asked.collection = name.into();
        self
    }

    /// Softly deleted documents too, which a load passes over as a find does. Says nothing where the model has no
    /// `#[odm(soft_delete)]`.
    pub fn with_deleted(mut self) -> Self {
        self.asked.scope.life = Life::All;
        self
    }

    /// Only softly deleted documents. Says nothing where the model has no `#[odm(soft_delete)]`.
    pub fn only_deleted(mut self) -> Self {
        self.asked.scope.life = Life::Deleted;
        self
    }

    /// Also documents that the model's `#[odm(scope = ..)]` leaves out, which a load passes over as a find does.
    pub fn unscoped(mut self) -> Self {
        self.asked.scope.is_lifted = true;
        self
    }

    /// Fetches only the stored fields of another type, and decodes that.
    pub fn project<O: Embedded + Send>(self) -> HasMany<P, C, O, N> {
        let mut asked = self.asked;
        asked.projection = projection::<O>().transpose();
        HasMany {
            asked,
            decode: projected::<C, O>(),
            nested: self.nested,
            marker: PhantomData,
        }
    }

    /// The first of them for each parent: `Option<Q>` instead of a list.
    pub fn first(self) -> HasOne<P, C, Q, N> {
        HasOne(self.limit(1))
    }

    /// The only one of each parent, where data is such that there is no other; of several, the first of the sort.
    pub fn one(self) -> HasOne<P, C, Q, N> {
        HasOne(self)
    }

    /// How many there are for each parent, counted by the backend: a `u64`. Not together with `skip` or `limit`.
    pub fn count(self) -> CountOf<P, C, Q, N> {
        CountOf(self)
    }

    /// What is asked of the documents that refer, for a condition on them.
    ///
    /// # Errors
    /// `InvalidArgument` with `skip` or `limit`.
    pub(super) fn asked_for(&self) -> Result<Inverse> {
        if self.asked.skip > 0 || self.asked.limit > 0 {
            let message = "a condition on what refers takes no skip, no limit and no `first`";
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_model(C::DESCRIPTOR.name));
        }
        self.inverse_of(Plan(Node::Nothing), false)
    }

    fn inverse(&self, nested: Plan, counted: bool) -> Result<Plan> {
        let inverse = self.inverse_of(nested, counted)?;
        Ok(Plan(Node::Inverse(Box::new(inverse))))
    }

    fn inverse_of(&self, nested: Plan, counted: bool) -> Result<Inverse> {
        let asked = &self.asked;
        if counted && (asked.skip > 0 || asked.limit > 0) {
            let message = "a count of what refers takes no skip and no limit";
            return Err(Error::new(ErrorKind::InvalidArgument, message).with_model(C::DESCRIPTOR.name));
        }
        let field = Steps::searched(&asked.path)?;
        if asked.named && field.has_values() {
            let message = "references that name their collection are not found in a map's values; a `Ref` is";
            let error = Error::new(ErrorKind::InvalidArgument, message).with_model(C::DESCRIPTOR.name);
            return Err(error.with_path(asked.path.declared()));
        }
        Ok(Inverse {
            key: Steps::dotted(&asked.key),
            open: Target::sibling::<C>,
            collection: asked.collection.clone(),
            field,
            links: asked.links,
            named: asked.named,
            parents_collation: comparing::declared(P::DESCRIPTOR),
            collation: comparing::declared(C::DESCRIPTOR),
            filter: asked.filter.clone().transpose()?,
            sort: asked.sort.clone().transpose()?,
            skip: asked.skip,
            limit: asked.limit,
            projection: asked.projection.clone().transpose()?,
            counted,
            scope: asked.scope,
            embedded: false,
            nested: Box::new(nested),
        })
    }
}

impl<P: Model, C: Model, Q> HasMany<P, C, Q, Alone> {
    /// Loads another relation of each: `Book::by_publisher().load(|b| b.authors)` gives a list of
    /// `(Book, Vec<Option<Author>>)`.
    pub fn load<L: Relation<C>>(
        self,
        relation: impl FnOnce(C::Fields<C>) -> L,
    ) -> HasMany<P, C, Q, Nested<C, L>> {
        self.with(relation(C::fields()))
    }

    /// Loads what refers to each of them; as [`load`](HasMany::load).
    pub fn with<L: Relation<C>>(self, relation: L) -> HasMany<P, C, Q, Nested<C, L>> {
        HasMany {
            asked: self.asked,
            decode: self.decode,
            nested: Nested::new(relation),
            marker: PhantomData,
        }
    }
}

impl<P: Model, C: Model, Q: Send + 'static, N: Extra<Q>> HasMany<P, C, Q, N> {
    fn each(&self, shelf: &Shelf, document: &RawDocument) -> impl Iterator<Item = Result<N::Value>> {
        let key = Steps::dotted(&self.asked.key).one(document);
        let (failure, key) = match key {
            Ok(key) => (None, key),
            Err(error) => (Some(Err(error)), None),
        };
        let found = shelf.referring(key).map(|(group, stored)| {
            let decoded = (self.decode)(stored).map_err(|error| group.target.explain(error, "find"))?;
            self.nested.extend(decoded, &group.nested, stored)
        });
        failure.into_iter().chain(found)
    }
}

impl<P: Model, C: Model, Q: Send + 'static, N: Extra<Q>> Relation<P> for HasMany<P, C, Q, N> {
    type Output = Vec<N::Value>;

    fn plan(&self) -> Result<Plan> {
        self.inverse(self.nested.plan()?, false)
    }

    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<Vec<N::Value>> {
        self.each(shelf, document).collect()
    }
}

impl<P: Model, C: Model, Q: Send + 'static, N: Extra<Q>> Joinable<P> for HasMany<P, C, Q, N> {}

/// The document of `C` that refers to a document of `P`: `Option<C>` for each. Made by [`HasMany::first`] and
/// [`HasMany::one`], or declared: `#[odm(inverse(one = of_patron))]`.
#[must_use = "a relation does nothing until it is loaded"]
#[derive(Clone, Debug)]
pub struct HasOne<P, C, Q = C, N = Alone>(HasMany<P, C, Q, N>);

impl<P: Model, C: Model, Q> HasOne<P, C, Q, Alone> {
    /// Loads another relation of it; as [`HasMany::load`].
    pub fn load<L: Relation<C>>(
        self,
        relation: impl FnOnce(C::Fields<C>) -> L,
    ) -> HasOne<P, C, Q, Nested<C, L>> {
        HasOne(self.0.load(relation))
    }
}

impl<P: Model, C: Model, Q, N> HasOne<P, C, Q, N> {
    pub(super) fn many(&self) -> &HasMany<P, C, Q, N> {
        &self.0
    }

    /// Softly deleted documents too; as [`HasMany::with_deleted`].
    pub fn with_deleted(self) -> Self {
        HasOne(self.0.with_deleted())
    }

    /// Fetches only the stored fields of another type, and decodes that.
    pub fn project<O: Embedded + Send>(self) -> HasOne<P, C, O, N> {
        HasOne(self.0.project())
    }
}

impl<P: Model, C: Model, Q: Send + 'static, N: Extra<Q>> Relation<P> for HasOne<P, C, Q, N> {
    type Output = Option<N::Value>;

    fn plan(&self) -> Result<Plan> {
        self.0.plan()
    }

    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<Option<N::Value>> {
        self.0.each(shelf, document).next().transpose()
    }
}

impl<P: Model, C: Model, Q: Send + 'static, N: Extra<Q>> Joinable<P> for HasOne<P, C, Q, N> {}

/// How many documents of `C` refer to a document of `P`. Made by [`HasMany::count`].
#[must_use = "a relation does nothing until it is loaded"]
#[derive(Clone, Debug)]
pub struct CountOf<P, C, Q = C, N = Alone>(HasMany<P, C, Q, N>);

impl<P: Model, C: Model, Q, N> Relation<P> for CountOf<P, C, Q, N>
where
    Q: Send + 'static,
    N: Send + Sync + 'static,
{
    type Output = u64;

    fn plan(&self) -> Result<Plan> {
        self.0.inverse(Plan(Node::Nothing), true)
    }

    fn take(&self, shelf: &Shelf, document: &RawDocument) -> Result<u64> {
        Ok(shelf.count(Steps::dotted(&self.0.asked.key).one(document)?))
    }
}

impl<P, C, Q, N: Clone> Clone for HasMany<P, C, Q, N> {
    fn clone(&self) -> Self {
        HasMany {
            asked: self.asked.clone(),
            decode: self.decode,
            nested: self.nested.clone(),
            marker: PhantomData,
        }
    }
}

impl<P, C, Q, N> fmt::Debug for HasMany<P, C, Q, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HasMany({}.{})",
            self.asked.collection,
            self.asked.path.declared()
        )
    }
}
