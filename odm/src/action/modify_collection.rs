//! Changing the options of a collection.

use bson::{Bson, Document};

use super::setters::runs;
use super::{Draft, Hint};
use crate::backend;
use crate::collection::{Target, encode};
use crate::error::Result;

/// Changes the options of a collection: MongoDB's `collMod`. One round trip; documents that are there already are
/// not looked at.
///
/// ```no_run
/// # async fn example(db: odm::Db) -> odm::Result<()> {
/// # use odm::bson::doc;
/// db.raw_collection("books")
///     .modify()
///     .validator(doc! {"title": {"$type": "string"}})
///     .validation_level("moderate")
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// Fails with code 26 when there is no such collection, 27 when there is no such index, 72 for what does not fit
/// the collection, 263 inside a transaction.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct ModifyCollection {
    target: Target,
    changes: Document,
    failure: Option<crate::error::Error>,
}

impl ModifyCollection {
    pub(crate) fn new(target: Target) -> ModifyCollection {
        ModifyCollection {
            target,
            changes: Document::new(),
            failure: None,
        }
    }

    /// The filter that documents must match to be stored from now on; an empty one takes all.
    pub fn validator(self, validator: Document) -> ModifyCollection {
        self.change("validator", validator)
    }

    /// Which writes are held against the validator: `strict` (all), `moderate` (not those to documents that do not
    /// match already), `off`.
    pub fn validation_level(self, level: impl Into<String>) -> ModifyCollection {
        self.change("validationLevel", level.into())
    }

    /// What becomes of documents that do not match: `error` (refused), `warn` (stored; MongoDB writes its log).
    pub fn validation_action(self, action: impl Into<String>) -> ModifyCollection {
        self.change("validationAction", action.into())
    }

    /// After how many seconds the documents of a TTL index expire; makes one of any index with one field.
    pub fn expire_after_seconds(self, index: impl Into<Hint>, seconds: u32) -> ModifyCollection {
        self.index(index, "expireAfterSeconds", i64::from(seconds))
    }

    /// Whether queries may use an index. A hidden one is maintained all the same.
    pub fn hidden(self, index: impl Into<Hint>, hidden: bool) -> ModifyCollection {
        self.index(index, "hidden", hidden)
    }

    /// The bytes of a capped collection. What is too much goes with the next insert.
    pub fn capped(self, size: u64) -> ModifyCollection {
        self.change("cappedSize", i64::try_from(size).unwrap_or(i64::MAX))
    }

    /// The documents of a capped collection. What is too much goes with the next insert.
    pub fn max_documents(self, count: u64) -> ModifyCollection {
        self.change("cappedMax", i64::try_from(count).unwrap_or(i64::MAX))
    }

    /// What a view shows: a collection, and the stages that make the view of it.
    pub fn view_on(
        self,
        collection: impl Into<String>,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> ModifyCollection {
        let pipeline: Vec<Document> = pipeline.into_iter().collect();
        self.change("viewOn", collection.into())
            .change("pipeline", pipeline)
    }

    /// Any field of MongoDB's command `collMod`.
    pub fn change(mut self, name: impl Into<String>, value: impl Into<Bson>) -> ModifyCollection {
        self.changes.insert(name, value);
        self
    }

    fn index(mut self, index: impl Into<Hint>, name: &str, value: impl Into<Bson>) -> ModifyCollection {
        let named = match index.into().encode() {
            Ok(named) => named,
            Err(error) => {
                self.failure.get_or_insert(error);
                return self;
            }
        };
        let place = match &named {
            bson::RawBson::String(_) => "name",
            _ => "keyPattern",
        };
        let mut spec = match self.changes.get_document("index") {
            Ok(spec) => spec.clone(),
            Err(_) => Document::new(),
        };
        match Bson::try_from(named) {
            Ok(named) => drop(spec.insert(place, named)),
            Err(error) => {
                let text = "an index's keys cannot be encoded";
                let kind = crate::error::ErrorKind::InvalidArgument;
                let error = crate::error::Error::new(kind, text).with_source(error);
                self.failure.get_or_insert(error);
            }
        }
        spec.insert(name, value);
        self.change("index", spec)
    }

    async fn run(self) -> Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let namespace = self.target.namespace().clone();
        let mut draft = Draft::new(&self.target, ());
        let changes = draft.keep(encode::raw(&self.changes)).unwrap_or_default();
        let draft = draft.map(|()| backend::ModifyCollection { namespace, changes });
        let (target, operation) = draft.ready()?;
        target.execute(operation).await?.document().map(|_| ())
    }
}

runs!([] ModifyCollection => ());
