//! A collection for each period.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use odm::bson::{Bson, DateTime};
use odm::{Collection, Date, Db, Error, ErrorKind, Field, Filter, Model, Result};

use super::period::Period;
use super::range::PeriodRange;
use crate::dotted::value_at;
use crate::value;

/// The documents of a model, in a collection for each year, month, day or hour of their dates. Cheap to clone.
pub struct Periods<M> {
    db: Db,
    prefix: String,
    period: Period,
    date: String,
    keep: Option<u32>,
    marker: std::marker::PhantomData<fn() -> M>,
}

impl<M: Model> Periods<M> {
    /// Collections called like the model's, with the period behind it, chosen by this field.
    pub fn new<T: Date>(
        db: &Db,
        period: Period,
        date: impl FnOnce(M::Fields<M>) -> Field<M, T>,
    ) -> Periods<M> {
        Periods {
            db: db.clone(),
            prefix: M::DESCRIPTOR.collection.to_owned(),
            period,
            date: date(M::fields()).path().to_string(),
            keep: None,
            marker: std::marker::PhantomData,
        }
    }

    /// Other names than the model's.
    #[must_use]
    pub fn named(mut self, prefix: impl Into<String>) -> Periods<M> {
        self.prefix = prefix.into();
        self
    }

    /// How many periods are kept, the current one among them: all unless said otherwise. [`retain`](Periods::retain)
    /// drops older ones, and nothing is inserted there any more.
    #[must_use]
    pub fn keep(mut self, periods: u32) -> Periods<M> {
        self.keep = Some(periods.max(1));
        self
    }

    /// The name of the collection for a time.
    ///
    /// # Errors
    /// `InvalidArgument` outside of the years 0 to 9999.
    pub fn name_of(&self, time: DateTime) -> Result<String> {
        Ok(format!("{}_{}", self.prefix, self.period.suffix(time)?))
    }

    /// The collection for a time, which may not be there.
    ///
    /// # Errors
    /// As [`name_of`](Periods::name_of).
    pub fn collection_of(&self, time: DateTime) -> Result<Collection<M>> {
        Ok(self.db.collection_named(&self.name_of(time)?))
    }

