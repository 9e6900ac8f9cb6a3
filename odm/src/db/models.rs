//! A program's models against what a database knows of them.

use std::fmt;

use bson::{DateTime, Document, doc};

use super::{CollectionInfo, Db};
use crate::action::{CreateCollection, ModifyCollection, SyncIndexes, SyncedIndexes};
use crate::collection::{IndexDrift, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{DeclaredCollection, Entry, ModelDescriptor, Models, differences, fingerprint};

/// Where the declarations of models are kept.
const COLLECTION: &str = "odm.models";

/// A model that the database does not have as it is declared.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelDrift {
    /// The model's Rust name.
    pub model: &'static str,
    /// Its collection.
    pub collection: &'static str,
    /// When what the database remembers was stored; `None` when it does not know the model.
    pub stored: Option<DateTime>,
    /// What differs, a line each.
    pub differences: Vec<String>,
    /// Whether another of the models has the same name.
    is_ambiguous: bool,
}

impl fmt::Display for ModelDrift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.model)?;
        if self.is_ambiguous {
            write!(f, " ({})", self.collection)?;
        }
        match self.stored {
            None => f.write_str(": not known to the database")?,
            Some(stored) => write!(f, ", as stored at {stored}:")?,
        }
        for difference in &self.differences {
            write!(f, "\n  {difference}")?;
        }
        Ok(())
    }
}

/// What [`Db::sync_models`] did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SyncedModels {
    /// The collections that were created.
    pub created: Vec<String>,
    /// The collections whose options were changed: validators, times to live, sizes and their like.
    pub modified: Vec<String>,
    /// What was done about the indexes of each model that declares some, and what of them still differs.
    pub indexes: Vec<SyncedModel>,
}

impl SyncedModels {
    /// Whether all indexes are as declared. Those that nobody declares do not count.
    pub fn is_complete(&self) -> bool {
        let open = |left: &IndexDrift| !left.missing.is_empty() || !left.changed.is_empty();
        !self.indexes.iter().any(|model| open(&model.indexes.left))
    }
}

/// What [`Db::sync_models`] did about the indexes of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SyncedModel {
    /// The model's Rust name.
    pub model: &'static str,
    /// Its collection.
    pub collection: &'static str,
    /// What was built, and what is left.
    pub indexes: SyncedIndexes,
}

impl Db {
    /// Makes the database what the models declare, then remembers the declarations for
    /// [`check_models`](Db::check_models): creates the collections that are missing, with their declared options; changes
    /// the options of others where that can be done in place (validators, times to live, pre-images, the size of capped
    /// collections, the granularity of time series, what a view shows); builds the declared indexes that are missing.
    ///
    /// Of kinds that share a collection, the validators hold together, each for the documents of its kind.
    ///
    /// Drops and rebuilds nothing: what of the indexes still differs is in the report, and
    /// [`sync_indexes`](crate::Collection::sync_indexes) makes it as declared. Not one atomic step: when it fails in
    /// between, run it again. Round trips: one, one for each collection that is created or changed, one or two for each
    /// model with indexes, one for each model.
    ///
    /// # Errors
    /// `Schema`, with nothing changed, for a collection that has other options than declared where only a new collection
    /// could have them, naming the model and the option; for two models that declare an option of their collection
    /// differently; for a unique index that cannot be kept beside the shard key. As creating collections and indexes.
    pub async fn sync_models(&self, models: &Models) -> Result<SyncedModels> {
        for entry in &models.models {
            entry.descriptor.check_sharding()?;
            (entry.verify)()?;
        }
        let collections = models.collections()?;
        let existing = self.list_collections().await?;
        let mut changes = Vec::new();
        for collection in &collections {
            let existing = existing.iter().find(|existing| existing.name == collection.name);
            match existing {
                Some(existing) => changes.push((collection, changes_of(self, collection, existing)?)),
                None if collection.options.is_some() => changes.push((collection, None)),
                None => {}
            }
        }
        let mut done = SyncedModels::default();
        for (collection, change) in changes {
            let is_there = existing.iter().any(|existing| existing.name == collection.name);
            match change {
                Some(change) if change.is_empty() => {}
                Some(change) => {
                    let start = self.raw_collection(collection.name).modify();
                    let modify = |modify: ModifyCollection, (name, value)| modify.change(name, value);
                    let changed = change.into_iter().fold(start, modify).await;
                    changed.map_err(|error| error.with_model(collection.speaker().name))?;
                    done.modified.push(collection.name.to_owned());
                }
                None if is_there => {}
                None => {
                    let target = Target::untyped(self, collection.name);
                    let options = collection.options.clone().unwrap_or_default();
                    let validator = collection.validator(None);
                    match CreateCollection::with_options(target, &options, validator).await {
                        // Another program was faster.
                        Err(error) if error.code() == Some(48) => {}
                        Err(error) => return Err(error.with_model(collection.speaker().name)),
                        Ok(()) => done.created.push(collection.name.to_owned()),
                    }
                }
            }
        }
        for model in models.descriptors() {
            if !model.all_indexes().is_empty() {
                let target = Target::untyped(self, model.collection);
                let synced = SyncIndexes::new(&target, model).await;
                done.indexes.push(SyncedModel {
                    model: model.name,
                    collection: model.collection,
                    indexes: synced.map_err(|error| error.with_model(model.name))?,
                });
            }
        }
        self.store_models(models).await?;
        Ok(done)
    }

