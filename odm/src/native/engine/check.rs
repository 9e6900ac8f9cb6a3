//! Looking at everything that is stored.

use crate::native::fault::Result;

use super::queue::Shared;

/// What a check looked at and found.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckReport {
    pub(crate) collections: u64,
    pub(crate) records: u64,
    pub(crate) index_entries: u64,
    pub(crate) problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    /// `database.collection`, or none for the store itself.
    pub(crate) namespace: Option<String>,
    pub(crate) message: String,
}

pub(super) fn check(shared: &Shared) -> Result<CheckReport> {
    let _ = shared;
    Ok(CheckReport::default())
}
