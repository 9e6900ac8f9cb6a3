//! Partial filters.

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::matcher::ast::{Node, Predicate};
use super::super::super::matcher::{Matcher, near};
use super::{Origin, cannot};

pub(super) fn parse_partial(
    filter: Doc<'_>,
    sparse: bool,
    collation: &Collation,
    origin: Origin,
) -> Result<Matcher> {
    let matcher = Matcher::parse(filter)?;
    check_partial(matcher.root())?;
    if origin.is_given() && names_truth(filter) {
        return Err(not_in_partial("$alwaysTrue"));
    }
    if sparse {
        return Err(cannot(
            "cannot mix \"partialFilterExpression\" and \"sparse\" options",
        ));
    }
    Ok(matcher.collated(collation))
}

/// Whether a filter has `$alwaysTrue`, which is not told from an empty one once it is parsed.
fn names_truth(filter: Doc<'_>) -> bool {
    filter
        .elements()
        .any(|element| match (element.name_str(), element.value()) {
            ("$alwaysTrue", _) => true,
            ("$and" | "$or", Value::Array(branches)) => branches
                .values()
                .any(|branch| branch.as_document().is_some_and(names_truth)),
            _ => false,
        })
}

/// What a partial filter may say: a document's membership has to follow from single values.
fn check_partial(node: &Node) -> Result<()> {
    match node {
        Node::Always => Ok(()),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().try_for_each(check_partial),
        Node::Field { predicate, .. } => check_partial_predicate(predicate),
        Node::Nor(_) => Err(not_in_partial("$nor")),
        Node::Expr(_) => Err(Fault::new(224, "$expr is not allowed in this context")),
        Node::Schema(_) => Err(not_in_partial("$jsonSchema")),
        Node::Never => Err(not_in_partial("$alwaysFalse")),
        Node::Sample(_) => Err(not_in_partial("$sampleRate")),
        Node::Near(_) => Err(near::not_allowed()),
        Node::Text(_) => Err(not_in_partial("$text")),
    }
}

fn check_partial_predicate(predicate: &Predicate) -> Result<()> {
    match predicate {
        Predicate::Equal(_)
        | Predicate::Less(_)
        | Predicate::LessOrEqual(_)
        | Predicate::Greater(_)
        | Predicate::GreaterOrEqual(_)
        | Predicate::In { .. }
        | Predicate::Exists
        | Predicate::Geo(_)
        | Predicate::Type(_) => Ok(()),
        Predicate::And(predicates) => predicates.iter().try_for_each(check_partial_predicate),
        Predicate::Collated { inner, .. } => check_partial_predicate(inner),
        Predicate::Regex(_) => Err(not_in_partial("regex")),
        Predicate::Not(_) => Err(not_in_partial("$not")),
        Predicate::ElementObject(_) | Predicate::ElementValue(_) => Err(not_in_partial("$elemMatch")),
        Predicate::Size(_) => Err(not_in_partial("$size")),
        Predicate::Mod { .. } => Err(not_in_partial("mod")),
        Predicate::Bits(_) => Err(not_in_partial("bit test")),
    }
}

fn not_in_partial(what: &str) -> Fault {
    cannot(format!("Expression not supported in partial index: {what}\n"))
}
