//! Aggregation expressions.

use super::super::document::{Doc, Owned, Value};
use super::super::fault::Result;

/// A parsed expression.
#[derive(Clone, Debug)]
pub(crate) struct Expression {}

/// The variables an expression sees.
#[derive(Clone, Debug)]
pub(crate) struct Scope<'a> {
    /// `$$ROOT`, and `$$CURRENT` unless rebound.
    pub(crate) root: Doc<'a>,
    /// Other variables by name, innermost last.
    pub(crate) variables: Vec<(String, Option<Owned>)>,
    /// `$$NOW`, milliseconds since the epoch.
    pub(crate) now: i64,
}

impl Expression {
    /// Parses an expression; `variables` are the names defined outside (by `let`).
    pub(crate) fn parse(value: &Value<'_>, variables: &[String]) -> Result<Expression> {
        let _ = (value, variables);
        Ok(Expression {})
    }

    /// Evaluates it; `None` is a missing value.
    pub(crate) fn evaluate(&self, scope: &Scope<'_>) -> Result<Option<Owned>> {
        let _ = scope;
        Ok(None)
    }
}
