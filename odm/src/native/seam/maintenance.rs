//! Operations on the whole store, each on a thread of its own: they read everything.

use std::ops::ControlFlow;
use std::sync::Arc;

use bson::Bson;
use futures_channel::oneshot;

use super::super::command::Cursors;
use super::super::document::Owned;
use super::super::engine::{Copied, Done, Engine, Finding, RepairScope, Statistics, Window, Wrong};
use super::super::exec::watch::{Place, Point};
use super::super::fault::{Class, Fault, Result as Outcomes, code};
use super::super::storage::format::ChangeKey;
use super::response::{check_report, raw_bson};
use crate::backend::{
    self, BackupProgress, BackupReport, ChangeLogStatistics, CompactReport, FileStatistics, RepairAction,
    RepairFinding, RepairProblem, RepairReport, Response, SpaceStatistics, StoreStatistics,
};
use crate::change::ResumeToken;

/// What is to be done with the store.
#[derive(Debug)]
pub(super) enum Maintenance {
    Repair(backend::Repair),
    Backup(backend::Backup),
    Compact,
    Flush,
    Measure(backend::MeasureStore),
}

impl Maintenance {
    pub(super) async fn run(self, engine: Arc<Engine>, cursors: Arc<Cursors>) -> Outcomes<Response> {
        match self {
            Maintenance::Repair(asked) => repair(engine, asked).await,
            Maintenance::Backup(asked) => backup(engine, asked).await,
            Maintenance::Compact => {
                let compacted = apart(engine, "odm-compact", |engine, _| engine.compact()).await?;
                let mut report = CompactReport::default();
                report.bytes_before = compacted.before;
                report.bytes_after = compacted.after;
                Ok(Response::Compact(report))
            }
            Maintenance::Flush => {
                apart(engine, "odm-flush", |engine, _| engine.flush()).await?;
                Ok(Response::Done)
            }
            Maintenance::Measure(asked) => {
                let measure = move |engine: &Engine, _: &dyn Fn() -> bool| engine.statistics(asked.space);
                let found = apart(engine, "odm-measure", measure).await?;
                let mut own = measured(found)?;
                own.command_cursors = cursors.count() as u64;
                Ok(Response::Store(Box::new(own)))
            }
        }
    }
}

/// Checks the whole store.
pub(super) async fn check(engine: Arc<Engine>, database: Option<String>) -> Outcomes<Response> {
    let report = apart(engine, "odm-check", |engine, _| engine.check()).await?;
    Ok(Response::Check(check_report(report, database.as_deref())))
}

async fn repair(engine: Arc<Engine>, asked: backend::Repair) -> Outcomes<Response> {
    let dry_run = asked.dry_run;
    let scope = RepairScope {
        database: asked.database,
        collection: asked.collection,
        dry_run,
    };
    let run = move |engine: &Engine, wanted: &dyn Fn() -> bool| engine.repair(&scope, &mut || wanted());
    let found = apart(engine, "odm-repair", run).await?;
    let mut report = RepairReport::default();
    report.dry_run = dry_run;
    report.collections = found.collections;
    report.documents = found.records;
    report.index_entries = found.index_entries;
    report.unlisted = found.unlisted;
    report.left = found.left;
    report.findings = found.findings.into_iter().map(finding).collect();
    Ok(Response::Repair(report))
}

async fn backup(engine: Arc<Engine>, asked: backend::Backup) -> Outcomes<Response> {
    let run = move |engine: &Engine, wanted: &dyn Fn() -> bool| {
        engine.backup(&asked.directory, asked.damaged_too, &mut |copied| {
            if let Some(observer) = &asked.observer {
                observer.tell(progress(copied));
            }
            match wanted() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })
    };
    let copied = apart(engine, "odm-backup", run).await?;
    let mut report = BackupReport::default();
    report.collections = copied.collections;
    report.documents = copied.records;
    report.index_entries = copied.index_entries;
    report.changes = copied.changes;
    report.file_bytes = copied.file_bytes;
    report.damaged = copied.damaged;
    Ok(Response::Backup(report))
}

