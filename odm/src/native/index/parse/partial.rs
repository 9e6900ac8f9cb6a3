//! Partial filters.

mod written;

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::ast::{FieldPath, Node, Predicate};
use super::super::super::matcher::{Matcher, names, near, never};
use super::{Origin, cannot, context};

/// The code of what is no filter for an index.
const QUERY_FEATURE_NOT_ALLOWED: i32 = 224;

/// A filter as it is written, and what it asks.
pub(super) struct Partial<'a> {
    pub(super) written: Doc<'a>,
    matcher: Matcher,
}

impl<'a> Partial<'a> {
    /// Parses it as a filter that may ask what documents alone answer.
    pub(super) fn read(written: Doc<'a>) -> Result<Partial<'a>> {
        if names(written, "$where") {
            return Err(not_here("$where", code::BAD_VALUE));
        }
        for name in ["$jsonSchema", "$expr"] {
            if names(written, name) {
                return Err(not_here(name, QUERY_FEATURE_NOT_ALLOWED));
            }
        }
        let matcher = Matcher::parse(written)?;
        refuse_searches(matcher.root())?;
        Ok(Partial { written, matcher })
    }

    /// What it asks, where it may be the filter of an index. Faults of what it says show the specification as it is
    /// written, others as it is settled.
    pub(super) fn accepted(
        self,
        (spec, settled): (Doc<'_>, Doc<'_>),
        sparse: bool,
        collation: &Collation,
        origin: Origin,
    ) -> Result<Matcher> {
        let filter = self.written;
        let settled = |fault: Fault| fault.prefixed(&context(settled));
        if sparse {
            return Err(settled(cannot(
                "cannot mix \"partialFilterExpression\" and \"sparse\" options",
            )));
        }
        if origin.is_given() && never::is_never(filter) {
            return Err(settled(not_in_partial("$alwaysFalse: 1\n")));
        }
        check_partial(self.matcher.root()).map_err(|fault| match fault.code() {
            code::CANNOT_CREATE_INDEX => settled(match written::refused(filter) {
                Some(what) => not_in_partial(&what),
                None => fault,
            }),
            _ => fault.prefixed(&context(spec)),
        })?;
        if origin.is_given() {
            if names(filter, "$alwaysTrue") {
                return Err(settled(not_in_partial("$alwaysTrue: 1\n")));
            }
            if depth(filter) > DEEPEST {
                return Err(settled(cannot("partialFilterExpression depth may not exceed 4")));
            }
        }
        Ok(self.matcher.collated(collation))
    }
}

/// Refuses what is answered by an index.
fn refuse_searches(node: &Node) -> Result<()> {
    match node {
        Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().try_for_each(refuse_searches),
        Node::Near(_) => Err(near::not_allowed()),
        Node::Text(_) => Err(not_here("$text", code::BAD_VALUE)),
        _ => Ok(()),
    }
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
        Node::Field { path, predicate } => check_partial_predicate(path, predicate),
        Node::Nor(_) => Err(not_in_partial(&node.subtree())),
        Node::Expr(_) => Err(not_here("$expr", QUERY_FEATURE_NOT_ALLOWED)),
        Node::Schema(_) => Err(not_here("$jsonSchema", QUERY_FEATURE_NOT_ALLOWED)),
        Node::Never => Err(not_in_partial(&node.subtree())),
        Node::Sample(_) => Err(not_in_partial(&node.subtree())),
        Node::Near(_) => Err(near::not_allowed()),
        Node::Text(_) => Err(not_here("$text", code::BAD_VALUE)),
    }
}

fn not_here(name: &str, number: i32) -> Fault {
    Fault::new(number, format!("{name} is not allowed in this context"))
}

fn check_partial_predicate(path: &FieldPath, predicate: &Predicate) -> Result<()> {
    let refused = |predicate: Predicate| {
        let node = Node::Field {
            path: path.clone(),
            predicate,
        };
        Err(not_in_partial(&node.subtree()))
    };
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
        Predicate::And(predicates) => predicates
            .iter()
            .try_for_each(|predicate| check_partial_predicate(path, predicate)),
        Predicate::Collated { inner, .. } => check_partial_predicate(path, inner),
        // What a `$not` holds is a list of conditions, if it is one.
        Predicate::Not(inner) => refused(match &**inner {
            Predicate::Equal(_)
            | Predicate::In { .. }
            | Predicate::Exists
            | Predicate::And(_)
            | Predicate::Regex(_) => predicate.clone(),
            only => Predicate::Not(Box::new(Predicate::And(vec![only.clone()]))),
        }),
        Predicate::Regex(_)
        | Predicate::ElementObject(_)
        | Predicate::ElementValue(_)
        | Predicate::Size(_)
        | Predicate::Mod { .. }
        | Predicate::Bits(_) => refused(predicate.clone()),
    }
}

fn not_in_partial(what: &str) -> Fault {
    cannot(format!("Expression not supported in partial index: {what}"))
}
