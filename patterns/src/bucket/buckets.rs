//! The handle, and reading.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::time::Duration;

use odm::bson::{Bson, DateTime, Document, doc};
use odm::{Collection, Date, Db, Embedded, Error, ErrorKind, Field, Operand, Path, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::encoded::Names;
use super::stored::Bucket;
use crate::computed::Amount;
use crate::keyed::Keyed;
use crate::value;

/// The `_id`s of buckets.
pub(super) const BUCKETS: Keyed = Keyed {
    owner: "series",
    number: "number",
};

/// Entries `E` of series `S` in buckets, with figures of values `V` and unique keys `K`. Cheap to clone. Made in a
/// transaction (`Buckets::by_span(&tx, ..)`), what it writes is part of it.
pub struct Buckets<S, E, V = i64, K = NoKey> {
    pub(super) db: Db,
    pub(super) buckets: Collection<Document>,
    pub(super) kind: Kind,
    pub(super) names: Names,
    unique: Option<Field<E, K>>,
    marker: PhantomData<fn(S, E) -> V>,
}

/// The unique key of entries that have none: [`Buckets::unique`] says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKey {}

/// How entries are spread.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// So many milliseconds to a bucket.
    Span(i64),
    /// So many entries to a bucket.
    Count(usize),
}

impl<S, E: Embedded> Buckets<S, E> {
    /// A bucket for each of these times of a series, counted from the beginning of 1970.
    pub fn by_span<T: Date>(
        db: &Db,
        name: &str,
        span: Duration,
        at: impl FnOnce(E::Fields<E>) -> Field<E, T>,
    ) -> Buckets<S, E> {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX).max(1);
        Buckets::of(db, name, Kind::Span(span), at)
    }

    /// A bucket for this many entries of a series.
    pub fn by_count<T: Date>(
        db: &Db,
        name: &str,
        entries: usize,
        at: impl FnOnce(E::Fields<E>) -> Field<E, T>,
    ) -> Buckets<S, E> {
        Buckets::of(db, name, Kind::Count(entries.max(1)), at)
    }

    fn of<T>(db: &Db, name: &str, kind: Kind, at: impl FnOnce(E::Fields<E>) -> Field<E, T>) -> Buckets<S, E> {
        Buckets {
            db: db.clone(),
            buckets: db.raw_collection(name),
            kind,
            names: Names {
                at: at(E::fields_at(Path::root())).path().to_string(),
                value: None,
                unique: None,
            },
            unique: None,
            marker: PhantomData,
        }
    }
}

impl<S, E: Embedded, K> Buckets<S, E, i64, K> {
    /// What count, sum, mean, variance, minimum and maximum are kept of.
    pub fn value<V: Amount>(self, value: impl FnOnce(E::Fields<E>) -> Field<E, V>) -> Buckets<S, E, V, K> {
        let value = value(E::fields_at(Path::root())).path().to_string();
        Buckets {
            db: self.db,
            buckets: self.buckets,
            kind: self.kind,
            names: Names {
                value: Some(value),
                ..self.names
            },
            unique: self.unique,
            marker: PhantomData,
        }
    }
}

impl<S, E: Embedded, V> Buckets<S, E, V> {
    /// By what an entry is known in its series, so that it is recorded once, however often it is sent. Entries without
    /// one, or with null, are recorded as often as they are sent.
    pub fn unique<K>(self, key: impl FnOnce(E::Fields<E>) -> Field<E, K>) -> Buckets<S, E, V, K> {
        let key = key(E::fields_at(Path::root()));
        Buckets {
            db: self.db,
            buckets: self.buckets,
            kind: self.kind,
            names: Names {
                unique: Some(key.path().to_string()),
                ..self.names
            },
            unique: Some(key),
            marker: PhantomData,
        }
    }
}

impl<S, E, V, K> Buckets<S, E, V, K> {
    /// The collection.
    pub fn collection(&self) -> &Collection<Document> {
        &self.buckets
    }

