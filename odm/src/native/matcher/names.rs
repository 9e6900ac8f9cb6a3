//! What a filter names, before it is parsed.

use super::super::document::{Doc, Value};

/// Whether a filter has an operator at the top of it or of a branch; `$alwaysTrue` is not told from an empty filter once
/// it is parsed.
pub(crate) fn names(filter: Doc<'_>, operator: &str) -> bool {
    filter
        .elements()
        .any(|element| match (element.name_str(), element.value()) {
            (name, _) if name == operator => true,
            ("$and" | "$or", Value::Array(branches)) => branches
                .values()
                .any(|branch| branch.as_document().is_some_and(|branch| names(branch, operator))),
            _ => false,
        })
}
