//! A new database that is nobody's until it is whole.
//!
//! It is written in a directory beside the one it is meant for, in a file of another name, synced, closed, and
//! then moved to its place by one rename: whatever ends the process, what is found there is nothing or all.
//! It has an id of its own and no log: one that is put beside it is another database's, and refused.

use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;

use super::directory::{create_directory, open_file, sync_directory};
use super::fault::{closed, io_fault, opening};
use super::{FILE_NAME, FileStore};
use crate::native::fault::{Class, Fault, Result, code};

/// The name of the file while it is written.
const PARTIAL_NAME: &str = "odm.db.partial";

/// Held while the directory is written to.
const LOCK_NAME: &str = "lock";

const CACHE_BYTES: usize = 64 * 1024 * 1024;

/// A database that is being written.
#[derive(Debug)]
pub(crate) struct Aside {
    target: PathBuf,
    directory: PathBuf,
    _lock: File,
    store: Option<FileStore>,
    /// The directory has its place; one of the same name would be somebody else's.
    moved: bool,
}

impl Aside {
    /// Begins a database that is meant for the directory `target`, which must be missing or empty.
    ///
    /// What an earlier attempt left that did not come to its end is removed.
    ///
    /// # Errors
    /// Code 2 when the target is not empty or no directory; class `Locked` while another process, or another
    /// task, writes to the same target; `Io`.
    pub(crate) fn begin(target: &Path) -> Result<Aside> {
        let target = resolved(target)?;
        let Some(name) = target.file_name() else {
            return Err(refused(&target, "is no name for a directory"));
        };
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        create_directory(parent).map_err(|error| io_fault("cannot create the directory", &error))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let directory = parent.join(hidden);
        create_directory(&directory).map_err(|error| io_fault("cannot create the directory", &error))?;
        let lock = lock(&directory)?;
        let mut aside = Aside {
            target,
            directory,
            _lock: lock,
            store: None,
            moved: false,
        };
        aside
            .clear()
            .map_err(|error| io_fault("cannot remove what an earlier attempt left", &error))?;
        let file = open_file(&aside.directory.join(PARTIAL_NAME))
            .map_err(|error| io_fault("cannot make the new database", &error))?;
        let file = FileBackend::new(file).map_err(opening)?;
        aside.store = Some(FileStore::alone(Box::new(file), CACHE_BYTES)?);
        Ok(aside)
    }

    /// The store to write to.
    ///
    /// # Errors
    /// None while the database is not finished.
    pub(crate) fn store(&self) -> Result<&FileStore> {
        self.store.as_ref().ok_or_else(closed)
    }

    /// Closes the database and moves it to its place; gives the size of its file.
    ///
    /// # Errors
    /// Class `Io`: there is nothing in its place then, unless only the last sync failed.
    pub(crate) fn finish(mut self) -> Result<u64> {
        if let Some(store) = self.store.take() {
            store.close()?;
        }
        self.publish()
            .map_err(|error| io_fault("cannot put the new database in its place", &error))
    }

    fn publish(&mut self) -> io::Result<u64> {
        let partial = self.directory.join(PARTIAL_NAME);
        let file = OpenOptions::new().read(true).write(true).open(&partial)?;
        file.sync_all()?;
        let size = file.metadata()?.len();
        drop(file);
        std::fs::rename(&partial, self.directory.join(FILE_NAME))?;
        std::fs::remove_file(self.directory.join(LOCK_NAME))?;
        sync_directory(&self.directory)?;
        if cfg!(not(unix)) && self.target.exists() {
            // Elsewhere a rename does not replace an empty directory; one that is not empty stays.
            std::fs::remove_dir(&self.target)?;
        }
        std::fs::rename(&self.directory, &self.target)?;
        self.moved = true;
        sync_directory(&self.target)?;
        Ok(size)
    }

    fn clear(&self) -> io::Result<()> {
        for name in [PARTIAL_NAME, FILE_NAME] {
            match std::fs::remove_file(self.directory.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        drop(self.store.take());
        // What stays is removed by the next attempt.
        if !self.moved && self.clear().is_ok() {
            let _ = std::fs::remove_file(self.directory.join(LOCK_NAME));
            let _ = std::fs::remove_dir(&self.directory);
        }
    }
}

/// The directory without links, when it is there; it must be empty then.
fn resolved(target: &Path) -> Result<PathBuf> {
    let failed = |error: io::Error| io_fault("cannot look at the directory", &error);
    match target.canonicalize() {
        Ok(found) if !found.is_dir() => Err(refused(&found, "is not a directory")),
        Ok(found) => match std::fs::read_dir(&found).map_err(failed)?.next() {
            None => Ok(found),
            Some(_) => Err(refused(&found, "is not empty")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(target.to_owned()),
        Err(error) => Err(failed(error)),
    }
}

fn lock(directory: &Path) -> Result<File> {
    let failed = |error: io::Error| io_fault("cannot lock the directory", &error);
    let file = open_file(&directory.join(LOCK_NAME)).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Fault::of(
            Class::Locked,
            code::INTERNAL,
            format!("a database is being written to {} already", directory.display()),
        )),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn refused(target: &Path, why: &str) -> Fault {
    Fault::new(code::BAD_VALUE, format!("the target {} {why}", target.display()))
}
