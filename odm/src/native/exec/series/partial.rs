//! Which partial filters indexes of a time series may have: what can be asked of the bounds of a bucket.

use super::super::super::catalog::rules::Series;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::index::IndexDefinition;
use super::super::super::matcher::Matcher;
use super::super::super::matcher::ast::{Node, Predicate};

/// Refuses a filter that asks of measurements what their bounds do not say.
///
/// # Errors
/// Code 5916301; and those of a filter.
pub(super) fn check(series: &Series, filter: Doc<'_>) -> Result<()> {
    check_node(series, Matcher::parse(filter)?.root())
}

fn check_node(series: &Series, node: &Node) -> Result<()> {
    match node {
        Node::Always => Ok(()),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().try_for_each(|node| check_node(series, node)),
        Node::Field { path, .. } if series.is_of_meta(path.as_str()) => Ok(()),
        Node::Field { path, predicate } => check_predicate(path.as_str() == series.time, predicate),
        // What they are asked of does not matter: no index may have them.
        _ => Ok(()),
    }
}

fn check_predicate(is_time: bool, predicate: &Predicate) -> Result<()> {
    match predicate {
        Predicate::Equal(value)
        | Predicate::Less(value)
        | Predicate::LessOrEqual(value)
        | Predicate::Greater(value)
        | Predicate::GreaterOrEqual(value) => check_value(is_time, value),
        Predicate::In { values, patterns } if patterns.is_empty() => {
            values.iter().try_for_each(|value| check_value(is_time, value))
        }
        Predicate::And(parts) => parts.iter().try_for_each(|part| check_predicate(is_time, part)),
        Predicate::Collated { inner, .. } => check_predicate(is_time, inner),
        Predicate::Exists | Predicate::Geo(_) => Ok(()),
        _ => Err(cannot("can't handle this predicate")),
    }
}

fn check_value(is_time: bool, value: &Owned) -> Result<()> {
    match value.as_value() {
        Value::Document(_) | Value::Array(_) => Err(cannot("operand can't be an object or array")),
        Value::Null | Value::Undefined => Err(cannot("can't handle {$eq: null}")),
        Value::DateTime(_) => Ok(()),
        _ if is_time => Err(cannot(
            "This predicate will never be true, because the time field always contains a Date",
        )),
        _ => Ok(()),
    }
}

fn cannot(why: &str) -> Fault {
    Fault::new(
        5_916_301,
        format!("Error translating non-metadata time-series predicate to operate on buckets: {why}"),
    )
}

/// Whether a document may be in the index by its partial filter: an array that the filter asks for may have any bounds.
pub(super) fn may_have(definition: &IndexDefinition, doc: Doc<'_>) -> Result<bool> {
    let Some(partial) = &definition.partial else {
        return Ok(true);
    };
    Ok(partial.matches(doc)? || asks_for_array(partial.root(), doc))
}

fn asks_for_array(node: &Node, doc: Doc<'_>) -> bool {
    match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().any(|node| asks_for_array(node, doc)),
        Node::Field { path, .. } => {
            let name = path.as_str().split('.').next().unwrap_or_default();
            matches!(doc.get(name), Some(Value::Array(_)))
        }
        _ => false,
    }
}
