//! Nearness in a filter: where it may stand, and how near a document is.

use std::sync::Arc;

use super::super::document::{Doc, Value};
use super::super::fault::{Fault, Result};
use super::super::geo::Hit;
use super::ast::{NearField, Node, Predicate, Segment};
use super::parse::bad;

/// The server's code for nearness where documents do not come in its order.
const NOT_ALLOWED: i32 = 5_626_500;

/// The refusal of nearness where documents do not come in its order.
pub(crate) fn not_allowed() -> Fault {
    Fault::new(
        NOT_ALLOWED,
        "$geoNear, $near, and $nearSphere are not allowed in this context",
    )
}

/// The refusal of nearness inside another condition.
pub(super) fn not_on_top() -> Fault {
    bad("geo $near must be top-level expr")
}

/// Nearness has to hold for all documents: it stands at the top, and once.
pub(super) fn check(root: &Node) -> Result<()> {
    let on_top = match root {
        Node::Near(_) => 1,
        Node::And(nodes) => nodes.iter().filter(|node| matches!(node, Node::Near(_))).count(),
        _ => 0,
    };
    match (count(root), on_top) {
        (all, on_top) if all > on_top => Err(not_on_top()),
        (_, 0 | 1) => Ok(()),
        _ => Err(bad("Too many geoNear expressions")),
    }
}

fn count(node: &Node) -> usize {
    match node {
        Node::Near(_) => 1,
        Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().map(count).sum(),
        Node::Field { predicate, .. } => count_in(predicate),
        _ => 0,
    }
}

fn count_in(predicate: &Predicate) -> usize {
    match predicate {
        Predicate::ElementObject(node) => count(node),
        Predicate::Not(inner) => count_in(inner),
        Predicate::And(inner) | Predicate::ElementValue(inner) => inner.iter().map(count_in).sum(),
        _ => 0,
    }
}

/// The nearness at the top of a filter.
pub(crate) fn of(root: &Node) -> Option<&NearField> {
    match root {
        Node::Near(near) => Some(near),
        Node::And(nodes) => nodes.iter().find_map(|node| match node {
            Node::Near(near) => Some(near),
            _ => None,
        }),
        _ => None,
    }
}

/// The same with a lesser distance.
pub(super) fn within(root: &Node, distance: f64) -> Node {
    match root {
        Node::Near(field) => Node::Near(NearField {
            near: Arc::new(field.near.within(distance)),
            ..field.clone()
        }),
        Node::And(nodes) => Node::And(nodes.iter().map(|node| within(node, distance)).collect()),
        other => other.clone(),
    }
}

impl NearField {
    /// How near a document is; `None` when it has no geometry there or is too near or too far.
    pub(crate) fn hit(&self, doc: Doc<'_>) -> Option<Hit> {
        let mut values = Vec::new();
        collect(Value::Document(doc), self.path.segments(), &mut values);
        self.near.of_values(values.into_iter())
    }
}

/// The values at a path. Arrays on the way are entered, one at its end is a value.
pub(crate) fn collect<'a>(value: Value<'a>, path: &[Segment], found: &mut Vec<Value<'a>>) {
    let Some((first, rest)) = path.split_first() else {
        found.push(value);
        return;
    };
    match value {
        Value::Document(doc) => {
            if let Some(next) = doc.get(&first.name) {
                collect(next, rest, found);
            }
        }
        Value::Array(items) => match first.index.and_then(|index| items.at(index)) {
            Some(item) => collect(item, rest, found),
            None => items
                .values()
                .filter(|item| matches!(item, Value::Document(_)))
                .for_each(|item| collect(item, path, found)),
        },
        _ => {}
    }
}
