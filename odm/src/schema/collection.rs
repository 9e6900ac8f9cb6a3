//! What models declare of their collections.

use std::time::Duration;

use bson::raw::CString;
use bson::{Bson, Document, RawDocumentBuf, doc};

use super::{IndexDeclaration, ModelDescriptor};
use crate::codec;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Date, Field, Model};

/// The options of a model's collection: what `#[odm(options = function)]` names a function for.
///
/// They hold from when the collection is created, by [`Collection::create_declared`](crate::Collection::create_declared)
/// or [`Db::sync_models`](crate::Db::sync_models): a write to a collection that is not there creates it without.
///
/// ```
/// use odm::{CollectionDeclaration, Db, Id, Model, bson::doc};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize, Model)]
/// #[odm(collection = "log", options = log_options)]
/// struct Entry {
///     #[serde(rename = "_id")]
///     id: Id<Entry>,
///     text: String,
/// }
///
/// fn log_options() -> CollectionDeclaration {
///     CollectionDeclaration::new().capped(1 << 20).max_documents(2)
/// }
///
/// # #[tokio::main]
/// # async fn main() -> odm::Result<()> {
/// let log = Db::open("memory:").await?.collection::<Entry>();
/// log.create_declared().await?;
/// for text in ["a", "b", "c"] {
///     log.insert(Entry { id: Id::new(), text: text.into() }).await?;
/// }
/// assert_eq!(log.find_all().await?[0].text, "b");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct CollectionDeclaration {
    options: Document,
    validated: bool,
    shard_key: Option<IndexDeclaration>,
}

/// How far apart in time the measurements of a source are: [`CollectionDeclaration::granularity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Granularity {
    /// Seconds: an hour of them is stored together. What holds unless it is said.
    Seconds,
    /// Minutes: a day of them is stored together.
    Minutes,
    /// Hours: thirty days of them are stored together.
    Hours,
}

impl Granularity {
    fn name(self) -> &'static str {
        match self {
            Granularity::Seconds => "seconds",
            Granularity::Minutes => "minutes",
            Granularity::Hours => "hours",
        }
    }
}

impl CollectionDeclaration {
    /// No options.
    pub fn new() -> CollectionDeclaration {
        CollectionDeclaration::default()
    }

    /// At most this many bytes of documents: the oldest make room for the newest.
    pub fn capped(self, size: u64) -> CollectionDeclaration {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        self.option("capped", true).option("size", size)
    }

    /// At most this many documents in a capped collection.
    pub fn max_documents(self, count: u64) -> CollectionDeclaration {
        self.option("max", i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// How strings compare, in MongoDB's words: `doc! {"locale": "en", "strength": 2}`.
    pub fn collation(self, collation: Document) -> CollectionDeclaration {
        self.option("collation", collation)
    }

    /// The collation, if one is declared.
    pub(crate) fn own_collation(&self) -> Option<&Document> {
        self.options.get_document("collation").ok()
    }

    /// Has the database hold every write against the rules that the model declares.
    pub fn validated(mut self) -> CollectionDeclaration {
        self.validated = true;
        self
    }

    /// The filter that documents must match to be stored, in MongoDB's words.
    pub fn validator(self, validator: Document) -> CollectionDeclaration {
        self.option("validator", validator)
    }

    /// Measurements over time, by the date in this field.
    ///
    /// Such a collection is read like any other; it has no unique `_id`, and nothing of a measurement is changed or
    /// deleted by itself, see the guide's page on schemas.
    pub fn time_series<R, T: Date>(self, time: &Field<R, T>) -> CollectionDeclaration {
        self.option("timeseries", doc! { "timeField": time.path().to_string() })
    }

    /// Measurements over time of many sources: by the date in `time`, and by what is in `source`.
    ///
    /// All measurements of sources can be changed in what they say of their source, and deleted: by `update_many` and
    /// `delete_many` with a filter on `source` alone.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use odm::bson::DateTime;
    /// use odm::{CollectionDeclaration, Db, Granularity, Id, Model};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Serialize, Deserialize, Model)]
    /// #[odm(collection = "measured", options = over_time)]
    /// struct Measured {
    ///     #[serde(rename = "_id")]
    ///     id: Id<Measured>,
    ///     at: DateTime,
    ///     sensor: String,
    ///     celsius: f64,
    /// }
    ///
    /// fn over_time() -> CollectionDeclaration {
    ///     let fields = Measured::fields();
    ///     CollectionDeclaration::new()
    ///         .time_series_of(&fields.at, &fields.sensor)
    ///         .granularity(Granularity::Minutes)
    ///         .expire_after(Duration::from_secs(30 * 86_400))
    /// }
    ///
    /// # #[tokio::main]
    /// # async fn main() -> odm::Result<()> {
    /// let measured = Db::open("memory:").await?.collection::<Measured>();
    /// measured.create_declared().await?;
    /// let at = DateTime::now();
    /// measured.insert(Measured { id: Id::new(), at, sensor: "roof".into(), celsius: 21.5 }).await?;
    /// assert_eq!(measured.count(|m| m.sensor.eq("roof") & m.celsius.gt(20.0)).await?, 1);
    /// assert_eq!(measured.delete_many(|m| m.sensor.eq("roof")).await?.deleted, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn time_series_of<R, T: Date, S>(
        self,
        time: &Field<R, T>,
        source: &Field<R, S>,
    ) -> CollectionDeclaration {
        let series = doc! { "timeField": time.path().to_string(), "metaField": source.path().to_string() };
        self.option("timeseries", series)
    }

    /// How far apart in time the measurements of a source are: they are stored together accordingly. Of a collection
    /// that is no time series it says nothing.
    pub fn granularity(mut self, granularity: Granularity) -> CollectionDeclaration {
        if let Ok(series) = self.options.get_document_mut("timeseries") {
            series.insert("granularity", granularity.name());
        }
        self
    }

    /// How long the documents of a time series live, or those of a clustered collection whose `_id` is a date: at least
    /// so many whole seconds.
    pub fn expire_after(self, life: Duration) -> CollectionDeclaration {
        let seconds = i64::try_from(life.as_secs()).unwrap_or(i64::MAX);
        self.option("expireAfterSeconds", seconds)
    }

    /// Has the database keep documents as they are before and after each change, for
    /// [change streams](crate::ChangeStream) that ask for them.
    pub fn images(self) -> CollectionDeclaration {
        self.option("changeStreamPreAndPostImages", doc! { "enabled": true })
    }

    /// How MongoDB distributes the documents: by these fields, ascending or [`hashed`](IndexDeclaration::hashed).
    ///
    /// [`Db::shard_command`](crate::Db::shard_command) is the command that does it. Declared, it has each upsert name
    /// the fields in its filter, as MongoDB demands, on every backend; and [`Db::sync_models`](crate::Db::sync_models)
    /// refuses unique indexes that do not begin with them.
    pub fn shard_key<M: Model>(
        mut self,
        keys: impl FnOnce(M::Fields<M>) -> IndexDeclaration,
    ) -> CollectionDeclaration {
        self.shard_key = Some(keys(M::fields()));
        self
    }

    /// Any field of MongoDB's command `create`.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Bson>) -> CollectionDeclaration {
        self.options.insert(name, value);
        self
    }