/// Runs `body` on a thread of its own; it can ask whether its result is still wanted.
async fn apart<T, F>(engine: Arc<Engine>, name: &str, body: F) -> Outcomes<T>
where
    T: Send + 'static,
    F: FnOnce(&Engine, &dyn Fn() -> bool) -> Outcomes<T> + Send + 'static,
{
    let (send, receive) = oneshot::channel();
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        let result = body(&engine, &|| !send.is_canceled());
        // Whoever gets the result may close the database and open it again.
        drop(engine);
        // Nobody listens any more when the caller gave up.
        let _ = send.send(result);
    });
    let failed = || Fault::of(Class::Io, code::INTERNAL, "no thread could be started for it");
    spawned.map_err(|_| failed())?;
    receive.await.map_err(|_| {
        Fault::of(
            Class::Io,
            code::INTERNAL,
            "the thread that did it ended with a panic",
        )
    })?
}

fn progress(copied: &Copied) -> BackupProgress {
    let mut progress = BackupProgress::default();
    progress.collections = copied.collections;
    progress.of_collections = copied.of_collections;
    progress.documents = copied.records;
    progress.index_entries = copied.index_entries;
    progress.bytes = copied.bytes;
    progress
}

fn bson(value: &Owned) -> Option<Bson> {
    Bson::try_from(raw_bson(value).as_raw_bson_ref()).ok()
}

fn finding(found: Finding) -> RepairFinding {
    let problem = match found.wrong {
        Wrong::MissingEntry => RepairProblem::MissingEntry,
        Wrong::ExtraEntry => RepairProblem::ExtraEntry,
        Wrong::DamagedEntry => RepairProblem::DamagedEntry,
        Wrong::MultikeyFlags => RepairProblem::MultikeyFlags,
        Wrong::Count => RepairProblem::Count,
        Wrong::UniqueClash(other) => RepairProblem::UniqueClash {
            other: other.as_ref().and_then(bson),
        },
        Wrong::DamagedRecord(reason) => RepairProblem::DamagedDocument { reason },
        Wrong::NotIndexable(reason) => RepairProblem::NotIndexable { reason },
        Wrong::UnusedTree(place) => RepairProblem::Unused { place },
        Wrong::Catalog(reason) => RepairProblem::Catalog { reason },
        Wrong::Changes(reason) => RepairProblem::ChangeLog { reason },
        Wrong::Store(reason) => RepairProblem::Store { reason },
    };
    let action = match found.done {
        Done::Added => RepairAction::Added,
        Done::Removed => RepairAction::Removed,
        Done::Rewritten => RepairAction::Rewritten,
        Done::Corrected => RepairAction::Corrected,
        Done::Left => RepairAction::Left,
    };
    let mut own = RepairFinding::new(problem, action);
    own.namespace = found.namespace;
    own.index = found.index;
    own.record = found.record;
    own.id = found.id.as_ref().and_then(bson);
    own
}

fn measured(found: Statistics) -> Outcomes<StoreStatistics> {
    let mut own = StoreStatistics::default();
    own.file = found.store.file.map(|file| {
        let mut own = FileStatistics::default();
        own.size = file.bytes;
        own.page_size = file.page_bytes;
        own.pages = file.pages;
        own.space = found.space.map(|space| {
            let mut own = SpaceStatistics::default();
            own.content = space.content;
            own.overhead = space.overhead;
            own.unfilled = space.unfilled;
            own.free = (file.pages * file.page_bytes)
                .saturating_sub(space.content + space.overhead + space.unfilled);
            own
        });
        own.log_size = found.store.log_bytes;
        own.fsyncs = file.syncs;
        own.bytes_written = file.written;
        own.bytes_read = file.read;
        own.cache_size = file.cache_bytes;
        own
    });
    own.commits = found.commits;
    own.writes = found.writes;
    own.largest_group = found.largest_group;
    own.readers = found.readers;
    own.views = found.views;
    own.oldest_view = found.oldest_view;
    own.transactions = found.transactions;
    own.change_log = found.changes.map(window).transpose()?;
    Ok(own)
}

fn window(found: Window) -> Outcomes<ChangeLogStatistics> {
    Ok(ChangeLogStatistics::new(
        found.entries,
        found.bytes,
        token(found.floor, found.log)?,
        token(found.last, found.log)?,
    ))
}

/// The token after all that was committed up to a place.
fn token(key: ChangeKey, log: [u8; 8]) -> Outcomes<ResumeToken> {
    let place = Place::Past;
    let token = super::request::document(Point { key, place, log }.token())?;
    ResumeToken::read(&token).map_err(|_| Fault::new(code::INTERNAL, "a token is no document"))
}
