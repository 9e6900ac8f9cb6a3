//! Creating a collection with options.

use bson::{Bson, Document};

use super::Draft;
use super::setters::runs;
use crate::backend;
use crate::collection::{Target, encode};
use crate::error::Result;
use crate::lifecycle::{Declared, schema_of};
use crate::schema::validator;

/// Creates a collection, or a view. One round trip.
///
/// ```no_run
/// # async fn example(db: odm::Db) -> odm::Result<()> {
/// # use odm::bson::doc;
/// // The last 10,000 entries, in at most 16 MB.
/// db.create_collection("log").capped(16 << 20).max_documents(10_000).await?;
/// // Documents without a title are refused, with code 121.
/// db.create_collection("books").validator(doc! {"title": {"$type": "string"}}).await?;
/// // Read like a collection, never written.
/// db.create_collection("lent")
///     .view_on("books", [doc! {"$match": {"available": 0}}])
///     .await?;
/// # Ok(())
/// # }
/// ```
///
/// Fails with code 48 when the name is taken, 72 for options that do not go together, and as the validator or the
/// pipeline is wrong.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct CreateCollection {
    target: Target,
    options: Document,
}

impl CreateCollection {
    pub(crate) fn new(target: Target) -> CreateCollection {
        CreateCollection {
            target,
            options: Document::new(),
        }
    }

    /// With these options.
    pub(crate) fn with_options(
        target: Target,
        options: &Document,
        validator: Option<Document>,
    ) -> CreateCollection {
        let mut create = CreateCollection::new(target);
        create.options.clone_from(options);
        match validator {
            Some(validator) => create.validator(validator),
            None => create,
        }
    }

    /// Bounds the collection to this many bytes of documents, rounded up to a multiple of 256: the oldest make room
    /// for the newest, in the same write. Documents come in the order of insertion. Transactions cannot write to it.
    pub fn capped(self, size: u64) -> CreateCollection {
        self.option("capped", true).option("size", integer(size))
    }

    /// Bounds a capped collection to this many documents as well.
    pub fn max_documents(self, count: u64) -> CreateCollection {
        self.option("max", integer(count))
    }

    /// The filter that documents must match to be stored, in MongoDB's words.
    pub fn validator(self, validator: Document) -> CreateCollection {
        self.option("validator", validator)
    }

    /// Has the database hold every write, whoever makes it, against the rules that the model declares
    /// ([`json_schema`](crate::Model::json_schema)), and the declared validator. Of a kind it is about the documents of that
    /// kind; of a collection without a model it is `{$jsonSchema: {bsonType: "object"}}`.
    pub fn validated(self) -> CreateCollection {
        let rules = rules_of(&self.target);
        self.validator(rules)
    }

    /// Which writes are held against the validator: `strict` (all, the default), `moderate` (not those to documents
    /// that do not match already), `off`.
    pub fn validation_level(self, level: impl Into<String>) -> CreateCollection {
        self.option("validationLevel", level.into())
    }

    /// What becomes of documents that do not match: `error` (refused, the default), `warn` (stored; MongoDB writes
    /// its log).
    pub fn validation_action(self, action: impl Into<String>) -> CreateCollection {
        self.option("validationAction", action.into())
    }

    /// Makes a view: what a pipeline gives over a collection, or another view, of the database. It is computed at
    /// each read; writes to it fail with code 166.
    pub fn view_on(
        self,
        collection: impl Into<String>,
        pipeline: impl IntoIterator<Item = Document>,
    ) -> CreateCollection {
        let pipeline: Vec<Document> = pipeline.into_iter().collect();
        self.option("viewOn", collection.into())
            .option("pipeline", pipeline)
    }

    /// How strings compare, in MongoDB's words: `{locale: "en", strength: 2}`.
    pub fn collation(self, collation: Document) -> CreateCollection {
        self.option("collation", collation)
    }

    /// Any field of MongoDB's command `create`.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Bson>) -> CreateCollection {
        self.options.insert(name, value);
        self
    }

    async fn run(self) -> Result<()> {
        let namespace = self.target.namespace().clone();
        let mut draft = Draft::new(&self.target, ());
        let options = draft.keep(encode::raw(&self.options)).unwrap_or_default();
        let draft = draft.map(|()| backend::CreateCollection { namespace, options });
        let (target, operation) = draft.ready()?;
        target.execute(operation).await?.done()
    }
}

runs!([] CreateCollection => ());

/// The validator of the rules that the model of a collection declares.
fn rules_of(target: &Target) -> Document {
    let parts = target.plan().map(|plan| plan.model.validator_parts(true));
    let rules = parts.and_then(|parts| validator(None, parts));
    rules.unwrap_or_else(|| bson::doc! { "$jsonSchema": schema_of(Declared::nothing()) })
}

fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
