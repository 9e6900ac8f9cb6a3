//! Partial filters.

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::ast::{Node, Predicate};
use super::super::super::matcher::{Matcher, names, near};
use super::{Origin, cannot};

pub(super) fn parse_partial(
    filter: Doc<'_>,
    sparse: bool,
    collation: &Collation,
    origin: Origin,
) -> Result<Matcher> {
    if names(filter, "$where") {
        return Err(Fault::new(
            code::BAD_VALUE,
            "$where is not allowed in this context",
        ));
    }
    let matcher = Matcher::parse(filter)?;
    if matcher.has_schema() {
        return Err(schema_in_partial());
    }
    check_partial(matcher.root())?;
    if origin.is_given() {
        if names(filter, "$alwaysTrue") {
            return Err(not_in_partial("$alwaysTrue"));
        }
        if depth(filter) > DEEPEST {
            return Err(cannot("partialFilterExpression depth may not exceed 4"));
        }
    }
    if sparse {
        return Err(cannot(
            "cannot mix \"partialFilterExpression\" and \"sparse\" options",
        ));
    }
    Ok(matcher.collated(collation))
}

/// How many `$and` and `$or` may stand around a condition.
const DEEPEST: usize = 3;

/// How many `$and` and `$or` stand around the innermost condition: conditions beside each other make an `$and` too.
fn depth(filter: Doc<'_>) -> usize {
    let (mut conditions, mut deepest) = (0, 0);
    for element in filter.elements() {
        conditions += match (element.name_str(), element.value()) {
            ("$comment", _) => 0,
            ("$and" | "$or", Value::Array(branches)) => {
                let inner = branches
                    .values()
                    .filter_map(|branch| branch.as_document().map(depth));
                deepest = deepest.max(1 + inner.max().unwrap_or(0));
                1
            }
            (_, Value::Document(operators)) if is_operators(operators) => operators.count(),
            _ => 1,
        };
    }
    deepest + usize::from(conditions > 1)
}

fn is_operators(doc: Doc<'_>) -> bool {
    doc.elements()
        .next()
        .is_some_and(|element| element.name_str().starts_with('$'))
}

/// What a partial filter may say: a document's membership has to follow from single values.
fn check_partial(node: &Node) -> Result<()> {
    match node {
        Node::Always => Ok(()),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().try_for_each(check_partial),
        Node::Field { predicate, .. } => check_partial_predicate(predicate),
        Node::Nor(_) => Err(not_in_partial("$nor")),
        Node::Expr(_) => Err(Fault::new(224, "$expr is not allowed in this context")),
        Node::Schema(_) => Err(schema_in_partial()),
        Node::Never => Err(not_in_partial("$alwaysFalse")),
        Node::Sample(_) => Err(not_in_partial("$sampleRate")),
        Node::Near(_) => Err(near::not_allowed()),
        Node::Text(_) => Err(Fault::new(
            code::BAD_VALUE,
            "$text is not allowed in this context",
        )),
    }
}

fn schema_in_partial() -> Fault {
    Fault::new(224, "$jsonSchema is not allowed in this context")
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
