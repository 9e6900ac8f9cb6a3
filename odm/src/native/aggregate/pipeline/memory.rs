//! How many bytes a stage may hold, and what it says when it holds more.

use super::super::super::fault::{Fault, Result};

/// The bytes a stage may hold without `allowDiskUse`, and one array at all.
pub(crate) const MEMORY_LIMIT: usize = 100 * 1024 * 1024;

/// The bytes a stage may hold with `allowDiskUse`, where a server would go on in temporary files: this engine has
/// none.
const MEMORY_WITH_DISK: usize = 4 << 30;

/// How many bytes a stage may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    Usual,
    /// With `allowDiskUse`.
    WithDisk,
    /// For tests.
    #[cfg(test)]
    Bytes(usize),
}

impl Memory {
    /// The memory of a run that may use a disk, or may not.
    pub(crate) fn of(allow_disk_use: bool) -> Memory {
        match allow_disk_use {
            true => Memory::WithDisk,
            false => Memory::Usual,
        }
    }

    /// Refuses to hold more than is allowed.
    pub(crate) fn hold(self, bytes: usize, code: i32, message: &'static str) -> Result<()> {
        let most = match self {
            Memory::Usual => MEMORY_LIMIT,
            Memory::WithDisk => MEMORY_WITH_DISK,
            #[cfg(test)]
            Memory::Bytes(most) => most,
        };
        if bytes <= most {
            return Ok(());
        }
        Err(match self {
            Memory::WithDisk => Fault::new(
                code,
                format!(
                    "the stage holds more than {most} bytes, and the native engine has no temporary files"
                ),
            ),
            _ => Fault::new(code, message),
        })
    }
}

/// The code of a stage that holds more than it may.
pub(crate) const OVER_MEMORY: i32 = 292;

/// What a sort says of that.
pub(crate) const SORT_OVER_MEMORY: &str =
    "Sort exceeded memory limit of 104857600 bytes, but did not opt in to external sorting.";
