//! What the embedded engine says of its store and of itself.

use std::time::Duration;

use super::statistics::CollectionStatistics;
use crate::change::ResumeToken;

/// What [`Db::statistics`](crate::Db::statistics) gives.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DatabaseStatistics {
    /// The database, in the terms of MongoDB's `dbStats`.
    pub database: CollectionStatistics,
    /// The store of the embedded engine, with all its databases; none on MongoDB, whose command `serverStatus`
    /// has such figures in its own terms.
    pub store: Option<StoreStatistics>,
}

/// The figures of the embedded engine's store: of all its databases together.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct StoreStatistics {
    /// The file; none for `memory:`.
    pub file: Option<FileStatistics>,
    /// Commits since the database was opened.
    pub commits: u64,
    /// Operations and transactions in these commits.
    pub writes: u64,
    /// The most operations and transactions that shared a commit.
    pub largest_group: u64,
    /// Cursors, transactions and reads under way: how often a state of the past is held.
    pub readers: u64,
    /// How many states of the past are held. What was removed since the oldest takes its space until it goes.
    pub views: u64,
    /// The age of the oldest of them.
    pub oldest_view: Option<Duration>,
    /// Cursors that commands have left open between two `getMore`.
    pub command_cursors: u64,
    /// Running transactions.
    pub transactions: u64,
    /// The log of changes; none while nobody has watched.
    pub change_log: Option<ChangeLogStatistics>,
}

/// The figures of the store's file and its log. Those that count begin with 0 when the database is opened.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct FileStatistics {
    /// Bytes of the file.
    pub size: u64,
    /// Bytes of a page, without its checksum.
    pub page_size: u64,
    /// Pages of the file, used or free.
    pub pages: u64,
    /// What they are used for; only by [`Db::statistics`](crate::Db::statistics), which reads most of them.
    pub space: Option<SpaceStatistics>,
    /// Bytes of the log beside the file, used or not.
    pub log_size: Option<u64>,
    /// How often the operating system was asked to bring the file, or its log, to the disk.
    pub fsyncs: u64,
    /// Bytes written to both.
    pub bytes_written: u64,
    /// Bytes read from both: what was not in the cache.
    pub bytes_read: u64,
    /// The most bytes that cached pages take.
    pub cache_size: u64,
}

/// What the bytes of the file are used for. The rest of the file is free, or the store's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpaceStatistics {
    /// Keys and values.
    pub content: u64,
    /// What it takes to find them.
    pub overhead: u64,
    /// Room in pages that are in use.
    pub unfilled: u64,
    /// Pages that are free, or hold the store's own bookkeeping. [`Db::compact`](crate::Db::compact) gives most of
    /// this and of `unfilled` back.
    pub free: u64,
}

/// The window of changes that change streams can begin in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChangeLogStatistics {
    /// How many changes are kept.
    pub entries: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The oldest resume token that nothing is lost after.
    pub oldest: ResumeToken,
    /// The token after the newest change.
    pub newest: ResumeToken,
}

impl ChangeLogStatistics {
    /// The figures of a window between two tokens.
    pub fn new(entries: u64, bytes: u64, oldest: ResumeToken, newest: ResumeToken) -> Self {
        ChangeLogStatistics {
            entries,
            bytes,
            oldest,
            newest,
        }
    }
}

impl StoreStatistics {
    /// Operations and transactions per commit; 0 without commits.
    pub fn average_group(&self) -> f64 {
        match self.commits {
            0 => 0.0,
            commits => self.writes as f64 / commits as f64,
        }
    }
}
