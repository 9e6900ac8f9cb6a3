//! What a backup did, and how far it is.

use std::fmt;
use std::sync::Arc;

/// How far a [backup](crate::Db::backup) is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupProgress {
    /// Collections, of all databases, that are copied.
    pub collections: u64,
    /// How many there are in all.
    pub of_collections: u64,
    /// Documents copied.
    pub documents: u64,
    /// Index entries copied.
    pub index_entries: u64,
    /// Bytes of keys and values copied.
    pub bytes: u64,
}

/// What a [backup](crate::Db::backup) holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BackupReport {
    /// Collections and views, of all databases.
    pub collections: u64,
    /// Documents.
    pub documents: u64,
    /// Index entries.
    pub index_entries: u64,
    /// Changes in the log that change streams read.
    pub changes: u64,
    /// The size of the backup's file.
    pub file_bytes: u64,
    /// Documents and index entries that were damaged and were copied as they are; only with
    /// [`damaged_too`](crate::action::Backup::damaged_too). Of very many the first thousand.
    pub damaged: Vec<String>,
}

/// Who is told how far a backup is.
#[derive(Clone)]
pub struct BackupObserver(Arc<dyn Fn(BackupProgress) + Send + Sync>);

impl BackupObserver {
    /// Tells a function, on the thread that copies.
    pub fn new(observer: impl Fn(BackupProgress) + Send + Sync + 'static) -> BackupObserver {
        BackupObserver(Arc::new(observer))
    }

    /// Tells it.
    pub fn tell(&self, progress: BackupProgress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for BackupObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BackupObserver")
    }
}
