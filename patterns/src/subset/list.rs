//! The handle, and the one way to write.

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime, Document, doc};
use odm::{
    Collection, Db, Embedded, Error, ErrorKind, Field, Filter, Model, Operand, Path, Result, Sort, Tx, Update,
};
use serde::Serialize;

use crate::dotted::value_at;
use crate::identity::identity;
use crate::value;

/// The first of a parent's children `C` in the parent `M`, as `S`. Cheap to clone. Made in a transaction
/// (`Subset::new(&tx, ..)`), what it writes is part of it.
pub struct Subset<M: Model, C: Model, S> {
    pub(super) db: Db,
    pub(super) parents: Collection<M>,
    children: Collection<C>,
    /// Whether the list has a serde codec of its own, which the database does not know when it projects.
    is_encoded: bool,
    pub(super) list: String,
    pub(super) state: String,
    reference: String,
    order: Sort<C>,
    only: Filter<C>,
    size: u64,
    /// The other lists of the parent that its writes bring into step.
    others: Vec<Arc<dyn Other<M, C>>>,
    marker: PhantomData<fn() -> S>,
}

/// Another list of the same children in the same parent.
trait Other<M: Model, C: Model>: Send + Sync {
    fn state(&self) -> &str;

    /// The list, where it has a codec of its own.
    fn encoded_list(&self) -> Option<&str>;

    /// Brings it into step, where and in the collections in which the first one is.
    fn follow<'a>(
        &'a self,
        first: Place<'a, M, C>,
        parent: &'a Bson,
        marks: Marks,
    ) -> BoxFuture<'a, Result<()>>;
}

/// Where a subset works.
struct Place<'a, M, C> {
    db: &'a Db,
    parents: &'a Collection<M>,
    children: &'a Collection<C>,
}

/// The `_id` of a parent as it is stored, for writes of its children.
#[derive(Clone, Default)]
struct StoredId(Arc<OnceLock<Bson>>);

/// A parent that is there, and the version of its list.
#[derive(Clone)]
struct Seen {
    id: Bson,
    version: Bson,
}

/// Which marks a list that is in step takes away.
#[derive(Clone, Copy)]
enum Marks {
    None,
    One(ObjectId),
    Before(DateTime),
}