    /// The options of the command `create`, without the validator of the model's rules.
    pub fn options(&self) -> &Document {
        &self.options
    }

    /// Whether the model's rules are the collection's validator.
    pub fn is_validated(&self) -> bool {
        self.validated
    }

    /// The fields of the shard key by their stored names.
    pub(crate) fn shard_fields(&self) -> Vec<String> {
        let keys = self
            .shard_key
            .as_ref()
            .map(IndexDeclaration::keys)
            .unwrap_or_default();
        keys.iter().map(|(path, _)| path.to_string()).collect()
    }

    /// `{shardCollection: .., key: .., unique: ..}`, if a shard key is declared.
    pub(crate) fn shard_command(&self, namespace: &str) -> Result<Option<Document>> {
        let Some(key) = &self.shard_key else {
            return Ok(None);
        };
        let spec = codec::decode_untyped(&key.to_spec()?)?;
        let key = spec.get_document("key").cloned().unwrap_or_default();
        let unique = spec.get_bool("unique").unwrap_or_default();
        Ok(Some(
            doc! { "shardCollection": namespace, "key": key, "unique": unique },
        ))
    }
}

impl ModelDescriptor {
    /// The declared options of the collection; none when nothing is declared.
    pub fn declared_options(&self) -> CollectionDeclaration {
        self.options.map(|options| options()).unwrap_or_default()
    }

    /// Whether MongoDB could keep the declared indexes of the sharded collection.
    ///
    /// # Errors
    /// `Schema` naming a unique index that does not begin with the shard key: no server could keep it.
    pub(crate) fn check_sharding(&self) -> Result<()> {
        let shard = self.declared_options().shard_fields();
        if shard.is_empty() {
            return Ok(());
        }
        for index in self.all_indexes() {
            let fields: Vec<String> = index.keys().iter().map(|(path, _)| path.to_string()).collect();
            if index.is_unique() && !fields.starts_with(&shard) {
                let message = format!(
                    "a unique index of a sharded collection begins with the shard key: {}",
                    shard.join(", ")
                );
                return Err(Error::new(ErrorKind::Schema, message)
                    .with_model(self.name)
                    .with_index(index.name()));
            }
        }
        Ok(())
    }
}

/// Whether the filter says what a field is equal to.
pub(crate) fn is_equal_in(filter: &RawDocumentBuf, field: &str) -> bool {
    let Ok(name) = CString::try_from(field) else {
        return false;
    };
    let direct = match filter.get(&*name) {
        Ok(Some(bson::RawBsonRef::Document(condition))) => match condition.iter().next() {
            Some(Ok((operator, _))) => operator.as_str() == "$eq" || !operator.as_str().starts_with('$'),
            _ => true,
        },
        Ok(Some(bson::RawBsonRef::RegularExpression(_))) | Ok(None) | Err(_) => false,
        Ok(Some(_)) => true,
    };
    direct
        || match filter.get("$and") {
            Ok(Some(bson::RawBsonRef::Array(all))) => all.into_iter().flatten().any(|one| match one {
                bson::RawBsonRef::Document(one) => is_equal_in(&one.to_owned(), field),
                _ => false,
            }),
            _ => false,
        }
}
