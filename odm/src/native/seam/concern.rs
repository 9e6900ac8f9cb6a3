//! The concerns that one member can satisfy.

use super::super::fault::{Fault, Result, code};
use crate::backend::{ReadConcern, WriteConcern};

/// The engine is one member, and has a journal when it has files.
pub(super) fn check(concern: WriteConcern, name: &str, of: &str) -> Result<()> {
    match concern.member_count() {
        Some(0) => Err(Fault::new(
            code::BAD_VALUE,
            format!("{of} do not support unacknowledged write concern"),
        )),
        Some(count) if count > 1 => Err(Fault::unsupported(format!(
            "the embedded engine is one member: {count} members cannot acknowledge a commit"
        ))),
        _ if concern.wants_journal() == Some(true) && !has_journal(name) => Err(Fault::unsupported(
            "a database in memory cannot put a commit on the disk",
        )),
        _ => Ok(()),
    }
}

/// Whether a commit can be put on the disk.
pub(super) fn has_journal(name: &str) -> bool {
    name != "memory"
}

/// Those that a transaction may have.
pub(super) fn check_level(level: ReadConcern) -> Result<()> {
    match level {
        ReadConcern::Local | ReadConcern::Majority | ReadConcern::Snapshot => Ok(()),
        ReadConcern::Available | ReadConcern::Linearizable => Err(Fault::new(
            code::INVALID_OPTIONS,
            "The readConcern level must be either 'local' (default), 'majority' or 'snapshot' in order to run in a transaction",
        )),
    }
}
