//! Filters: parsed once, evaluated over borrowed documents.

use super::document::{Doc, Value};
use super::fault::Result;

/// A parsed filter.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {}

impl Matcher {
    /// Parses a filter document with MongoDB's rules and errors.
    pub(crate) fn parse(filter: Doc<'_>) -> Result<Matcher> {
        let _ = filter;
        Ok(Matcher {})
    }

    /// Whether the document matches.
    pub(crate) fn matches(&self, doc: Doc<'_>) -> Result<bool> {
        let _ = doc;
        Ok(true)
    }

    /// Whether the document matches, and at which index of an array (for the positional `$`).
    pub(crate) fn matches_at(&self, doc: Doc<'_>) -> Result<Option<Option<usize>>> {
        let _ = doc;
        Ok(Some(None))
    }

    /// Whether a bare value (an array element) matches; for `$pull` and array filters.
    pub(crate) fn matches_value(&self, value: &Value<'_>) -> Result<bool> {
        let _ = value;
        Ok(true)
    }
}
