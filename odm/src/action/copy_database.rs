//! Copying a database to another one, on whatever backend.

mod documents;
mod inventory;
mod measurements;
mod plan;
mod report;
mod trial;
mod writer;

use std::collections::BTreeSet;
use std::fmt;

use bson::{Bson, doc};

use self::inventory::is_expiring;
use self::plan::{Planned, Step};
pub use self::report::{CopiedCollection, CopyReport};
use self::writer::Writer;
use super::raw_documents::Documents;
use super::setters::runs;
use crate::backend::{self, CreateIndexes, IndexSpec, ReadOptions};
use crate::codec::encode_untyped;
use crate::collection::Target;
use crate::db::{Db, Executor};
use crate::error::{Error, ErrorKind, Result};

/// Copies collections, with options, indexes and documents, and views to another database. See [`Db::copy_to`].
#[must_use = "an action does nothing until it is awaited"]
pub struct CopyDatabase {
    source: Db,
    target: Db,
    choice: Choice,
    existing: Existing,
    verify: bool,
    batch: u32,
    observer: Option<Observer>,
}

/// Is told what was copied so far.
type Observer = Box<dyn FnMut(&CopyReport) + Send>;

/// Which collections are copied.
#[derive(Clone, Debug)]
enum Choice {
    All,
    Only(BTreeSet<String>),
    Except(BTreeSet<String>),
}

/// What becomes of what the target has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existing {
    /// Documents are an error.
    Refuse,
    /// Documents are the beginning of those of the source.
    Resume,
    /// It is dropped.
    Drop,
}

impl CopyDatabase {
    pub(crate) fn new(source: &Db, target: &Db) -> CopyDatabase {
        CopyDatabase {
            source: source.clone(),
            target: target.clone(),
            choice: Choice::All,
            existing: Existing::Refuse,
            verify: false,
            batch: 1000,
            observer: None,
        }
    }

    /// Copies these collections and views alone. A name that the source does not have is an error of kind `NotFound`.
    /// Replaces what [`except`](CopyDatabase::except) said.
    pub fn only<I>(mut self, names: I) -> CopyDatabase
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.choice = Choice::Only(names.into_iter().map(Into::into).collect());
        self
    }

    /// Copies all collections and views but these. Replaces what [`only`](CopyDatabase::only) said.
    pub fn except<I>(mut self, names: I) -> CopyDatabase
    where
        I: IntoIterator,
        I::Item: Into<String>,
    {
        self.choice = Choice::Except(names.into_iter().map(Into::into).collect());
        self
    }

    /// Goes on with an earlier copy of the same source that did not come to its end, or does nothing where it did.
    ///
    /// The documents that a collection of the target has are read and compared with the first of the source's: they must
    /// be the same, and the others are inserted behind them. A collection whose documents differ is an error of kind
    /// `Conflict` that names the collection and the `_id`; nothing of it was changed then. Measurements of a time series
    /// are compared as a set, ordered by time. A collection whose documents expire gets its expiry when all is copied: one
    /// that has it, and documents, is taken to be complete.
    ///
    /// Replaces what [`drop_target`](CopyDatabase::drop_target) said.
    pub fn resume(mut self) -> CopyDatabase {
        self.existing = Existing::Resume;
        self
    }

    /// Drops the collections and views of the target whose names are among those to copy. Nothing is dropped before all
    /// other checks were made. Replaces what [`resume`](CopyDatabase::resume) said.
    pub fn drop_target(mut self) -> CopyDatabase {
        self.existing = Existing::Drop;
        self
    }

    /// Reads both sides once more when a collection is copied, and compares each document byte for byte, and the order.
    /// A difference is an error of kind `Conflict` that names the collection and the `_id`. Of measurements the order of
    /// their fields is not compared: a time series does not keep it.
    pub fn verify(mut self) -> CopyDatabase {
        self.verify = true;
        self
    }

    /// How many documents are read and written together at the most: 1,000 unless said otherwise. Fewer are where they
    /// have 16 MB.
    pub fn batch_size(mut self, documents: u32) -> CopyDatabase {
        self.batch = documents.max(1);
        self
    }

    /// Calls this after each batch that was written, and when a collection is done.
    pub fn on_progress(mut self, observer: impl FnMut(&CopyReport) + Send + 'static) -> CopyDatabase {
        self.observer = Some(Box::new(observer));
        self
    }

    async fn run(self) -> Result<CopyReport> {
        self.check_handles()?;
        let source = self.source.backend();
        let snapshot = match source.capabilities().lasting_snapshots {
            true => source.snapshot(self.source.name()).await?,
            false => None,
        };
        let is_snapshot = snapshot.is_some();
        let source = match snapshot {
            Some(backend) => Db::of(
                Executor {
                    backend,
                    guard: None,
                    clock: None,
                    tenancy: self.source.executor().tenancy.clone(),
                },
                self.source.name(),
            ),
            None => self.source.newest(),
        };
        let target = self.target.newest();
        let plan = plan::make(&source, &target, &self.choice, self.existing).await?;
        trial::run(&target, &plan).await?;
        let mut copy = Copy {
            source,
            target,
            verify: self.verify,
            batch: self.batch,
            observer: self.observer,
            report: CopyReport {
                collections: plan.iter().map(CopiedCollection::of).collect(),
                is_snapshot,
            },
        };
        copy.run(&plan).await?;
        Ok(copy.report)
    }

    /// What the two handles say by themselves.
    fn check_handles(&self) -> Result<()> {
        for db in [&self.source, &self.target] {
            db.check_whole("copy")?;
        }
        if self.source.in_transaction() || self.target.in_transaction() {
            let text = "a database is not copied inside a transaction";
            return Err(Error::new(ErrorKind::Unsupported, text).with_backend(self.target.backend_name()));
        }
        if self.source.shares_connection(&self.target) && self.source.name() == self.target.name() {
            return Err(plan::same(&self.target, None));
        }
        Ok(())
    }
}

