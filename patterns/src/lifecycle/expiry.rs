//! Documents with an end of their own.

use std::fmt;
use std::time::Duration;

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Db, Error, ErrorKind, Field, Filter, IndexInfo, Model, Operand, Result, Update};

use crate::keyed::integer;
use crate::own;

/// The documents of a model that expire by the date in a field, or some time after it. Where there is no date, never.
/// Cheap to clone.
pub struct Expiry<M> {
    db: Db,
    documents: Collection<M>,
    date: String,
    after: Duration,
}

/// Why documents would stay.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ExpiryProblem {
    /// There is no TTL index on the field. [`Expiry::prepare`] builds it.
    NoIndex,
    /// The index deletes after another time. [`Expiry::prepare`] changes it.
    OtherTime {
        /// After how many seconds.
        seconds: i64,
    },
    /// An index deletes documents of all the kinds that share the collection by a field of this name. Drop it, then call
    /// [`Expiry::prepare`].
    AllKinds {
        /// The index's name.
        index: String,
    },
    /// A document has something in the field that is no date.
    NotADate {
        /// The document's `_id`.
        id: Bson,
    },
}

impl<M: Model> Expiry<M> {
    /// The model's collection, whose documents expire at the date in this field.
    pub fn new<T>(db: &Db, date: impl FnOnce(M::Fields<M>) -> Field<M, T>) -> Expiry<M> {
        Expiry {
            db: db.clone(),
            documents: db.collection(),
            date: date(M::fields()).path().to_string(),
            after: Duration::ZERO,
        }
    }