    pub(super) fn unique_path(&self) -> Result<&str> {
        self.names.unique.as_deref().ok_or_else(|| {
            let error = Error::new(
                ErrorKind::InvalidArgument,
                "the buckets' entries have no unique key",
            );
            error.with_namespace(self.buckets.name())
        })
    }

    /// Builds the indexes that reading by time and deletion by age need, beside that on `_id`. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn prepare(&self) -> Result<()> {
        let mut action = self
            .buckets
            .create_indexes()
            .index_raw(doc! { "key": { "to": 1 }, "name": "to_1" });
        if let Kind::Count(_) = self.kind {
            let times = doc! { "_id.series": 1, "to": 1 };
            action = action.index_raw(doc! { "key": times, "name": "series_to" });
            if let Some(unique) = &self.names.unique {
                let entries = doc! { "_id.series": 1, format!("entries.{unique}"): 1 };
                action = action.index_raw(doc! { "key": entries, "name": "series_unique" });
            }
        }
        action.await
    }

    /// Deletes the buckets of all series whose newest entry is older than a time; gives how many. An entry that comes at
    /// the same time saves its bucket, or opens a new one.
    ///
    /// # Errors
    /// Those of the database; run again, it goes on.
    pub async fn forget_before(&self, time: DateTime) -> Result<u64> {
        let old = doc! { "to": { "$lt": time } };
        Ok(self.buckets.delete_many(old).await?.deleted)
    }
}

impl<S: Serialize + DeserializeOwned, E: DeserializeOwned, V: Amount, K> Buckets<S, E, V, K> {
    /// The buckets of a series with entries of these times, whole, in order. One round trip for each batch.
    ///
    /// # Errors
    /// `Decode` when a bucket does not fit the types.
    pub async fn buckets(&self, series: &S, times: Range<DateTime>) -> Result<Vec<Bucket<S, E, V>>> {
        let series = value::to_bson(series)?;
        let found = self
            .buckets
            .find(self.within(&series, &times))
            .sort_raw(doc! { "_id": 1 });
        let found = found.encoded().await?;
        found.iter().map(|stored| read(stored.as_bytes())).collect()
    }

    /// The entries of a series of these times, in the order of time. One round trip for each batch of buckets.
    ///
    /// # Errors
    /// As [`buckets`](Buckets::buckets).
    pub async fn range(&self, series: &S, times: Range<DateTime>) -> Result<Vec<E>> {
        let series = value::to_bson(series)?;
        let found = self
            .buckets
            .find(self.within(&series, &times))
            .sort_raw(doc! { "_id": 1 });
        let mut entries = Vec::new();
        for bucket in found.await? {
            entries.extend(self.entries(&bucket)?.filter(|(at, _)| times.contains(at)));
        }
        entries.sort_by_key(|(at, _)| *at);
        entries
            .into_iter()
            .map(|(_, entry)| value::from_bson(entry))
            .collect()
    }

