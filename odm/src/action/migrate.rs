//! Bringing stored documents into the present shape of their model.

use std::fmt;
use std::future::IntoFuture;

use bson::oid::ObjectId;
use bson::{Bson, RawArrayBuf, RawBson, RawDocument, RawDocumentBuf, rawdoc};
use futures_core::future::BoxFuture;

use super::draft::Draft;
use crate::backend::{
    self, BulkWrite, Modification, Operation, ReadOptions, UpdateStatement, WriteStatement,
};
use crate::collection::{Record, Target};
use crate::cursor;
use crate::error::{Error, ErrorKind, Result};
use crate::lifecycle::{
    self, Copied, DerivedFields, PENDING, Scope, Unchanged, Versions, with_field, with_id,
};
use crate::model::Model;

/// Brings all documents of older schema versions into the present one, a batch at a time.
///
/// Each document is replaced only if it is still what was read; one that somebody changed in between is read again in
/// the next round. What is done is done: after an error or a crash, run it again, and it goes on where it was. Readers
/// and writers need not stop. All is read from the primary, whatever the URL prefers. Softly deleted documents are migrated
/// too. A document whose migration fails, or whose [derived fields](crate::Derived) cannot be made, is reported and left as
/// it is. On MongoDB so is one that is too large, of about 8 MB: what was read and what replaces it are one statement, which
/// holds 16 MB.
///
/// Copies that other models hold of what a migration changes follow, right after each batch. The documents' own versions
/// stay: nobody changed what they mean.
///
/// Cost: one read and one write for each batch of outdated documents, by a scan of the collection unless an index
/// begins with `schema_version`; where copied fields change, what the copies cost.
#[must_use = "an action does nothing until it is awaited"]
pub struct Migrate<M> {
    draft: Draft<backend::Find>,
    versions: Option<Versions>,
    decode: fn(&RawDocument) -> Result<M>,
    batch: u32,
    is_dry: bool,
    progress: Option<Progress>,
}

/// Is told what was done so far.
type Progress = Box<dyn FnMut(&Migrated) + Send>;

/// What a migration did, or has done so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Migrated {
    /// Outdated documents that were looked at.
    pub examined: u64,
    /// Documents in the present shape now; in a dry run, that would be.
    pub migrated: u64,
    /// Documents that changed while they were migrated, and were read again.
    pub raced: u64,
    /// The documents that could not be migrated, and why.
    pub failed: Vec<(Bson, Error)>,
}

impl<M: Model> Migrate<M> {
    pub(crate) fn new(target: &Target) -> Migrate<M> {
        let versions = M::LIFECYCLE.versions;
        let filter = match &versions {
            Some(versions) => versions.outdated(),
            None => Err(Error::new(
                ErrorKind::InvalidArgument,
                "the model declares no `schema_version`",
            )),
        };
        let mut draft = Draft::with_filter(target, filter, |filter| {
            backend::Find::new(target.namespace().clone(), filter)
        });
        draft.settings.scope = Scope::ALL;
        Migrate {
            draft,
            versions,
            decode: <M as Record>::decode,
            batch: 500,
            is_dry: false,
            progress: None,
        }
    }

    /// Writes nothing: says what would be done, and which documents could not be migrated.
    pub fn dry_run(mut self) -> Migrate<M> {
        self.is_dry = true;
        self
    }

    /// How many documents go together: 500 unless said otherwise.
    pub fn batch_size(mut self, documents: u32) -> Migrate<M> {
        self.batch = documents.max(1);
        self
    }

    /// Calls this after each batch.
    pub fn on_progress(mut self, progress: impl FnMut(&Migrated) + Send + 'static) -> Migrate<M> {
        self.progress = Some(Box::new(progress));
        self
    }

    async fn run(mut self) -> Result<Migrated> {
        self.draft.operation.batch_size = Some(self.batch);
        let (target, operation) = self.draft.ready()?;
        // Other members may lack documents, or show what is migrated already.
        let target = target.within(target.db().newest().executor());
        let Some(versions) = self.versions else {
            return Ok(Migrated::default());
        };
        if let Some(derived) = derived(&target) {
            // What no document could have is no fault of one.
            derived.check().map_err(|error| target.explain(error, "find"))?;
        }
        let mut done = Migrated::default();
        loop {
            let raced = done.raced;
            let mut failed = Vec::new();
            let mut cursor = target.execute(operation.clone()).await?.cursor()?;
            while let Some(batch) = cursor::next_batch(&target, "find", &mut *cursor).await? {
                let mut replacements = Replacements::default();
                for stored in cursor::documents(&target, "find", &*batch) {
                    let stored = stored?;
                    let upgraded = match versions.upgraded(stored) {
                        Ok(Some(upgraded)) => (self.decode)(&upgraded).map(|_| upgraded),
                        Ok(None) => continue,
                        Err(error) => Err(error),
                    };
                    let pushed = upgraded.and_then(|upgraded| replacements.push(&target, stored, upgraded));
                    if let Err(error) = pushed {
                        failed.push(failure(&target, with_id(error, stored)));
                    }
                }
                let asked = replacements.statements.len() as u64;
                let before = failed.len();
                let matched = match self.is_dry {
                    true => asked,
                    false => replacements.write(&target, &mut failed).await?,
                };
                let refused = (failed.len() - before) as u64;
                done.migrated += matched;
                done.raced += asked.saturating_sub(matched + refused);
                done.examined = done.migrated + failed.len() as u64;
                done.failed.clone_from(&failed);
                if let Some(progress) = &mut self.progress {
                    progress(&done);
                }
            }
            if self.is_dry || done.raced == raced {
                return Ok(done);
            }
        }
    }
}

