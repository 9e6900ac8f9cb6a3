//! Operations on what is stored, whatever it says.

use std::path::PathBuf;

use crate::backend::backup::BackupObserver;

/// Cross-checks documents, checksums and indexes, and the store itself.
#[derive(Clone, Debug)]
pub struct Check {
    /// Of which database; all of them when absent.
    pub database: Option<String>,
}

/// Makes index entries, flags and counts what the documents say.
#[derive(Clone, Debug)]
pub struct Repair {
    /// Of which database; all of them when absent.
    pub database: Option<String>,
    /// Of which collection; all of the database when absent.
    pub collection: Option<String>,
    /// Whether to change nothing, and say what would be done.
    pub dry_run: bool,
}

/// Copies everything that one commit left to a directory, as a database of its own.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Where; missing or empty.
    pub directory: PathBuf,
    /// Whether what is damaged is copied as it is, instead of being an error.
    pub damaged_too: bool,
    /// Who is told how far it is.
    pub observer: Option<BackupObserver>,
}

/// Gives unused space of the file back to the file system.
#[derive(Clone, Copy, Debug)]
pub struct Compact;

/// Makes acknowledged writes durable that are not.
#[derive(Clone, Copy, Debug)]
pub struct Flush;

/// Asks for the figures of the store.
#[derive(Clone, Copy, Debug)]
pub struct MeasureStore {
    /// Whether to say what the file's space is used for, which reads most of it.
    pub space: bool,
}