runs!([] CopyDatabase => CopyReport);

impl fmt::Debug for CopyDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyDatabase")
            .field("source", &self.source)
            .field("target", &self.target)
            .field("choice", &self.choice)
            .field("existing", &self.existing)
            .field("verify", &self.verify)
            .field("batch", &self.batch)
            .finish_non_exhaustive()
    }
}

/// A copy under way.
struct Copy {
    source: Db,
    target: Db,
    verify: bool,
    batch: u32,
    observer: Option<Observer>,
    report: CopyReport,
}

impl Copy {
    /// Empty collections first, so that what cannot be created is known early; then their documents and indexes; then
    /// what makes documents expire, which says that all of them were copied; then views.
    async fn run(&mut self, plan: &[Planned]) -> Result<()> {
        for planned in plan {
            self.make_room(planned).await?;
        }
        for planned in plan.iter().filter(|planned| !planned.source.is_view()) {
            self.create(planned).await?;
        }
        for (at, planned) in plan.iter().enumerate() {
            if !planned.source.is_view() {
                self.fill(planned, at).await?;
            }
        }
        for (at, planned) in plan.iter().enumerate() {
            match planned.source.is_view() {
                true => self.create(planned).await?,
                false => self.let_expire(planned, at).await?,
            }
        }
        self.target.flush().await
    }

    fn sides(&self, planned: &Planned) -> (Target, Target) {
        let name = planned.source.name.as_str();
        (
            Target::untyped(&self.source, name),
            Target::untyped(&self.target, name),
        )
    }

    /// Drops what is to be dropped, and keeps documents from expiring while they are copied.
    async fn make_room(&mut self, planned: &Planned) -> Result<()> {
        let (_, target) = self.sides(planned);
        let namespace = target.namespace().clone();
        match &planned.step {
            Step::Replace => target
                .execute(backend::DropCollection { namespace }.into())
                .await?
                .done(),
            Step::Fill(existing) => {
                for index in existing.indexes.iter().filter(|index| is_expiring(index)) {
                    let index = index.get_str("name").unwrap_or_default().into();
                    let namespace = namespace.clone();
                    let drop = backend::DropIndexes { namespace, index };
                    target.execute(drop.into()).await?.done()?;
                }
                match existing.expires {
                    true => self.set_expiry(planned, "off".into()).await,
                    false => Ok(()),
                }
            }
            Step::Create | Step::Leave => Ok(()),
        }
    }

    async fn create(&mut self, planned: &Planned) -> Result<()> {
        if !matches!(planned.step, Step::Create | Step::Replace) {
            return Ok(());
        }
        let (_, target) = self.sides(planned);
        let create = backend::CreateCollection {
            namespace: target.namespace().clone(),
            options: encode_untyped(&planned.source.lasting_options())?,
        };
        target.execute(create.into()).await?.done()
    }

    /// Copies the documents of one collection, then builds its indexes.
    async fn fill(&mut self, planned: &Planned, at: usize) -> Result<()> {
        let (source, target) = self.sides(planned);
        if let Step::Leave = planned.step {
            let present = count(&target).await?;
            self.tell(at, |done| done.documents_skipped = present);
            return Ok(());
        }
        let batch = self.batch;
        let is_resumed = match &planned.step {
            Step::Fill(existing) => existing.has_documents,
            _ => false,
        };
        let mut writer = Writer::new(&target, planned.source.has_validator(), batch);
        match planned.source.time_field() {
            None => {
                let mut from = Documents::find(&source, batch).await?;
                if is_resumed {
                    let to = Documents::find(&target, batch).await?;
                    let present = documents::agreeing(&mut from, to, &target).await?;
                    self.tell(at, |done| done.documents_skipped = present);
                }
                while from.advance().await? {
                    let written = writer.push(from.current()?).await?;
                    self.wrote(at, written);
                }
            }
            Some(time) if is_resumed => {
                let mut both = measurements::Both::open(&source, &target, time, batch).await?;
                while let Some(missing) = both.next().await? {
                    for measurement in &missing {
                        let written = writer.push_measurement(measurement).await?;
                        self.wrote(at, written);
                    }
                }
                let present = both.agreeing();
                self.tell(at, |done| done.documents_skipped = present);
            }
            Some(_) => {
                let mut from = Documents::find(&source, batch).await?;
                while from.advance().await? {
                    let written = writer.push_measurement(from.current()?).await?;
                    self.wrote(at, written);
                }
            }
        }
        let written = writer.finish().await?;
        self.wrote(at, written);
        self.check(planned, at).await?;
        let lasting = planned.indexes.iter().filter(|index| !is_expiring(index));
        self.build(planned, lasting.cloned().collect(), at).await
    }

