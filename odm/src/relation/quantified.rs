//! Some, none or all of what is related.

use std::sync::Arc;

use super::comparing;
use super::has_many::{HasMany, HasOne};
use super::inverse::{LinksTo, through};
use super::link::Link;
use super::place;
use super::related::{Asked, Holder, Referred, Refers, RelatedCondition, RelatedFilter};
use super::shape::Reference;
use super::stored::Steps;
use super::to::{Alone, To};
use crate::collection::Target as Collection;
use crate::lifecycle::Scope;
use crate::model::{Embedded, Field, Model, Path, Segment};

type Target<X> = <<X as Reference>::Link as Link>::Document;

impl<R, X: Reference> Field<R, X> {
    /// The documents of which a reference in this field is to a document that meets the condition:
    /// `books.whose(|b| b.publisher.some(|p| p.city.eq("Oslo")))`.
    ///
    /// Of a list, a set or a map one reference is enough. A reference to nothing is to no document: null, a missing
    /// field, a document that is not there, is softly deleted or of another kind. Conditions nest:
    /// `b.publisher.some(|p| p.country.some(|c| c.name.eq("Norway")))`. Any document at all is
    /// `b.publisher.some(|_| Filter::all())`.
    ///
    /// References that name their collection are those to the model's own;
    /// `b.publisher.from_collection("publishers_1900").some(..)` asks another one. Those into another database meet no
    /// condition.
    ///
    /// Cost: one query more, for the keys of the documents that meet the condition. See
    /// [`Collection::whose`](crate::Collection::whose).
    pub fn some<W>(
        &self,
        condition: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> W,
    ) -> RelatedFilter<R>
    where
        Target<X>: Model,
        W: RelatedCondition<Target<X>>,
    {
        self.referred().some(condition)
    }

    /// The documents of which no reference in this field is to a document that meets the condition: all that
    /// [`some`](Field::some) does not give, those without any reference included. `b.publisher.none(|_| Filter::all())`
    /// are those that refer to no document.
    pub fn none<W>(
        &self,
        condition: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> W,
    ) -> RelatedFilter<R>
    where
        Target<X>: Model,
        W: RelatedCondition<Target<X>>,
    {
        !self.some(condition)
    }

    /// The documents of which this field refers to no document that does not meet the condition. Those that refer to no
    /// document are among them: `b.authors.all(..) & b.authors.some(|_| Filter::all())` leaves them out.
    pub fn all<W>(
        &self,
        condition: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> W,
    ) -> RelatedFilter<R>
    where
        Target<X>: Model,
        W: RelatedCondition<Target<X>>,
    {
        self.none(|fields| !condition(fields).into_related())
    }

