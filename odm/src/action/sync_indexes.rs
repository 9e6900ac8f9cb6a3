//! Making a collection's indexes those that its model declares.

use super::list_indexes::ListIndexes;
use super::setters::runs;
use crate::backend::{self, IndexSpec};
use crate::collection::{IndexDrift, IndexInfo, Kinds, Target, encode};
use crate::error::{Error, ErrorKind, Result};
use crate::schema::{IndexDeclaration, ModelDescriptor};

/// Compares the indexes that the model declares with those that exist. Changes nothing. One round trip.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct IndexDriftCheck {
    target: Target,
    declared: Vec<IndexDeclaration>,
    kinds: Kinds,
}

impl IndexDriftCheck {
    pub(crate) fn new(target: &Target, model: &ModelDescriptor) -> IndexDriftCheck {
        IndexDriftCheck {
            target: target.clone(),
            declared: model.all_indexes(),
            kinds: Kinds::of(model),
        }
    }

    async fn run(self) -> Result<IndexDrift> {
        let target = self.target;
        let declared = self
            .declared
            .iter()
            .map(|index| IndexInfo::read(&index.to_spec()?));
        let declared = declared.collect::<Result<Vec<_>>>();
        let declared = declared.map_err(|error| target.explain(error, "listIndexes"))?;
        let existing = ListIndexes::new(&target).run().await?;
        Ok(IndexDrift::between(declared, existing, self.kinds))
    }
}

runs!([] IndexDriftCheck => IndexDrift);

/// Builds the declared indexes that are missing. Drops nothing unless asked.
///
/// What is missing is built before anything is dropped. An index that exists with other options must be dropped to be
/// built anew: MongoDB does not keep both.
///
/// Round trips: one to list, one to build what is missing, one for each index dropped. Not one atomic step:
/// when it fails in between, run it again.
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct SyncIndexes {
    check: IndexDriftCheck,
    drop_unknown: bool,
    rebuild_changed: bool,
}

/// What synchronising indexes did, by index name.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SyncedIndexes {
    /// The indexes that were built.
    pub created: Vec<String>,
    /// The indexes that were dropped and built as declared.
    pub rebuilt: Vec<String>,
    /// The indexes that were dropped.
    pub dropped: Vec<String>,
    /// What still differs from the declaration, because it was not asked for.
    pub left: IndexDrift,
}

impl SyncIndexes {
    pub(crate) fn new(target: &Target, model: &ModelDescriptor) -> SyncIndexes {
        SyncIndexes {
            check: IndexDriftCheck::new(target, model),
            drop_unknown: false,
            rebuild_changed: false,
        }
    }

    /// Drops the indexes that the model does not declare; never that of `_id`.
    pub fn drop_unknown(self, drop: bool) -> SyncIndexes {
        SyncIndexes {
            drop_unknown: drop,
            ..self
        }
    }

    /// Drops the indexes that exist with other keys or options than declared, and builds them as declared.
    /// Between the two, queries go without, and a unique index does not guard.
    pub fn rebuild_changed(self, rebuild: bool) -> SyncIndexes {
        SyncIndexes {
            rebuild_changed: rebuild,
            ..self
        }
    }

    /// Only says what differs; see [`IndexDrift`].
    pub fn plan(self) -> IndexDriftCheck {
        self.check
    }

    async fn run(self) -> Result<SyncedIndexes> {
        let target = self.check.target.clone();
        if self.drop_unknown && self.check.kinds.is_one() {
            let message = "one kind of a collection's documents does not know the indexes of the others; drop unknown \
                           ones by the enum of all kinds";
            let error = Error::new(ErrorKind::Unsupported, message);
            return Err(target.explain(error, "dropIndexes"));
        }
        let mut left = self.check.run().await?;
        let mut done = SyncedIndexes::default();
        let missing = std::mem::take(&mut left.missing);
        done.created
            .extend(missing.iter().map(|index| index.name.clone()));
        create_indexes(&target, missing).await?;
        if self.rebuild_changed {
            for change in std::mem::take(&mut left.changed) {
                drop_index(&target, &change.existing.name).await?;
                done.rebuilt.push(change.declared.name.clone());
                create_indexes(&target, vec![change.declared]).await?;
            }
        }
        if self.drop_unknown {
            for index in std::mem::take(&mut left.unknown) {
                drop_index(&target, &index.name).await?;
                done.dropped.push(index.name);
            }
        }
        done.left = left;
        Ok(done)
    }
}

runs!([] SyncIndexes => SyncedIndexes);

async fn drop_index(target: &Target, name: &str) -> Result<()> {
    let operation = backend::DropIndexes {
        namespace: target.namespace().clone(),
        index: bson::RawBson::String(name.to_owned()),
    };
    target.execute(operation.into()).await?.done()
}

async fn create_indexes(target: &Target, indexes: Vec<IndexInfo>) -> Result<()> {
    if indexes.is_empty() {
        return Ok(());
    }
    let specs = indexes
        .iter()
        .map(|index| Ok(IndexSpec(encode::raw(&index.spec)?)));
    let indexes = specs.collect::<Result<Vec<_>>>()?;
    let operation = backend::CreateIndexes {
        namespace: target.namespace().clone(),
        indexes,
    };
    target.execute(operation.into()).await?.done()
}