    /// Remembers what the models declare, in the collection `odm.models`: one document for each.
    ///
    /// # Errors
    /// As any write; `Schema` for an index that cannot be sent.
    pub async fn store_models(&self, models: &Models) -> Result<()> {
        let stored = self.raw_collection(COLLECTION);
        for entry in &models.models {
            let declared = entry.declaration()?;
            stored
                .save(doc! {
                    "_id": entry.key(),
                    "model": entry.descriptor.name,
                    "fingerprint": fingerprint(&declared)?,
                    "at": self.now(),
                    "declared": declared,
                })
                .await?;
        }
        Ok(())
    }

    /// The models that the database does not have as they are declared, and what differs: names and types of fields,
    /// indexes, rules, versions and options from what it remembers; and from what is declared the options of the
    /// collection and its indexes as they are, if it is there. Two round trips, and one for each model with indexes.
    ///
    /// Types are compared as they are written in the structs. Indexes and options that nobody declares do not count.
    ///
    /// # Errors
    /// As any read; `Schema` for an index that cannot be sent, and for two models that declare an option of their
    /// collection differently.
    pub async fn check_models(&self, models: &Models) -> Result<Vec<ModelDrift>> {
        let collections = models.collections()?;
        let remembered = self.raw_collection(COLLECTION).find(doc! {}).await?;
        let remembered = Remembered::new(models, &remembered);
        let existing = self.list_collections().await?;
        let mut drifts = Vec::new();
        for entry in &models.models {
            let model = entry.descriptor;
            let declared = entry.declaration()?;
            let known = remembered.of(entry);
            let mut differences = match known {
                Some(known) if known.get_str("fingerprint").ok() != Some(&fingerprint(&declared)?) => {
                    let stored = known.get_document("declared").ok();
                    differences(stored.unwrap_or(&Document::new()), &declared)
                }
                _ => Vec::new(),
            };
            if let Some(existing) = existing.iter().find(|existing| existing.name == model.collection) {
                let collection = collections
                    .iter()
                    .find(|collection| collection.name == model.collection);
                let collection = collection.filter(|collection| collection.speaker().is(model));
                let options = collection.map(|collection| collection.drift(&existing.options));
                differences.extend(options.into_iter().flatten().map(|drift| drift.line));
                differences.extend(self.index_lines(model).await?);
            }
            if known.is_none() || !differences.is_empty() {
                let others = models.descriptors().filter(|other| other.name == model.name);
                drifts.push(ModelDrift {
                    model: model.name,
                    collection: model.collection,
                    stored: known.and_then(|known| known.get_datetime("at").ok().copied()),
                    differences,
                    is_ambiguous: others.count() > 1,
                });
            }
        }
        Ok(drifts)
    }