    /// Deletes a series; gives how many buckets. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn forget(&self, series: &S) -> Result<u64> {
        let all = BUCKETS.of(&value::to_bson(series)?);
        Ok(self.buckets.delete_many(all).await?.deleted)
    }

    /// Takes the entry of this unique key out of its bucket, and out of the figures; whether it was there. The key is
    /// encoded as the field's values are. A bucket whose last entry is taken out stays, empty, until the next
    /// [`forget_before`](Buckets::forget_before). One round trip.
    ///
    /// # Errors
    /// `InvalidArgument` when the buckets have no [`unique`](Buckets::unique) key, or the key is null. `Encode` when it
    /// cannot be stored.
    pub async fn remove(&self, series: &S, key: impl Operand<K>) -> Result<bool>
    where
        K: Serialize,
    {
        let unique = self.unique_path()?;
        let codec = self.unique.as_ref().and_then(Field::codec);
        let key = key.with_operand(|key| match codec {
            Some(codec) => value::tree(codec(key)?),
            None => value::to_bson(key),
        });
        let key = key.map_err(|error| error.with_path(unique.to_owned()))?;
        if key == Bson::Null {
            let error = Error::new(ErrorKind::InvalidArgument, "entries are not known by null");
            return Err(error.with_path(unique.to_owned()));
        }
        let mut condition = BUCKETS.of(&value::to_bson(series)?);
        condition.insert(format!("entries.{unique}"), doc! { "$eq": &key });
        let others = doc! { "$ne": [format!("$$this.{unique}"), { "$literal": &key }] };
        let without = doc! { "$set": { "entries": { "$filter": { "input": "$entries", "cond": others } } } };
        let mut stages = Vec::from_iter(self.stays_full());
        stages.extend([without, self.recount()?]);
        let removed = self.buckets.update_one(condition, stages);
        Ok(removed.await?.modified == 1)
    }

    /// The stage before entries are taken out, of buckets by count: one that is full takes none for them. Another may be
    /// open behind it, and who is late would put a key into this one that is in that.
    pub(super) fn stays_full(&self) -> Option<Document> {
        let Kind::Count(size) = self.kind else {
            return None;
        };
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let has_been = doc! { "$or": [
            { "$eq": ["$full", true] },
            { "$gte": [{ "$size": "$entries" }, size] },
        ] };
        Some(doc! { "$set": { "full": { "$cond": [has_been, true, "$$REMOVE"] } } })
    }

    /// The entries of a stored bucket with their times, in the order in which they came.
    pub(super) fn entries<'a>(
        &'a self,
        bucket: &'a Document,
    ) -> Result<impl DoubleEndedIterator<Item = (DateTime, Bson)> + ExactSizeIterator + 'a> {
        let malformed = |path: &str| {
            let id = bucket.get("_id").cloned().unwrap_or(Bson::Null);
            let error = Error::new(ErrorKind::Decode, "the bucket is malformed");
            error.with_path(path.to_owned()).with_id(id)
        };
        let entries = bucket.get_array("entries").map_err(|_| malformed("entries"))?;
        let entries: Result<Vec<_>> = entries
            .iter()
            .map(|entry| {
                let at = entry
                    .as_document()
                    .and_then(|entry| crate::dotted::value_at(entry, &self.names.at));
                match at {
                    Some(Bson::DateTime(at)) => Ok((*at, entry.clone())),
                    _ => Err(malformed(&self.names.at)),
                }
            })
            .collect();
        Ok(entries?.into_iter())
    }

    /// The condition of the buckets that can have entries of these times.
    fn within(&self, series: &Bson, times: &Range<DateTime>) -> Document {
        let mut condition = match self.kind {
            Kind::Span(span) => {
                let number = |time: DateTime| time.timestamp_millis().div_euclid(span);
                BUCKETS.between(series, number(times.start), number(times.end))
            }
            Kind::Count(_) => doc! { "_id.series": { "$eq": series } },
        };
        condition.insert("to", doc! { "$gte": times.start });
        condition.insert("from", doc! { "$lt": times.end });
        condition
    }
}

/// A bucket from its stored form.
pub(super) fn read<T: DeserializeOwned>(stored: &[u8]) -> Result<T> {
    odm::bson::deserialize_from_slice(stored).map_err(|error| {
        Error::new(ErrorKind::Decode, "the bucket does not fit its types").with_source(error)
    })
}

impl<S, E, V, K> Clone for Buckets<S, E, V, K> {
    fn clone(&self) -> Buckets<S, E, V, K> {
        Buckets {
            db: self.db.clone(),
            buckets: self.buckets.clone(),
            kind: self.kind,
            names: self.names.clone(),
            unique: self.unique.clone(),
            marker: PhantomData,
        }
    }
}

impl<S, E, V, K> fmt::Debug for Buckets<S, E, V, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets")
            .field("buckets", &self.buckets)
            .field("kind", &self.kind)
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}
