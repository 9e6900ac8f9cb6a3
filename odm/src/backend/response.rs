//! What a backend answers.

use bson::{RawBson, RawDocumentBuf};

use super::backup::BackupReport;
use super::check::CheckReport;
use super::compaction::CompactReport;
use super::cursor::BatchCursor;
use super::repair::RepairReport;
use super::statistics::CollectionStatistics;
use super::store::StoreStatistics;
use crate::error::Error;

/// The answer to an [`Operation`](super::Operation).
#[derive(Debug)]
#[non_exhaustive]
pub enum Response {
    /// Nothing to say but success.
    Done,
    /// The outcome of writes.
    Write(WriteResult),
    /// Documents, batch by batch.
    Cursor(Box<dyn BatchCursor>),
    /// One document, or none.
    Document(Option<RawDocumentBuf>),
    /// A short list of documents.
    Documents(Vec<RawDocumentBuf>),
    /// A number of documents.
    Count(u64),
    /// Distinct values.
    Values(Vec<RawBson>),
    /// How much is held.
    Statistics(CollectionStatistics),
    /// What a check found.
    Check(CheckReport),
    /// What a repair found and did.
    Repair(RepairReport),
    /// What a backup holds.
    Backup(BackupReport),
    /// What a compaction gave back.
    Compact(CompactReport),
    /// The figures of the store.
    Store(Box<StoreStatistics>),
}

/// The outcome of a batch of writes. Statements that failed are in `errors`; the others took effect.
#[derive(Clone, Debug, Default)]
pub struct WriteResult {
    /// What happened in all.
    pub summary: WriteSummary,
    /// The `_id` of each upserted document, with the index of its statement.
    pub upserted: Vec<(usize, RawBson)>,
    /// The statements that failed, with their indexes. With `ordered`, at most one, and none after it ran.
    pub errors: Vec<(usize, Error)>,
    /// That the writes which took effect did so on fewer members than their write concern wants. Kind
    /// [`InDoubt`](crate::ErrorKind::InDoubt): a failover may take them back.
    pub concern: Option<Error>,
}

/// Counts of a batch of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteSummary {
    /// Documents inserted, not counting upserts.
    pub inserted: u64,
    /// Documents that matched an update.
    pub matched: u64,
    /// Documents that an update changed.
    pub modified: u64,
    /// Documents that an update inserted.
    pub upserted: u64,
    /// Documents deleted.
    pub deleted: u64,
}
