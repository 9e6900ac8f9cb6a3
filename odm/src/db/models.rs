//! A program's models against what a database knows of them.

use std::fmt;

use bson::{DateTime, Document, doc};

use super::Db;
use crate::action::{CreateCollection, SyncIndexes};
use crate::collection::Target;
use crate::error::Result;
use crate::schema::{Models, differences, fingerprint};

/// Where the declarations of models are kept.
const COLLECTION: &str = "odm.models";

/// A model whose declaration is not the one that the database remembers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelDrift {
    /// The model's Rust name.
    pub model: &'static str,
    /// When what the database remembers was stored; `None` when it does not know the model.
    pub stored: Option<DateTime>,
    /// What differs, a line each.
    pub differences: Vec<String>,
}

impl fmt::Display for ModelDrift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(stored) = self.stored else {
            return write!(f, "{}: not known to the database", self.model);
        };
        write!(f, "{}, as stored at {stored}:", self.model)?;
        for difference in &self.differences {
            write!(f, "\n  {difference}")?;
        }
        Ok(())
    }
}

impl Db {
    /// Creates the collections that are missing, with their declared options; builds the declared indexes that are
    /// missing; sets declared validators; then remembers the declarations for [`check_models`](Db::check_models).
    /// Drops and rebuilds nothing. Not one atomic step: when it fails in between, run it again.
    ///
    /// # Errors
    /// `Schema` for a unique index that cannot be kept beside the shard key; as creating collections and indexes.
    pub async fn sync_models(&self, models: &Models) -> Result<()> {
        for model in models.descriptors() {
            model.check_sharding()?;
        }
        let existing = self.list_collections().await?;
        for entry in &models.models {
            let model = entry.descriptor;
            let target = Target::untyped(self, model.collection);
            let options = model.declared_options();
            let is_there = existing
                .iter()
                .any(|collection| collection.name == model.collection);
            if !is_there && model.options.is_some() {
                let validator = options
                    .is_validated()
                    .then(|| doc! { "$jsonSchema": (entry.rules)() });
                match CreateCollection::declared(target.clone(), &options, validator).await {
                    Err(error) if error.code() != Some(48) => return Err(error),
                    _ => {}
                }
            } else if options.is_validated() {
                let validator = doc! { "$jsonSchema": (entry.rules)() };
                self.raw_collection(model.collection)
                    .modify()
                    .validator(validator)
                    .await?;
            }
            if !model.all_indexes().is_empty() {
                SyncIndexes::new(&target, model).await?;
            }
        }
        self.store_models(models).await
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
                    "_id": entry.descriptor.name,
                    "fingerprint": fingerprint(&declared)?,
                    "at": self.now(),
                    "declared": declared,
                })
                .await?;
        }
        Ok(())
    }

    /// The models whose declarations are not those that the database remembers, and what differs: names and types of
    /// fields, indexes, rules, versions, options. One round trip.
    ///
    /// Types are compared as they are written in the structs.
    ///
    /// # Errors
    /// As any read; `Schema` for an index that cannot be sent.
    pub async fn check_models(&self, models: &Models) -> Result<Vec<ModelDrift>> {
        let stored = self.raw_collection(COLLECTION).find(doc! {}).await?;
        let mut drifts = Vec::new();
        for entry in &models.models {
            let name = entry.descriptor.name;
            let declared = entry.declaration()?;
            let known = stored
                .iter()
                .find(|stored| stored.get_str("_id").is_ok_and(|id| id == name));
            let Some(known) = known else {
                drifts.push(ModelDrift {
                    model: name,
                    stored: None,
                    differences: Vec::new(),
                });
                continue;
            };
            let fingerprint = fingerprint(&declared)?;
            if known
                .get_str("fingerprint")
                .is_ok_and(|known| known == fingerprint)
            {
                continue;
            }
            drifts.push(ModelDrift {
                model: name,
                stored: known.get_datetime("at").ok().copied(),
                differences: differences(
                    known.get_document("declared").unwrap_or(&Document::new()),
                    &declared,
                ),
            });
        }
        Ok(drifts)
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