impl<M: Model> IntoFuture for Migrate<M> {
    type Output = Result<Migrated>;
    type IntoFuture = BoxFuture<'static, Result<Migrated>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl<M> fmt::Debug for Migrate<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrate")
            .field("draft", &self.draft)
            .field("batch", &self.batch)
            .field("is_dry", &self.is_dry)
            .finish_non_exhaustive()
    }
}

fn failure(target: &Target, error: Error) -> (Bson, Error) {
    let error = target.explain(error, "find");
    (error.id().cloned().unwrap_or(Bson::Null), error)
}

/// The writes that replace documents which are still what was read, past what the model declares of writes: this is no
/// change of the documents' meaning. What is copied of them, though, follows.
#[derive(Default)]
pub(super) struct Replacements {
    statements: Vec<WriteStatement>,
    ids: Vec<RawBson>,
    /// What marks the documents whose copies are to follow.
    token: Option<ObjectId>,
}

impl Replacements {
    pub(super) fn push(
        &mut self,
        target: &Target,
        stored: &RawDocument,
        mut upgraded: RawDocumentBuf,
    ) -> Result<()> {
        if let Some(derived) = derived(target) {
            upgraded = derived.renewed(upgraded, target.executor().now())?;
        }
        if copied(target).is_some_and(|copied| copied.differs(stored, &upgraded)) {
            let token = *self.token.get_or_insert_with(ObjectId::new);
            upgraded = with_field(&upgraded, PENDING, RawBson::ObjectId(token))?;
        }
        let unchanged = Unchanged::new(stored)?;
        let id = upgraded.get("_id").ok().flatten();
        self.ids.push(id.map_or(RawBson::Null, RawBson::from));
        self.statements.push(WriteStatement::Update(UpdateStatement {
            filter: unchanged.filter,
            modification: Modification::Replacement(upgraded).with_any_names(),
            multi: false,
            upsert: false,
            array_filters: Vec::new(),
            hint: None,
            collation: unchanged.collation,
        }));
        Ok(())
    }

    /// How many documents were still as read.
    pub(super) async fn write(self, target: &Target, failed: &mut Vec<(Bson, Error)>) -> Result<u64> {
        if self.statements.is_empty() {
            return Ok(0);
        }
        let operation = Operation::BulkWrite(BulkWrite {
            namespace: target.namespace().clone(),
            statements: self.statements,
            ordered: false,
            options: ReadOptions::default(),
        });
        let result = target.execute(operation).await?.write()?;
        for (index, error) in result.errors {
            let id = self.ids.get(index).cloned().map(Bson::try_from);
            let id = id.and_then(|id| id.ok()).unwrap_or(Bson::Null);
            failed.push((id.clone(), target.explain(error.with_id(id), "bulkWrite")));
        }
        if let (Some(copied), Some(token)) = (copied(target), self.token) {
            let ids: RawArrayBuf = self.ids.into_iter().collect();
            let marked = rawdoc! { "_id": { "$in": ids }, "copies_pending": token };
            copied.follow_reshaped(target, marked).await?;
        }
        Ok(result.summary.matched)
    }
}

/// What is made of other fields of the documents.
fn derived(target: &Target) -> Option<&'static DerivedFields> {
    target.plan().and_then(|plan| plan.derived.as_ref())
}

/// The copies that follow the documents.
fn copied(target: &Target) -> Option<&'static Copied> {
    target.plan().and_then(|plan| lifecycle::copied(plan, target))
}

/// Brings one document into its present shape, if it is still what was read.
pub(crate) async fn migrate_one(
    target: &Target,
    stored: &RawDocument,
    upgraded: RawDocumentBuf,
) -> Result<bool> {
    let mut failed = Vec::new();
    let mut replacements = Replacements::default();
    let pushed = replacements.push(target, stored, upgraded);
    pushed.map_err(|error| target.explain(with_id(error, stored), "update"))?;
    let matched = replacements.write(target, &mut failed).await?;
    match failed.pop() {
        Some((_, error)) => Err(error),
        None => Ok(matched == 1),
    }
}
