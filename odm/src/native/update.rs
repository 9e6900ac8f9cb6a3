//! Updates: parsed once, applied to one document at a time.
use super::document::Doc;
use super::fault::{Fault, Result};

/// The time that all parts of an operation agree on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) millis: i64,
    pub(crate) timestamp: (u32, u32),
}

/// A parsed update.
#[derive(Clone, Debug)]
pub(crate) struct Updater {}

impl Updater {
    pub(crate) fn operators(_update: Doc<'_>, _filters: &[Doc<'_>]) -> Result<Updater> {
        Err(Fault::unsupported("updates"))
    }
    pub(crate) fn replacement(_document: Doc<'_>) -> Result<Updater> {
        Err(Fault::unsupported("updates"))
    }
    pub(crate) fn pipeline(_stages: &[Doc<'_>], _variables: Option<Doc<'_>>) -> Result<Updater> {
        Err(Fault::unsupported("updates"))
    }
    pub(crate) fn needs_position(&self) -> bool {
        false
    }
    pub(crate) fn apply(&self, _doc: Doc<'_>, _matched: Option<usize>, _now: Now) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    pub(crate) fn upsert(&self, _filter: Doc<'_>, _now: Now) -> Result<Vec<u8>> {
        Err(Fault::unsupported("updates"))
    }
}

/// A document as it is stored.
pub(crate) fn prepare_insert(doc: Doc<'_>, _now: Now) -> Result<Vec<u8>> {
    Ok(doc.to_bytes())
}
