//! Filters: parsed once, evaluated over borrowed documents.

pub(crate) mod ast;
pub(crate) mod pattern;
pub(crate) mod schema;

use self::ast::Node;
use super::document::{Doc, Value};
use super::fault::Result;

/// A parsed filter.
#[derive(Clone, Debug)]
pub(crate) struct Matcher {
    root: Node,
}

impl Matcher {
    /// Parses a filter document with MongoDB's rules and errors.
    pub(crate) fn parse(filter: Doc<'_>) -> Result<Matcher> {
        let _ = filter;
        Ok(Matcher { root: Node::Always })
    }

    /// What the filter says. A filter of several conditions is one `And`, without an `And` inside.
    pub(crate) fn root(&self) -> &Node {
        &self.root
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

    /// Whether a bare value (an array element) matches: the first segment of each path stands for the value
    /// itself, whatever its name; for `$pull` (parse `{"": condition}`) and array filters.
    pub(crate) fn matches_value(&self, value: &Value<'_>) -> Result<bool> {
        let _ = value;
        Ok(true)
    }
}