    /// The collections that are there, the oldest first, with the beginnings of their periods. One round trip.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn collections(&self) -> Result<Vec<(DateTime, String)>> {
        let listed = self.db.list_collections().await?;
        let mut found: Vec<(DateTime, String)> = listed
            .into_iter()
            .filter_map(|info| {
                let suffix = info.name.strip_prefix(self.prefix.as_str())?.strip_prefix('_')?;
                Some((self.period.of_suffix(suffix)?, info.name))
            })
            .collect();
        found.sort();
        Ok(found)
    }

    /// Creates the collection of the current period and of so many that follow, with what the model declares for them, so
    /// that the first insert of a month does not wait for it. Those that are there are brought up to date. Two round
    /// trips for each, and one for each index that is missing.
    ///
    /// # Errors
    /// Those of building indexes.
    pub async fn prepare(&self, following: u32) -> Result<()> {
        for ahead in 0..=i64::from(following) {
            let time = self.period.shifted(self.db.now(), ahead)?;
            let collection = self.collection_of(time)?;
            match collection.create_declared().await {
                // It is there.
                Err(error) if error.code() == Some(48) => {}
                created => created?,
            }
            collection.sync_indexes().await?;
        }
        Ok(())
    }

    /// Inserts a document into the collection of its date. One round trip.
    ///
    /// # Errors
    /// `Validation` when its period is not kept any more; `Encode` when its date is not stored as one; those of an insert.
    pub async fn insert(&self, document: &M) -> Result<M::Key> {
        let name = self.place_of(document)?;
        self.db.collection_named::<M>(&name).insert(document).await
    }

    /// Inserts documents into the collections of their dates; gives how many. One round trip for each collection.
    ///
    /// # Errors
    /// As [`insert`](Periods::insert): a document that has no place is found before anything is inserted, and the error
    /// says its position in the batch. When a collection refuses some, those of the periods before it are inserted; the
    /// [positions](Error::write_errors) are then those among the documents of that collection.
    pub async fn insert_many<'a>(&self, documents: impl IntoIterator<Item = &'a M>) -> Result<usize> {
        let mut groups: BTreeMap<String, Vec<&M>> = BTreeMap::new();
        for (at, document) in documents.into_iter().enumerate() {
            let place = self.place_of(document);
            let place = place.map_err(|error| error.with_note("position in the batch", at))?;
            groups.entry(place).or_default().push(document);
        }
        let mut inserted = 0;
        for (name, documents) in groups {
            let collection = self.db.collection_named::<M>(&name);
            inserted += collection.insert_many(documents).await?.ids.len();
        }
        Ok(inserted)
    }

    /// The documents of these times, in the order of their dates: `DateTime::MIN..time` for all until then. One round trip to
    /// see which collections there are, and one for each of them and each batch.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn range(&self, times: Range<DateTime>) -> Result<PeriodRange<M>> {
        self.find(times, |_| Filter::all()).await
    }

    /// The documents of these times that match, in the order of their dates.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn find(
        &self,
        times: Range<DateTime>,
        filter: impl FnOnce(M::Fields<M>) -> Filter<M>,
    ) -> Result<PeriodRange<M>> {
        let first = self.period.start(times.start)?;
        let collections = self.collections().await?.into_iter();
        let collections = collections
            .filter(|(start, _)| *start >= first && *start < times.end)
            .map(|(_, name)| self.db.collection_named(&name));
        Ok(PeriodRange::new(
            collections.collect(),
            self.date.clone(),
            times,
            filter(M::fields()),
        ))
    }

    /// Drops the collections whose periods are not kept any more, the oldest first; gives their names. One round trip,
    /// and one for each.
    ///
    /// # Errors
    /// `InvalidArgument` when nothing says [how many are kept](Periods::keep). Those of the database: run again, it goes
    /// on.
    pub async fn retain(&self) -> Result<Vec<String>> {
        let Some(oldest) = self.oldest_kept()? else {
            let text = "nothing says how many periods are kept";
            return Err(Error::new(ErrorKind::InvalidArgument, text));
        };
        let mut dropped = Vec::new();
        for (start, name) in self.collections().await? {
            if start < oldest {
                self.db.drop_collection(&name).await?;
                dropped.push(name);
            }
        }
        Ok(dropped)
    }

    /// The beginning of the oldest period that is kept.
    fn oldest_kept(&self) -> Result<Option<DateTime>> {
        let back = self.keep.map(|keep| 1 - i64::from(keep));
        back.map(|back| self.period.shifted(self.db.now(), back))
            .transpose()
    }

    /// The name of the collection where a document belongs.
    fn place_of(&self, document: &M) -> Result<String> {
        let in_collection = |error: Error, name: &str| {
            let namespace = self.db.collection_named::<M>(name).namespace();
            error.with_model(M::DESCRIPTOR.name).with_namespace(namespace)
        };
        let stored = value::to_bson(document).map_err(|error| in_collection(error, &self.prefix))?;
        let stored = stored.as_document();
        let located = |error: Error, name: &str| {
            let error = in_collection(error, name).with_path(self.date.clone());
            match stored.and_then(|stored| stored.get("_id")) {
                // It is to be made yet.
                None | Some(Bson::Null) => error,
                Some(id) => error.with_id(id.clone()),
            }
        };
        let date = stored.and_then(|stored| value_at(stored, &self.date));
        let Some(Bson::DateTime(date)) = date else {
            let error = Error::new(ErrorKind::Encode, "the document's date is not stored as a date");
            return Err(located(error, &self.prefix));
        };
        let name = self
            .name_of(*date)
            .map_err(|error| located(error, &self.prefix))?;
        if self.oldest_kept()?.is_some_and(|oldest| *date < oldest) {
            let error = Error::new(
                ErrorKind::Validation,
                "the document's period is not kept any more",
            );
            return Err(located(error, &name));
        }
        Ok(name)
    }
}

impl<M> Clone for Periods<M> {
    fn clone(&self) -> Periods<M> {
        Periods {
            db: self.db.clone(),
            prefix: self.prefix.clone(),
            period: self.period,
            date: self.date.clone(),
            keep: self.keep,
            marker: std::marker::PhantomData,
        }
    }
}

impl<M> fmt::Debug for Periods<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Periods")
            .field("db", &self.db)
            .field("prefix", &self.prefix)
            .field("period", &self.period)
            .field("date", &self.date)
            .field("keep", &self.keep)
            .finish()
    }
}