    /// Documents expire this long after the date: whole seconds.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Expiry<M> {
        self.after = Duration::from_secs(time.as_secs());
        self
    }

    /// Another collection of the model.
    #[must_use]
    pub fn named(mut self, name: &str) -> Expiry<M> {
        self.documents = self.db.collection_named(name);
        self
    }

    /// Builds the TTL index, or gives it another time. Two round trips.
    ///
    /// Where the model is one kind of its collection's documents, the index is over this kind alone.
    ///
    /// # Errors
    /// `Schema` where another index deletes documents of all kinds by the field; those of building an index.
    pub async fn prepare(&self) -> Result<()> {
        let mut keys = Document::new();
        keys.insert(&self.date, 1);
        let seconds = u32::try_from(self.after.as_secs())
            .unwrap_or(i32::MAX as u32)
            .min(i32::MAX as u32);
        let (own, of_all) = self.indexes().await?;
        if let Some(of_all) = of_all {
            let message = "an index deletes documents of all kinds by this field; drop it, and prepare the expiry of \
                           this kind again";
            return Err(Error::new(ErrorKind::Schema, message)
                .with_model(M::DESCRIPTOR.name)
                .with_path(self.date.as_str())
                .with_index(of_all.name));
        }
        match own {
            Some(own) if seconds_of(&own) == Some(i64::from(seconds)) => Ok(()),
            Some(own) => {
                let modify = self.documents.modify();
                modify.expire_after_seconds(own.name, seconds).await.map(drop)
            }
            None => {
                let mut index = doc! {
                    "name": format!("{}_1", self.date),
                    "key": keys,
                    "expireAfterSeconds": i64::from(seconds),
                };
                if let Some(kind) = M::DESCRIPTOR.kind {
                    index.insert("name", format!("{}_1_{}", self.date, kind.name));
                    index.insert("partialFilterExpression", doc! { kind.tag: kind.name });
                }
                self.documents.raw().create_indexes().index_raw(index).await
            }
        }
    }

    /// The condition that a document has not expired, whether it was deleted yet or not: add it to every query.
    pub fn alive(&self) -> Filter<M> {
        Filter::raw(doc! { &self.date: { "$not": { "$lte": self.latest() } } })
    }

    /// The condition that a document has expired, and is still there.
    pub fn expired(&self) -> Filter<M> {
        Filter::raw(doc! { &self.date: { "$lte": self.latest() } })
    }

    /// Gives a document another date if it has not expired; whether it was so. One round trip.
    ///
    /// # Errors
    /// Those of an update.
    pub async fn extend(&self, id: impl Operand<M::Key>, date: DateTime) -> Result<bool> {
        let condition = id.with_operand(|id| M::key_field().eq(id)) & self.alive();
        let change = Update::raw(doc! { "$set": { &self.date: date } });
        Ok(self
            .documents
            .update_one(|_| condition, |_| change)
            .await?
            .matched
            == 1)
    }

    /// Deletes what has expired by now, without waiting for the database; gives how many. One round trip.
    ///
    /// # Errors
    /// Those of a deletion.
    pub async fn sweep(&self) -> Result<u64> {
        let expired = self.expired();
        Ok(self.documents.delete_many(|_| expired).for_ever().await?.deleted)
    }

    /// Looks for the index, and for documents that will never expire although they have something in the field. The
    /// database examines the whole collection.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn verify(&self) -> Result<Vec<ExpiryProblem>> {
        let mut problems = Vec::new();
        let seconds = i64::try_from(self.after.as_secs()).unwrap_or(i64::MAX);
        let (own, of_all) = self.indexes().await?;
        match own.as_ref().and_then(seconds_of) {
            None => problems.push(ExpiryProblem::NoIndex),
            Some(known) if known == seconds => {}
            Some(seconds) => problems.push(ExpiryProblem::OtherTime { seconds }),
        }
        problems.extend(of_all.map(|index| ExpiryProblem::AllKinds { index: index.name }));
        let not_dates =
            doc! { &self.date: { "$exists": true, "$ne": Bson::Null, "$not": { "$type": "date" } } };
        let found = self
            .documents
            .raw()
            .find(own::of_kind::<M>(not_dates))
            .project_raw(doc! { "_id": 1 });
        problems.extend(
            found
                .await?
                .into_iter()
                .map(|mut document| ExpiryProblem::NotADate {
                    id: document.remove("_id").unwrap_or(Bson::Null),
                }),
        );
        Ok(problems)
    }

    /// The index on the field over the model's documents, and one of a kind's field that deletes those of all kinds.
    async fn indexes(&self) -> Result<(Option<IndexInfo>, Option<IndexInfo>)> {
        let indexes = match self.documents.list_indexes().await {
            // There is no collection yet.
            Err(error) if error.code() == Some(26) => return Ok((None, None)),
            indexes => indexes?,
        };
        let mut on_field: Vec<IndexInfo> = indexes
            .into_iter()
            .filter(|index| {
                let mut keys = index.keys.iter();
                keys.next().is_some_and(|(name, _)| *name == self.date) && keys.next().is_none()
            })
            .collect();
        let Some(kind) = M::DESCRIPTOR.kind else {
            // One that is over a part of the documents, such as another kind's, leaves the others where they are.
            on_field.sort_by_key(|index| index.spec.contains_key("partialFilterExpression"));
            return Ok((on_field.into_iter().next(), None));
        };
        let (mut own, mut of_all) = (None, None);
        for index in on_field {
            let filter = index.spec.get_document("partialFilterExpression").ok();
            match filter.and_then(|filter| filter.get_str(kind.tag).ok()) {
                Some(name) if name == kind.name => own = own.or(Some(index)),
                Some(_) => {}
                None if index.spec.contains_key("expireAfterSeconds") => of_all = of_all.or(Some(index)),
                None => {}
            }
        }
        Ok((own, of_all))
    }

    /// The latest date that has expired by now.
    fn latest(&self) -> DateTime {
        let after = i64::try_from(self.after.as_millis()).unwrap_or(i64::MAX);
        DateTime::from_millis(self.db.now().timestamp_millis().saturating_sub(after))
    }
}

/// After how many seconds the index deletes, if it does.
fn seconds_of(index: &IndexInfo) -> Option<i64> {
    match index.spec.get("expireAfterSeconds")? {
        Bson::Double(seconds) => Some(*seconds as i64),
        seconds => integer(seconds),
    }
}

impl<M> Clone for Expiry<M> {
    fn clone(&self) -> Expiry<M> {
        Expiry {
            db: self.db.clone(),
            documents: self.documents.clone(),
            date: self.date.clone(),
            after: self.after,
        }
    }
}

impl<M> fmt::Debug for Expiry<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expiry")
            .field("documents", &self.documents)
            .field("date", &self.date)
            .field("after", &self.after)
            .finish()
    }
}
