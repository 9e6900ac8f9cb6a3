//! Copying a database while it is in use.

use std::path::PathBuf;

use super::setters::runs;
use crate::backend::{self, BackupObserver, BackupProgress, BackupReport};
use crate::db::Db;
use crate::error::Result;

/// Copies the engine's databases, as one commit left them, to a directory. See [`Db::backup`].
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct Backup {
    db: Db,
    operation: backend::Backup,
}

impl Backup {
    pub(crate) fn new(db: &Db, directory: PathBuf) -> Backup {
        Backup {
            db: db.clone(),
            operation: backend::Backup {
                directory,
                damaged_too: false,
                observer: None,
            },
        }
    }

    /// Is told how far the backup is, every few megabytes and at the end, on the thread that copies.
    pub fn on_progress(mut self, observer: impl Fn(BackupProgress) + Send + Sync + 'static) -> Backup {
        self.operation.observer = Some(BackupObserver::new(observer));
        self
    }

    /// Copies damaged documents and index entries as they are, and lists them in the report, instead of giving an
    /// error of kind `Corrupt`. They are as damaged in the backup. A damaged log of changes is left out.
    pub fn damaged_too(mut self) -> Backup {
        self.operation.damaged_too = true;
        self
    }

    async fn run(self) -> Result<BackupReport> {
        self.db.check_whole("backup")?;
        self.db.execute(self.operation.into()).await?.backup()
    }
}

runs!([] Backup => BackupReport);