impl<M: Model, C: Model, S: Embedded + Serialize + Send + 'static> Subset<M, C, S> {
    /// So many children in the `list` of their parent, which has its [`InStep`](super::InStep) at `state`
    /// (`|p| p.in_step.path().clone()`), found by their `reference` to it (`|c| c.product.path().clone()`), in an order.
    pub fn new(
        db: &Db,
        size: u32,
        list: impl FnOnce(M::Fields<M>) -> Field<M, Vec<S>>,
        state: impl FnOnce(M::Fields<M>) -> Path,
        reference: impl FnOnce(C::Fields<C>) -> Path,
        order: impl FnOnce(C::Fields<C>) -> Sort<C>,
    ) -> Subset<M, C, S> {
        let list = list(M::fields());
        Subset {
            db: db.clone(),
            parents: db.collection(),
            children: db.collection(),
            is_encoded: list.codec().is_some(),
            list: list.path().to_string(),
            state: state(M::fields()).to_string(),
            reference: reference(C::fields()).to_string(),
            order: order(C::fields()),
            only: Filter::all(),
            size: u64::from(size.max(1)),
            others: Vec::new(),
            marker: PhantomData,
        }
    }

    /// In other collections of the two models. The lists that it brings into step [too](Subset::with) are in the same.
    #[must_use]
    pub fn named(mut self, parents: &str, children: &str) -> Subset<M, C, S> {
        self.parents = self.db.collection_named(parents);
        self.children = self.db.collection_named(children);
        self
    }

    /// Brings another list of the same children in the same parent into step too, whenever this one is: by all writes,
    /// by [`refresh`](Subset::refresh) and by [`resume`](Subset::resume). Write through this one only: the other one does not
    /// know of it. Each list has an [`InStep`](super::InStep) of its own, and is verified and repaired by its own subset.
    ///
    /// ```
    /// # use odm::{Db, Embedded, Model, Ref};
    /// # use odm_patterns::subset::{InStep, Subset};
    /// # use serde::{Deserialize, Serialize};
    /// #[derive(Serialize, Deserialize, Model)]
    /// struct Product {
    ///     #[serde(rename = "_id")]
    ///     id: i32,
    ///     best: Vec<Brief>,
    ///     newest: Vec<Brief>,
    ///     #[serde(default)]
    ///     best_in_step: InStep,
    ///     #[serde(default)]
    ///     newest_in_step: InStep,
    /// }
    /// # #[derive(Serialize, Deserialize, Model)]
    /// # struct Review {
    /// #     #[serde(rename = "_id")]
    /// #     id: i32,
    /// #     product: Ref<Product>,
    /// #     stars: i32,
    /// # }
    /// # #[derive(Debug, PartialEq, Serialize, Deserialize, Embedded)]
    /// # struct Brief {
    /// #     stars: i32,
    /// # }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// # let db = Db::open("memory:").await?;
    /// # let product = Product {
    /// #     id: 1,
    /// #     best: vec![],
    /// #     newest: vec![],
    /// #     best_in_step: InStep::default(),
    /// #     newest_in_step: InStep::default(),
    /// # };
    /// # db.collection::<Product>().insert(product).await?;
    /// let newest = Subset::<Product, Review, Brief>::new(
    ///     &db, 1, |p| p.newest, |p| p.newest_in_step.path().clone(), |r| r.product.path().clone(), |r| r.id.desc(),
    /// );
    /// let reviews = Subset::<Product, Review, Brief>::new(
    ///     &db, 1, |p| p.best, |p| p.best_in_step.path().clone(), |r| r.product.path().clone(), |r| r.stars.desc(),
    /// )
    /// .with(&newest);
    ///
    /// reviews.insert(1, &Review { id: 1, product: Ref::new(1), stars: 5 }).await?;
    /// reviews.insert(1, &Review { id: 2, product: Ref::new(1), stars: 3 }).await?;
    /// let product = db.collection::<Product>().get(1).required().await?;
    /// assert_eq!((product.best, product.newest), (vec![Brief { stars: 5 }], vec![Brief { stars: 3 }]));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with<O: Embedded + Serialize + Send + 'static>(
        mut self,
        other: &Subset<M, C, O>,
    ) -> Subset<M, C, S> {
        let alone = Subset {
            others: Vec::new(),
            ..other.clone()
        };
        self.others.push(Arc::new(alone));
        self.others.extend(other.others.iter().cloned());
        self
    }

    /// Only children that match.
    #[must_use]
    pub fn only(mut self, filter: impl FnOnce(C::Fields<C>) -> Filter<C>) -> Subset<M, C, S> {
        self.only = filter(C::fields());
        self
    }

    /// Writes children of a parent, and brings its list into step. `writes` is given their collection; where there are
    /// transactions it can be run more than once.
    ///
    /// # Errors
    /// `NotFound` when there is no such parent, or it is softly deleted: then nothing is written. `InvalidArgument` when two
    /// lists have the same [`InStep`](super::InStep). What `writes` says; where there are no transactions, what it wrote
    /// before stays, and the list is brought into step with that.
    pub async fn write<T, F, Fut>(&self, parent: impl Operand<M::Key>, mut writes: F) -> Result<T>
    where
        F: FnMut(Collection<C>) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        let parent = self.parents.encode_key(parent)?;
        self.write_to(&parent, |children, _| writes(children)).await
    }

    /// The same, where `writes` knows the parent's `_id` as it is stored.
    async fn write_to<T, F, Fut>(&self, parent: &Bson, mut writes: F) -> Result<T>
    where
        F: FnMut(Collection<C>, StoredId) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        self.check()?;
        if self.db.in_transaction() || self.db.capabilities().transactions {
            let attempt = |tx: Tx| {
                let here = self.within(&tx);
                let stored = StoredId::default();
                // It has not begun before it is awaited.
                let written = writes(here.children.clone(), stored.clone());
                async move {
                    let seen = here.look(parent).await?;
                    stored.0.set(seen.id.clone()).ok();
                    let value = written.await?;
                    here.bring_all_into_step(&seen, Marks::None).await?;
                    Ok(value)
                }
            };
            return self.db.transaction(attempt).await;
        }
        let token = ObjectId::new();
        let (mut push, mut inc) = (Document::new(), Document::new());
        for state in self.states() {
            push.insert(
                format!("{state}.pending"),
                doc! { "token": token, "at": self.db.now() },
            );
            inc.insert(format!("{state}.version"), 1_i64);
        }
        let this = Filter::raw(doc! { "_id": { "$eq": parent } });
        let mark = Update::raw(doc! { "$push": push, "$inc": inc });
        let marked = self.parents.find_one_and_update(|_| this, |_| mark).return_new();
        let marked = marked.project_raw(self.version()).await?;
        let seen = marked.map(Seen::of).ok_or_else(|| self.not_found(parent))?;
        let stored = StoredId::default();
        stored.0.set(seen.id.clone()).ok();
        let written = writes(self.children.clone(), stored).await;
        let in_step = self.bring_all_into_step(&seen, Marks::One(token)).await;
        let value = written?;
        in_step.map(|()| value)
    }

    /// Inserts a child of a parent.
    ///
    /// # Errors
    /// `InvalidArgument` when the child refers to another parent, by what is stored as its `_id`: then nothing is written.
    /// As [`write`](Subset::write).
    pub async fn insert(&self, parent: impl Operand<M::Key>, child: &C) -> Result<C::Key> {
        let mut parent = self.parents.encode_key(parent)?;
        let stored = value::to_bson(child)?;
        let refers = stored
            .as_document()
            .and_then(|stored| value_at(stored, &self.reference));
        if !refers_to(refers, &parent) {
            // It may be spelled otherwise.
            parent = self.look(&parent).await?.id;
            if !refers_to(refers, &parent) {
                return Err(self.of_another(child)?);
            }
        }
        self.write_to(&parent, |children, stored| async move {
            match refers_to(refers, stored.get()) {
                true => children.insert(child).await,
                false => Err(self.of_another(child)?),
            }
        })
        .await
    }

    fn of_another(&self, child: &C) -> Result<Error> {
        let error = Error::new(ErrorKind::InvalidArgument, "the child refers to another parent");
        let error = error
            .with_model(C::DESCRIPTOR.name)
            .with_namespace(self.children.name())
            .with_path(self.reference.clone());
        Ok(match self.children.encode_key(child.key())? {
            Bson::Null => error,
            id => error.with_id(id),
        })
    }

    /// Changes a child of a parent; whether it is there, a child of this parent. A change of its reference brings the
    /// list of this parent into step: [`refresh`](Subset::refresh) that of the other.
    ///
    /// # Errors
    /// As [`write`](Subset::write).
    pub async fn update(
        &self,
        parent: impl Operand<M::Key>,
        child: impl Operand<C::Key>,
        change: impl FnOnce(C::Fields<C>) -> Update<C>,
    ) -> Result<bool> {
        let parent = self.parents.encode_key(parent)?;
        let (child, change) = (child.with_operand(Clone::clone), change(C::fields()));
        let (child, change) = (&child, &change);
        self.write_to(&parent, |children, stored| async move {
            let this = self.ours(stored.get()) & C::key_field().eq(child);
            let changed = children.update_one(|_| this, |_| change.clone());
            Ok(changed.await?.matched == 1)
        })
        .await
    }

    /// Deletes a child of a parent; whether it was there, a child of this parent.
    ///
    /// # Errors
    /// As [`write`](Subset::write).
    pub async fn delete(&self, parent: impl Operand<M::Key>, child: impl Operand<C::Key>) -> Result<bool> {
        let parent = self.parents.encode_key(parent)?;
        let child = &child.with_operand(Clone::clone);
        self.write_to(&parent, |children, stored| async move {
            let this = self.ours(stored.get()) & C::key_field().eq(child);
            Ok(children.delete_one(|_| this).await?.deleted == 1)
        })
        .await
    }

    /// Brings a parent's list into step, whatever has happened. Three round trips, and three more for each time that
    /// somebody was faster.
    ///
    /// # Errors
    /// `NotFound` when there is no such parent, or it is softly deleted.
    pub async fn refresh(&self, parent: impl Operand<M::Key>) -> Result<()> {
        self.check()?;
        let parent = self.parents.encode_key(parent)?;
        let seen = self.look(&parent).await?;
        self.bring_all_into_step(&seen, Marks::None).await
    }

    /// Brings the lists into step whose writers set their marks before this time, and have not come back: they died. Gives
    /// how many. With an index on the `pending.at` of the state, it reads no more than these. Parents that are softly
    /// deleted keep their marks until they are restored.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn resume(&self, before: DateTime) -> Result<u64> {
        self.check()?;
        let old = |state: &str| Filter::raw(doc! { format!("{state}.pending.at"): { "$lt": before } });
        let others = self.others.iter();
        let old = others.fold(old(&self.state), |all, other| all | old(other.state()));
        let marked = self.parents.find(|_| old).project_raw(self.version()).await?;
        let mut resumed = 0;
        for seen in marked.into_iter().map(Seen::of) {
            match self.bring_all_into_step(&seen, Marks::Before(before)).await {
                Ok(()) => resumed += 1,
                // It was deleted meanwhile.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(resumed)
    }

    /// Brings the list of a parent into step, if it is still there.
    pub(super) async fn refresh_stored(&self, parent: &Bson) -> Result<()> {
        let seen = match self.look(parent).await {
            Ok(seen) => seen,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        match self.bring_into_step(&seen, Marks::None).await {
            Err(error) if error.is_not_found() => Ok(()),
            done => done,
        }
    }

    /// That the lists of this and of the other subsets can be kept.
    fn check(&self) -> Result<()> {
        let others = self.others.iter().filter_map(|other| other.encoded_list());
        if let Some(list) = self.encoded_list().into_iter().chain(others).next() {
            return Err(value::own_codec::<M>(list));
        }
        let mut seen = HashSet::new();
        match self.states().find(|state| !seen.insert(*state)) {
            Some(state) => {
                let message = "two lists of a parent each need an `InStep` of their own";
                let error = Error::new(ErrorKind::InvalidArgument, message);
                Err(error.with_model(M::DESCRIPTOR.name).with_path(state))
            }
            None => Ok(()),
        }
    }

    fn encoded_list(&self) -> Option<&str> {
        self.is_encoded.then_some(self.list.as_str())
    }

    /// The states of all lists.
    fn states(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().map(|other| other.state());
        std::iter::once(self.state.as_str()).chain(others)
    }

    /// The first children of a parent, as they should be in its list.
    pub(super) async fn first(&self, parent: &Bson) -> Result<Vec<Bson>> {
        if self.is_encoded {
            return Err(value::own_codec::<M>(&self.list));
        }
        let ours = self.ours(parent) & self.only.clone();
        let first = self
            .children
            .find(|_| ours)
            .sort(|_| self.order.clone())
            .limit(self.size);
        let first: Vec<S> = first.project::<S>().await?;
        first.iter().map(value::to_bson).collect()
    }

    /// The children of a parent.
    fn ours(&self, parent: &Bson) -> Filter<C> {
        Filter::raw(doc! { &self.reference: { "$eq": parent } })
    }

    /// The projection of what [`Seen`] is made of.
    fn version(&self) -> Document {
        doc! { "_id": 1, "_version": format!("${}.version", self.state) }
    }

    /// The parent, as writes see it: of the model's kind, and not softly deleted.
    async fn look(&self, parent: &Bson) -> Result<Seen> {
        let this = Filter::raw(doc! { "_id": { "$eq": parent } });
        let found = self.parents.find(|_| this).limit(1).project_raw(self.version());
        let found = found.await?.pop();
        found.map(Seen::of).ok_or_else(|| self.not_found(parent))
    }

    /// Brings this list and those of the other subsets into step.
    async fn bring_all_into_step(&self, seen: &Seen, marks: Marks) -> Result<()> {
        self.bring_into_step(seen, marks).await?;
        for other in &self.others {
            let place = Place {
                db: &self.db,
                parents: &self.parents,
                children: &self.children,
            };
            other.follow(place, &seen.id, marks).await?;
        }
        Ok(())
    }

    /// Reads the children and writes the list, until nobody came in between.
    async fn bring_into_step(&self, seen: &Seen, marks: Marks) -> Result<()> {
        let version = format!("{}.version", self.state);
        let mut seen = seen.clone();
        loop {
            let list = self.first(&seen.id).await?;
            // As it is stored, whatever that is: it is still so until somebody writes it.
            let condition = doc! { "_id": { "$eq": &seen.id }, &version: { "$eq": &seen.version } };
            let mut change = doc! { "$set": { &self.list: list }, "$inc": { &version: 1_i64 } };
            let pending = format!("{}.pending", self.state);
            match marks {
                Marks::None => {}
                Marks::One(token) => {
                    change.insert("$pull", doc! { pending: { "token": token } });
                }
                Marks::Before(time) => {
                    change.insert("$pull", doc! { pending: { "at": { "$lt": time } } });
                }
            }
            let written = self
                .parents
                .update_one(|_| Filter::raw(condition), |_| Update::raw(change));
            if written.await?.matched == 1 {
                return Ok(());
            }
            seen = self.look(&seen.id).await?;
        }
    }

    fn within(&self, db: &Db) -> Subset<M, C, S> {
        Subset {
            db: db.clone(),
            parents: db.collection_named(self.parents.name()),
            children: db.collection_named(self.children.name()),
            ..self.clone()
        }
    }

    fn not_found(&self, id: &Bson) -> Error {
        Error::new(ErrorKind::NotFound, "there is no such parent")
            .with_model(M::DESCRIPTOR.name)
            .with_namespace(self.parents.namespace())
            .with_id(id.clone())
    }

    pub(super) fn projection(&self) -> Document {
        let mut projection = doc! { "_id": 1 };
        projection.insert(&self.list, 1);
        projection.insert(&self.state, 1);
        projection
    }
}

impl<M, C, S> Other<M, C> for Subset<M, C, S>
where
    M: Model,
    C: Model,
    S: Embedded + Serialize + Send + 'static,
{
    fn state(&self) -> &str {
        &self.state
    }

    fn encoded_list(&self) -> Option<&str> {
        Subset::encoded_list(self)
    }

    fn follow<'a>(
        &'a self,
        first: Place<'a, M, C>,
        parent: &'a Bson,
        marks: Marks,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let here = Subset {
                db: first.db.clone(),
                parents: first.parents.clone(),
                children: first.children.clone(),
                ..self.clone()
            };
            let seen = here.look(parent).await?;
            here.bring_into_step(&seen, marks).await
        })
    }
}