    /// How the indexes of a collection that is there differ from the declared ones.
    async fn index_lines(&self, model: &ModelDescriptor) -> Result<Vec<String>> {
        if model.all_indexes().is_empty() {
            return Ok(Vec::new());
        }
        let target = Target::untyped(self, model.collection);
        let drift = SyncIndexes::new(&target, model).plan().await;
        let drift = drift.map_err(|error| error.with_model(model.name))?;
        let missing = drift.missing.iter();
        let missing = missing.map(|index| format!("indexes.{}: is not there in the database", index.name));
        let changed = drift.changed.iter().map(|change| {
            format!(
                "indexes.{}: {} in the database differs in {}",
                change.declared.name,
                change.existing.name,
                change.differences.join(", ")
            )
        });
        Ok(missing.chain(changed).collect())
    }

    /// The command that shards the collection of a model by its declared shard key; run it on the database `admin`:
    /// `db.database("admin")?.run_command(command)`. `None` when the model declares none.
    ///
    /// # Errors
    /// `Schema` for a unique index that cannot be kept beside the shard key.
    pub fn shard_command<M: crate::Model>(&self) -> Result<Option<Document>> {
        M::DESCRIPTOR.check_sharding()?;
        let namespace = format!("{}.{}", self.name(), M::DESCRIPTOR.collection);
        M::DESCRIPTOR.declared_options().shard_command(&namespace)
    }
}

/// The fields of `collMod` that make a collection what is declared; none for one without declared options.
fn changes_of(
    db: &Db,
    collection: &DeclaredCollection,
    existing: &CollectionInfo,
) -> Result<Option<Document>> {
    if collection.options.is_none() {
        return Ok(None);
    }
    let mut changes = Document::new();
    for drift in collection.drift(&existing.options) {
        let Some(change) = drift.change else {
            let message = format!(
                "the collection is not as it is declared, and only a new one can be: {}",
                drift.line
            );
            return Err(Error::new(ErrorKind::Schema, message)
                .with_model(collection.speaker().name)
                .with_namespace(format!("{}.{}", db.name(), collection.name))
                .with_path(format!("options.{}", drift.name))
                .with_backend(db.backend_name()));
        };
        changes.extend(change);
    }
    Ok(Some(changes))
}

/// What a database remembers of models.
struct Remembered<'a> {
    models: &'a Models,
    stored: &'a [Document],
}

impl<'a> Remembered<'a> {
    fn new(models: &'a Models, stored: &'a [Document]) -> Remembered<'a> {
        Remembered { models, stored }
    }

    /// What is remembered of a model: by its key, or as older versions of this crate stored it, by its name; or, if it is
    /// known in one other collection alone and no other model is meant, what it was there.
    fn of(&self, entry: &Entry) -> Option<&'a Document> {
        let model = entry.descriptor;
        let is = |stored: &Document, id: &str| stored.get_str("_id").is_ok_and(|known| known == id);
        let by_key = self.stored.iter().find(|stored| is(stored, &entry.key()));
        let by_name = || {
            let old = self.stored.iter().find(|stored| is(stored, model.name))?;
            let declared = old.get_document("declared").ok()?;
            let kind = declared.get_document("kind").ok();
            let own = model.kind.map(|kind| doc! { kind.tag: kind.name });
            let here = declared
                .get_str("collection")
                .is_ok_and(|name| name == model.collection);
            (here && kind == own.as_ref()).then_some(old)
        };
        let moved = || {
            let named = |stored: &&Document| match stored.get_str("model") {
                Ok(name) => name == model.name,
                Err(_) => is(stored, model.name),
            };
            let mut named = self.stored.iter().filter(named);
            let only = named.next().filter(|_| named.next().is_none())?;
            let others = self.models.descriptors().filter(|other| other.name == model.name);
            (others.count() == 1).then_some(only)
        };
        by_key.or_else(by_name).or_else(moved)
    }
}