    /// Compares what there is now with what there was to copy.
    async fn check(&mut self, planned: &Planned, at: usize) -> Result<()> {
        let (source, target) = self.sides(planned);
        let found = count(&target).await?;
        let expected = self.report.collections.get(at).map_or(0, CopiedCollection::total);
        if found != expected {
            let text =
                "the target does not have as many documents as were copied: another program writes to it";
            return Err(about(ErrorKind::Conflict, text, &target)
                .with_note("copied", expected)
                .with_note("found", found));
        }
        if !self.verify {
            return Ok(());
        }
        match planned.source.time_field() {
            None => {
                let mut from = Documents::find(&source, self.batch).await?;
                let to = Documents::find(&target, self.batch).await?;
                documents::agreeing(&mut from, to, &target).await?;
                if from.advance().await? {
                    return Err(documents::differing(&target, Some(from.current()?)));
                }
            }
            Some(time) => {
                let mut both = measurements::Both::open(&source, &target, time, self.batch).await?;
                while let Some(missing) = both.next().await? {
                    if let Some(missing) = missing.first() {
                        return Err(documents::differing(&target, Some(missing)));
                    }
                }
            }
        }
        self.tell(at, |done| done.verified = true);
        Ok(())
    }

    /// Builds the indexes that the target does not have yet.
    async fn build(&mut self, planned: &Planned, indexes: Vec<bson::Document>, at: usize) -> Result<()> {
        let (_, target) = self.sides(planned);
        let asked = indexes.len() as u64;
        let kept = |index: &bson::Document| match &planned.step {
            // What makes documents expire was taken away before.
            Step::Fill(present) => present.has(index) && !is_expiring(index),
            _ => false,
        };
        let missing: Vec<_> = indexes.into_iter().filter(|index| !kept(index)).collect();
        let built = missing.len() as u64;
        if !missing.is_empty() {
            create_indexes(&target, &missing).await?;
        }
        self.tell(at, |done| {
            done.indexes += built;
            done.indexes_skipped += asked - built;
        });
        Ok(())
    }

    async fn let_expire(&mut self, planned: &Planned, at: usize) -> Result<()> {
        if let Step::Leave = planned.step {
            let indexes = planned.indexes.len() as u64;
            self.tell(at, |done| done.indexes_skipped = indexes);
            return Ok(());
        }
        let expiring = planned.indexes.iter().filter(|index| is_expiring(index));
        self.build(planned, expiring.cloned().collect(), at).await?;
        match planned.source.options.get("expireAfterSeconds") {
            Some(seconds) => self.set_expiry(planned, seconds.clone()).await,
            None => Ok(()),
        }
    }

    async fn set_expiry(&mut self, planned: &Planned, seconds: Bson) -> Result<()> {
        let (_, target) = self.sides(planned);
        let modify = backend::ModifyCollection {
            namespace: target.namespace().clone(),
            changes: encode_untyped(&doc! { "expireAfterSeconds": seconds })?,
        };
        target.execute(modify.into()).await?.document().map(drop)
    }

    fn wrote(&mut self, at: usize, documents: u64) {
        if documents > 0 {
            self.tell(at, |done| done.documents += documents);
        }
    }

    fn tell(&mut self, at: usize, change: impl FnOnce(&mut CopiedCollection)) {
        if let Some(done) = self.report.collections.get_mut(at) {
            change(done);
        }
        if let Some(observer) = &mut self.observer {
            observer(&self.report);
        }
    }
}

async fn create_indexes(target: &Target, indexes: &[bson::Document]) -> Result<()> {
    let indexes: Result<Vec<IndexSpec>> = indexes
        .iter()
        .map(|index| encode_untyped(index).map(IndexSpec))
        .collect();
    let namespace = target.namespace().clone();
    let create = CreateIndexes {
        namespace,
        indexes: indexes?,
    };
    target.execute(create.into()).await?.done()
}

async fn count(target: &Target) -> Result<u64> {
    let count = backend::Count {
        namespace: target.namespace().clone(),
        filter: bson::RawDocumentBuf::new(),
        skip: 0,
        limit: 0,
        estimated: false,
        options: ReadOptions::default(),
    };
    target.execute(count.into()).await?.count()
}

/// An error about a collection of the target.
fn about(kind: ErrorKind, text: &'static str, target: &Target) -> Error {
    Error::new(kind, text)
        .with_namespace(target.namespace().to_string())
        .with_backend(target.executor().backend.name())
}