    /// As [`some`](Field::some), for references that can be to several models: those to a `T`.
    ///
    /// ```
    /// # use odm::{Db, Model, Ref, Reference};
    /// # use serde::{Deserialize, Serialize};
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Person {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// # }
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Company {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     name: String,
    /// # }
    /// #[derive(Reference)]
    /// enum Owner {
    ///     Person(Ref<Person>),
    ///     Company(Ref<Company>),
    /// }
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct House {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     owner: Owner,
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// # db.collection::<Company>().insert(Company { id: 7, name: "Acme".into() }).await?;
    /// # let houses = db.collection::<House>();
    /// # houses.insert(House { id: 1, owner: Owner::Company(Ref::new(7)) }).await?;
    /// # houses.insert(House { id: 2, owner: Owner::Person(Ref::new(7)) }).await?;
    /// let of_acme = houses.whose(|h| h.owner.some_of::<Company, _>(|c| c.name.eq("Acme")));
    /// assert_eq!(of_acme.find_all().await?[0].id, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn some_of<T: Model, W: RelatedCondition<T>>(
        &self,
        condition: impl FnOnce(T::Fields<T>) -> W,
    ) -> RelatedFilter<R>
    where
        X: Reference<Link: LinksTo<T>>,
    {
        let collection = T::DESCRIPTOR.collection.to_owned();
        refers::<R, X, T, W>(self.path(), collection, Scope::default(), condition)
    }
}

impl<R, X: Reference> To<R, X, Target<X>, Alone> {
    /// As [`Field::some`], among the documents that this relation is to: in
    /// [another collection](Field::from_collection), or [softly deleted](Field::with_deleted) ones too.
    pub fn some<W>(
        self,
        condition: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> W,
    ) -> RelatedFilter<R>
    where
        Target<X>: Model,
        W: RelatedCondition<Target<X>>,
    {
        let (path, collection, scope) = self.into_parts();
        let collection = collection.unwrap_or_else(|| Target::<X>::DESCRIPTOR.collection.to_owned());
        refers::<R, X, Target<X>, W>(&path, collection, scope, condition)
    }

    /// As [`Field::none`], among the documents that this relation is to.
    pub fn none<W>(
        self,
        condition: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> W,
    ) -> RelatedFilter<R>
    where
        Target<X>: Model,
        W: RelatedCondition<Target<X>>,
    {
        !self.some(condition)
    }

    /// As [`Field::all`], among the documents that this relation is to.
    pub fn all<W>(
        self,
        condition: impl FnOnce(<Target<X> as Embedded>::Fields<Target<X>>) -> W,
    ) -> RelatedFilter<R>
    where
        Target<X>: Model,
        W: RelatedCondition<Target<X>>,
    {
        self.none(|fields| !condition(fields).into_related())
    }
}

fn refers<R, X: Reference, T: Model, W: RelatedCondition<T>>(
    path: &Path,
    collection: String,
    scope: Scope,
    condition: impl FnOnce(T::Fields<T>) -> W,
) -> RelatedFilter<R> {
    let steps = place::steps(path).map(|mut steps| {
        X::steps(&mut steps);
        steps
    });
    let (whole, links) = through::<X>(path.clone());
    let holder = Steps::searched(&whole).map(|field| Holder { field, links });
    RelatedFilter::new(Asked::Refers(Arc::new(Refers {
        steps,
        path: path.to_string(),
        has_position: path
            .segments()
            .iter()
            .any(|segment| matches!(segment, Segment::Index(_))),
        holder,
        key: Steps::dotted(&<X::Link as Link>::key_path()),
        open: Collection::sibling::<T>,
        collection,
        named: <X::Link as Link>::NAMED,
        scope,
        collation: comparing::declared(T::DESCRIPTOR),
        condition: condition(T::fields()).into_related().into_asked(),
    })))
}

impl<P: Model, C: Model, Q, N> HasMany<P, C, Q, N> {
    /// The documents to which one that meets the condition refers:
    /// `publishers.whose(|_| Book::by_publisher().some(|b| b.year.gt(2000)))`.
    ///
    /// The relation's own [`filter`](HasMany::filter), [collection](HasMany::from_collection) and
    /// [softly deleted](HasMany::with_deleted) documents count as they do in a load; its sort and projection say nothing.
    ///
    /// Cost: one query more, for the keys that those that meet the condition hold. See
    /// [`Collection::whose`](crate::Collection::whose).
    ///
    /// # Errors
    /// `InvalidArgument` with `skip` or `limit`, when the collection is asked.
    pub fn some<W: RelatedCondition<C>>(
        &self,
        condition: impl FnOnce(C::Fields<C>) -> W,
    ) -> RelatedFilter<P> {
        let condition = condition(C::fields()).into_related().into_asked();
        let referred = self.asked_for().map(|inverse| Referred { inverse, condition });
        RelatedFilter::new(Asked::Referred(Arc::new(referred)))
    }

    /// The documents to which none that meets the condition refers: `Book::by_publisher().none(|_| Filter::all())` are
    /// those without any.
    ///
    /// # Errors
    /// As [`some`](HasMany::some).
    pub fn none<W: RelatedCondition<C>>(
        &self,
        condition: impl FnOnce(C::Fields<C>) -> W,
    ) -> RelatedFilter<P> {
        !self.some(condition)
    }

    /// The documents to which none refers that does not meet the condition; those to which none refers are among them.
    ///
    /// # Errors
    /// As [`some`](HasMany::some).
    pub fn all<W: RelatedCondition<C>>(&self, condition: impl FnOnce(C::Fields<C>) -> W) -> RelatedFilter<P> {
        self.none(|fields| !condition(fields).into_related())
    }
}

impl<P: Model, C: Model, Q, N> HasOne<P, C, Q, N> {
    /// The documents to which one that meets the condition refers; as [`HasMany::some`].
    ///
    /// # Errors
    /// `InvalidArgument` for the [`first`](HasMany::first) of several, when the collection is asked.
    pub fn some<W: RelatedCondition<C>>(
        &self,
        condition: impl FnOnce(C::Fields<C>) -> W,
    ) -> RelatedFilter<P> {
        self.many().some(condition)
    }

    /// The documents to which none that meets the condition refers; as [`HasMany::none`].
    ///
    /// # Errors
    /// As [`some`](HasOne::some).
    pub fn none<W: RelatedCondition<C>>(
        &self,
        condition: impl FnOnce(C::Fields<C>) -> W,
    ) -> RelatedFilter<P> {
        !self.some(condition)
    }
}
