//! The directory of a database and its files: for their owner only, and there after a power loss.

use std::fmt::Debug;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use redb::StorageBackend;
use redb::backends::{FileBackend, InMemoryBackend};

use crate::native::storage::shadow::ReadOnly;

/// What tells a file from another one that gets its name: its device and number, where the system has such.
pub(crate) type Identity = Option<(u64, u64)>;

/// Where the files of a database are, by name.
pub(crate) trait Place: Debug + Send + Sync {
    /// Opens a file; makes it when there is none.
    fn open(&self, name: &str) -> io::Result<(Box<dyn StorageBackend>, Identity)>;

    /// The file that has the name now.
    fn identity(&self, name: &str) -> Identity;

    /// Gives a file the name of another one, which has none then. Whoever has that one open keeps it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file, if it is there.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes the names durable.
    fn sync(&self) -> io::Result<()>;
}

/// A directory of the file system.
#[derive(Debug)]
pub(super) struct Directory(pub(super) PathBuf);

impl Place for Directory {
    fn open(&self, name: &str) -> io::Result<(Box<dyn StorageBackend>, Identity)> {
        let file = open_file(&self.0.join(name))?;
        let identity = file.metadata().ok().and_then(|found| identity(&found));
        let backend = FileBackend::new(file).map_err(io::Error::other)?;
        Ok((Box::new(backend), identity))
    }

    fn identity(&self, name: &str) -> Identity {
        identity(&std::fs::metadata(self.0.join(name)).ok()?)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.0.join(from), self.0.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match std::fs::remove_file(self.0.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn sync(&self) -> io::Result<()> {
        sync_directory(&self.0)
    }
}

/// A directory whose files are read, and in which nothing is changed.
#[derive(Debug)]
pub(super) struct ReadOnlyDirectory(pub(super) PathBuf);

impl Place for ReadOnlyDirectory {
    fn open(&self, name: &str) -> io::Result<(Box<dyn StorageBackend>, Identity)> {
        let file = match File::open(self.0.join(name)) {
            Ok(file) => file,
            // A database that was copied may have come without its log.
            Err(error) if error.kind() == io::ErrorKind::NotFound && name == super::LOG_FILE_NAME => {
                return Ok((Box::new(InMemoryBackend::new()), None));
            }
            Err(error) => return Err(error),
        };
        let identity = file.metadata().ok().and_then(|found| identity(&found));
        let backend = FileBackend::new(file).map_err(io::Error::other)?;
        Ok((Box::new(ReadOnly::new(Box::new(backend))), identity))
    }

    fn identity(&self, name: &str) -> Identity {
        identity(&std::fs::metadata(self.0.join(name)).ok()?)
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn create_directory(directory: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

pub(super) fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(unix)]
fn identity(found: &Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Identity {
    None
}

#[cfg(unix)]
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()?;
    match directory.canonicalize()?.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
pub(super) fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