impl StoredId {
    /// Known as soon as writes are awaited.
    fn get(&self) -> &Bson {
        self.0.get().unwrap_or(&Bson::Null)
    }
}

impl Seen {
    fn of(document: Document) -> Seen {
        let value = |name: &str| document.get(name).cloned().unwrap_or(Bson::Null);
        Seen {
            id: value("_id"),
            version: value("_version"),
        }
    }
}

/// Whether what a reference holds is this `_id`, or has it among others.
fn refers_to(reference: Option<&Bson>, parent: &Bson) -> bool {
    let parent = identity(parent);
    match reference {
        Some(Bson::Array(parents)) => parents.iter().any(|one| identity(one) == parent),
        reference => reference.is_some_and(|one| identity(one) == parent),
    }
}

impl<M: Model, C: Model, S> Clone for Subset<M, C, S> {
    fn clone(&self) -> Subset<M, C, S> {
        Subset {
            db: self.db.clone(),
            parents: self.parents.clone(),
            children: self.children.clone(),
            is_encoded: self.is_encoded,
            list: self.list.clone(),
            state: self.state.clone(),
            reference: self.reference.clone(),
            order: self.order.clone(),
            only: self.only.clone(),
            size: self.size,
            others: self.others.clone(),
            marker: PhantomData,
        }
    }
}

impl<M: Model, C: Model, S> fmt::Debug for Subset<M, C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subset")
            .field("parents", &self.parents)
            .field("children", &self.children)
            .field("list", &self.list)
            .field("reference", &self.reference)
            .field("order", &self.order)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
