//! Making a collection's indexes those that its model declares.

use super::list_indexes::ListIndexes;
use super::rebuild_indexes::{Indexes, stand_in_name};
use super::setters::runs;
use crate::collection::{IndexDrift, IndexInfo, Kinds, Target};
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
        let kinds = self.kinds;
        let (declared, existing) = self.read().await?;
        Ok(IndexDrift::between(declared, existing, kinds))
    }

    /// The declared indexes and those that exist.
    async fn read(self) -> Result<(Vec<IndexInfo>, Vec<IndexInfo>)> {
        let target = self.target;
        let declared = self
            .declared
            .iter()
            .map(|index| IndexInfo::read(&index.to_spec()?));
        let declared = declared.collect::<Result<Vec<_>>>();
        let declared = declared.map_err(|error| target.explain(error, "listIndexes"))?;
        let existing = ListIndexes::new(&target).run().await?;
        Ok((declared, existing))
    }
}

runs!([] IndexDriftCheck => IndexDrift);

/// Builds the declared indexes that are missing. Drops nothing unless asked.
///
/// What is missing is built before anything is dropped. What exists with other keys or options is changed or built anew
/// only when asked, see [`rebuild_changed`](SyncIndexes::rebuild_changed).
///
/// Round trips: one to list, one to build what is missing, one for each index dropped, two to four for each rebuilt.
/// Not one atomic step: when it fails in between, run it again.
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
    /// The indexes whose expiry or `hidden` was changed in place, by the names that they have.
    pub modified: Vec<String>,
    /// The indexes that were built as declared in the place of others.
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

    /// Makes the indexes that exist with other keys or options than declared what is declared: by a change in place where
    /// only the expiry or `hidden` differs, else by building them anew.
    ///
    /// The new index is built before the old one is dropped, where MongoDB keeps both. Where it does not, a unique index
    /// has another unique one stand in for it while it is built, named with `_standing_in` behind its own, so that there
    /// is always a guard; queries go without other indexes meanwhile. Documents that break a unique index are found
    /// before anything is dropped.
    ///
    /// # Errors
    /// Of `.await`: `DuplicateKey` naming the index and the key, with all indexes as they were. When an index cannot be
    /// built after the old one was dropped, the old one is built again; the error says so, or that it is missing.
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
        let kinds = self.check.kinds;
        let (declared, existing) = self.check.read().await?;
        let mut indexes = Indexes::new(target, &existing);
        let standing_in: Vec<String> = declared.iter().map(|index| stand_in_name(&index.name)).collect();
        let mut left = IndexDrift::between(declared, existing, kinds);
        let mut done = SyncedIndexes::default();
        // Those whose names others have come after the others have theirs.
        let missing = std::mem::take(&mut left.missing);
        let (blocked, missing): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|index| indexes.has(&index.name));
        done.created
            .extend(missing.iter().map(|index| index.name.clone()));
        indexes.create(missing).await?;
        match self.rebuild_changed {
            true => {
                done.created
                    .extend(blocked.iter().map(|index| index.name.clone()));
                let changed = std::mem::take(&mut left.changed);
                (done.modified, done.rebuilt) = indexes.rebuild(changed, blocked).await?;
            }
            false => left.missing = blocked,
        }
        let unknown = std::mem::take(&mut left.unknown);
        for index in unknown
            .into_iter()
            .filter(|index| indexes.has(&index.name))
            .collect::<Vec<_>>()
        {
            // What an interrupted run has left behind is of no use once the declared index stands.
            let is_left_over = self.rebuild_changed && standing_in.contains(&index.name);
            match self.drop_unknown || is_left_over {
                true => {
                    indexes.drop(&index.name).await?;
                    done.dropped.push(index.name);
                }
                false => left.unknown.push(index),
            }
        }
        done.left = left;
        Ok(done)
    }
}

runs!([] SyncIndexes => SyncedIndexes);
