//! The handle, and the one way to write.

use std::fmt;
use std::marker::PhantomData;

use odm::bson::oid::ObjectId;
use odm::bson::{Bson, DateTime, Document, doc};
use odm::{
    Collection, Db, Embedded, Error, ErrorKind, Field, Filter, Model, Operand, Path, Result, Sort, Tx, Update,
};
use serde::Serialize;

use crate::dotted::value_at;
use crate::keyed::integer;
use crate::value;

/// The first of a parent's children `C` in the parent `M`, as `S`. Made in a transaction (`Subset::new(&tx, ..)`), what it
/// writes is part of it.
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
    marker: PhantomData<fn() -> S>,
}

/// Which marks a list that is in step takes away.
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
            marker: PhantomData,
        }
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
    /// `NotFound` when there is no such parent: then nothing is written. What `writes` says; where there are no transactions,
    /// what it wrote before stays, and the list is brought into step with that.
    pub async fn write<T, F, Fut>(&self, parent: impl Operand<M::Key>, writes: F) -> Result<T>
    where
        F: FnMut(Collection<C>) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        let parent = self.parents.encode_key(parent)?;
        self.write_to(parent, writes).await
    }

    async fn write_to<T, F, Fut>(&self, parent: Bson, mut writes: F) -> Result<T>
    where
        F: FnMut(Collection<C>) -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        if self.is_encoded {
            return Err(value::own_codec::<M>(&self.list));
        }
        if self.db.in_transaction() || self.db.capabilities().transactions {
            let parent = &parent;
            let attempt = |tx: Tx| {
                let here = self.within(&tx);
                let written = writes(here.children.clone());
                async move {
                    let value = written.await?;
                    here.bring_into_step(parent, Marks::None).await?;
                    Ok(value)
                }
            };
            return self.db.transaction(attempt).await;
        }
        let token = ObjectId::new();
        let mark = doc! {
            "$push": { format!("{}.pending", self.state): { "token": token, "at": self.db.now() } },
            "$inc": { format!("{}.version", self.state): 1_i64 },
        };
        let this = Filter::raw(doc! { "_id": { "$eq": &parent } });
        let marked = self.parents.update_one(|_| this, |_| Update::raw(mark)).await?;
        if marked.matched == 0 {
            return Err(not_found(&parent));
        }
        let written = writes(self.children.clone()).await;
        let in_step = self.bring_into_step(&parent, Marks::One(token)).await;
        let value = written?;
        in_step.map(|()| value)
    }

    /// Inserts a child of a parent.
    ///
    /// # Errors
    /// `InvalidArgument` when the child refers to another parent: then nothing is written. As [`write`](Subset::write).
    pub async fn insert(&self, parent: impl Operand<M::Key>, child: &C) -> Result<C::Key> {
        let parent = self.parents.encode_key(parent)?;
        let stored = value::to_bson(child)?;
        let refers = stored
            .as_document()
            .and_then(|stored| value_at(stored, &self.reference));
        let is_ours = match refers {
            Some(Bson::Array(parents)) => parents.contains(&parent),
            refers => refers == Some(&parent),
        };
        if !is_ours {
            let error = Error::new(ErrorKind::InvalidArgument, "the child refers to another parent");
            let error = error
                .with_model(C::DESCRIPTOR.name)
                .with_namespace(self.children.name())
                .with_path(self.reference.clone());
            return Err(match self.children.encode_key(child.key())? {
                Bson::Null => error,
                id => error.with_id(id),
            });
        }
        self.write_to(parent, async |children| children.insert(child).await)
            .await
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
        let ours = self.ours(&parent) & C::key_field().eq(&child);
        self.write_to(parent, async |children| {
            let changed = children.update_one(|_| ours.clone(), |_| change.clone());
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
        let child = child.with_operand(Clone::clone);
        let ours = self.ours(&parent) & C::key_field().eq(&child);
        self.write_to(parent, async |children| {
            Ok(children.delete_one(|_| ours.clone()).await?.deleted == 1)
        })
        .await
    }

    /// Brings a parent's list into step, whatever has happened. Three round trips, and three more for each time that
    /// somebody was faster.
    ///
    /// # Errors
    /// `NotFound` when there is no such parent.
    pub async fn refresh(&self, parent: impl Operand<M::Key>) -> Result<()> {
        let parent = self.parents.encode_key(parent)?;
        self.bring_into_step(&parent, Marks::None).await
    }

    /// Brings the lists into step whose writers set their marks before this time, and have not come back: they died. Gives
    /// how many. With an index on the `pending.at` of the state, it reads no more than these.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn resume(&self, before: DateTime) -> Result<u64> {
        let old = doc! { format!("{}.pending.at", self.state): { "$lt": before } };
        let marked = self
            .parents
            .raw()
            .find(old)
            .project_raw(doc! { "_id": 1 })
            .await?;
        let mut resumed = 0;
        for document in marked {
            let id = document.get("_id").cloned().unwrap_or(Bson::Null);
            self.bring_into_step(&id, Marks::Before(before)).await?;
            resumed += 1;
        }
        Ok(resumed)
    }

    pub(super) async fn refresh_stored(&self, parent: &Bson) -> Result<()> {
        self.bring_into_step(parent, Marks::None).await
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

    /// Reads the children and writes the list, until nobody came in between.
    async fn bring_into_step(&self, parent: &Bson, marks: Marks) -> Result<()> {
        let version = format!("{}.version", self.state);
        loop {
            let found = self.parents.raw().find(doc! { "_id": { "$eq": parent } });
            let found = found.limit(1).project_raw(doc! { &version: 1 }).await?;
            let document = found.first().ok_or_else(|| not_found(parent))?;
            let seen = value_at(document, &version).and_then(integer);
            let list = self.first(parent).await?;
            let mut condition = doc! { "_id": { "$eq": parent } };
            let unchanged = match seen {
                Some(seen) => doc! { "$eq": seen },
                None => doc! { "$eq": Bson::Null },
            };
            condition.insert(&version, unchanged);
            let mut change = doc! { "$set": { &self.list: list }, "$inc": { &version: 1_i64 } };
            let pending = format!("{}.pending", self.state);
            match &marks {
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
        }
    }

    fn within(&self, db: &Db) -> Subset<M, C, S> {
        Subset {
            db: db.clone(),
            parents: db.collection_named(self.parents.name()),
            children: db.collection_named(self.children.name()),
            is_encoded: self.is_encoded,
            list: self.list.clone(),
            state: self.state.clone(),
            reference: self.reference.clone(),
            order: self.order.clone(),
            only: self.only.clone(),
            size: self.size,
            marker: PhantomData,
        }
    }

    pub(super) fn projection(&self) -> Document {
        let mut projection = doc! { "_id": 1 };
        projection.insert(&self.list, 1);
        projection.insert(&self.state, 1);
        projection
    }
}

fn not_found(id: &Bson) -> Error {
    Error::new(ErrorKind::NotFound, "there is no such parent").with_id(id.clone())
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
