//! Wildcard indexes: what is found by the paths that they hold.

use super::super::collation::{Collation, has_text};
use super::super::document::{Kind, Owned, Value};
use super::super::index::Order;
use super::super::matcher::ast::{Node, Predicate};
use super::PlanRequest;
use super::bounds::{Bounds, Place, bounds};
use super::candidate::{Candidate, Conjunct};
use super::interval::{self, Intervals};

/// What a wildcard index can do: for each condition on a path that it covers the values under that path.
pub(super) fn candidates<'a>(
    request: &PlanRequest<'a>,
    index: usize,
    root: &Node,
    conjuncts: &[Conjunct<'_>],
) -> Vec<Candidate<'a>> {
    let view = request.indexes[index];
    let Some(wildcard) = &view.definition.wildcard else {
        return Vec::new();
    };
    let place = Place {
        multikey: view.is_multikey(),
        positional: false,
        only_present: false,
        element: false,
        collation: &view.definition.collation,
        is_foreign: view.is_foreign_to(request),
    };
    let visible = conjuncts.iter().enumerate().filter(|(_, conjunct)| {
        let seen = Seen {
            in_arrays: place.multikey && conjunct.path.contains('.'),
            collation: &view.definition.collation,
            asked: Collation::simple(),
        };
        wildcard.covers(&conjunct.path) && seen.is_visible_under_paths(conjunct.predicate)
    });
    visible
        .map(|(position, conjunct)| {
            let mut used = vec![false; conjuncts.len()];
            used[position] = true;
            let mut path = Bounds {
                intervals: Intervals::point(&Value::String(&conjunct.path), Collation::simple()),
                exact: true,
            };
            let mut values = bounds(conjunct.predicate, Order::Ascending, place);
            values.exact &= conjunct.group == 0 && !wildcard.takes_from(&conjunct.path);
            if is_there(conjunct.predicate, false) {
                path = Bounds {
                    intervals: path.intervals.union(below(&conjunct.path)),
                    exact: false,
                };
                values = Bounds {
                    intervals: Intervals::all(),
                    exact: false,
                };
            }
            Candidate::bounded(request, index, root, conjuncts, used, vec![path, values])
        })
        .collect()
}

/// Whether the server answers the filter by this index where the engine does not: by paths with positions, by types and
/// by what holds empty objects and arrays.
pub(super) fn answers_on_server(request: &PlanRequest<'_>, index: usize, root: &Node) -> bool {
    let Some(wildcard) = &request.indexes[index].definition.wildcard else {
        return false;
    };
    let covers = |path: &str| {
        let mut names = path.split('.');
        let first = names.next().into_iter();
        let named = names.filter(|name| !name.bytes().all(|byte| byte.is_ascii_digit()));
        let plain = first.chain(named).collect::<Vec<_>>().join(".");
        wildcard.covers(&plain) || wildcard.is_rooted_at(&plain) || wildcard.is_rooted_at(path)
    };
    let view = request.indexes[index];
    // The server knows in which paths arrays stand.
    let seen = Seen {
        in_arrays: false,
        collation: &view.definition.collation,
        asked: Collation::simple(),
    };
    let shows = |path: &str, predicate: &Predicate| covers(path) && seen.is_visible(predicate);
    let answers = |conjunct: &Conjunct<'_>| {
        shows(&conjunct.path, conjunct.predicate)
            || match conjunct.predicate {
                Predicate::ElementObject(node) => asks_inside(&conjunct.path, node, &shows),
                _ => false,
            }
    };
    if Conjunct::of(root).iter().any(answers) {
        return true;
    }
    match root {
        Node::And(nodes) => nodes.iter().any(|node| answers_on_server(request, index, node)),
        // What is never so is left out of a choice.
        Node::Or(nodes) => {
            let mut choices = nodes.iter().filter(|node| !node.is_never()).peekable();
            choices.peek().is_some() && choices.all(|node| answers_on_server(request, index, node))
        }
        Node::Nor(nodes) => match nodes.as_slice() {
            [Node::Field { path, predicate }] => {
                covers(path.as_str()) && seen.is_visible(&Predicate::Not(Box::new(predicate.clone())))
            }
            _ => false,
        },
        // What they ask of fields is known to the server; to the engine only whether they hold.
        Node::Expr(_) | Node::Schema(_) => true,
        _ => false,
    }
}

/// Whether what an `$elemMatch` asks of the elements at the path has a condition that shows, in each of its choices.
fn asks_inside(path: &str, node: &Node, shows: &dyn Fn(&str, &Predicate) -> bool) -> bool {
    match node {
        Node::Field {
            path: inner,
            predicate,
        } => shows(&format!("{path}.{}", inner.as_str()), predicate),
        Node::And(nodes) => nodes.iter().any(|node| asks_inside(path, node, shows)),
        Node::Or(nodes) => nodes.iter().all(|node| asks_inside(path, node, shows)),
        _ => false,
    }
}

/// What a wildcard index shows of a condition.
#[derive(Clone, Copy)]
struct Seen<'a> {
    /// Whether an array may stand in the path.
    in_arrays: bool,
    /// How the index has strings.
    collation: &'a Collation,
    /// How the condition compares them.
    asked: &'a Collation,
}

impl<'a> Seen<'a> {
    /// Whether every document that satisfies the predicate has a value under the path whose key shows it. Documents and
    /// whole arrays have no keys of their own, and what is missing has none.
    fn is_visible_under_paths(self, predicate: &Predicate) -> bool {
        match predicate {
            predicate if is_there(predicate, self.in_arrays) => true,
            // What has fields or elements is in the index by those.
            Predicate::Type(types) => !types.contains(Kind::Document) && !types.contains(Kind::Array),
            Predicate::Equal(value) => self.has(value) || is_empty(value),
            Predicate::Less(value)
            | Predicate::LessOrEqual(value)
            | Predicate::Greater(value)
            | Predicate::GreaterOrEqual(value) => self.has(value),
            Predicate::In { values, .. } => values.iter().all(|value| self.has(value)),
            Predicate::Collated { collation, inner } => self.asked(collation).is_visible_under_paths(inner),
            Predicate::Regex(_) => true,
            _ => false,
        }
    }

    /// The same where strings are compared so.
    fn asked<'b>(self, collation: &'b Collation) -> Seen<'b>
    where
        'a: 'b,
    {
        Seen {
            asked: collation,
            ..self
        }
    }

    /// The same as a server sees it, which looks at more.
    fn is_visible(self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Type(_) | Predicate::Mod { .. } => true,
            Predicate::ElementValue(parts) => parts.iter().any(|part| self.is_visible_of_elements(part)),
            Predicate::ElementObject(node) => self.is_visible_inside(node),
            Predicate::Less(value)
            | Predicate::LessOrEqual(value)
            | Predicate::Greater(value)
            | Predicate::GreaterOrEqual(value) => {
                self.has(value) || is_empty(value) || matches!(value.as_value(), Value::Null)
            }
            Predicate::In { values, .. } => values.iter().all(|value| self.has(value) || is_empty(value)),
            Predicate::Collated { collation, inner } => self.asked(collation).is_visible(inner),
            other => self.is_visible_under_paths(other),
        }
    }

    /// The same of a condition on elements themselves, of which one that is null is there.
    fn is_visible_of_elements(self, predicate: &Predicate) -> bool {
        match predicate {
            Predicate::Equal(value) if is_null(value) => true,
            Predicate::In { values, .. } => values
                .iter()
                .all(|value| self.has(value) || is_empty(value) || is_null(value)),
            other => self.is_visible(other),
        }
    }

    /// Whether the index has the value as the condition compares it.
    fn has(self, value: &Owned) -> bool {
        is_scalar(value) && (self.asked == self.collation || !has_text(&value.as_value()))
    }

    /// The same of a condition on what elements hold.
    fn is_visible_inside(self, node: &Node) -> bool {
        match node {
            Node::Field { predicate, .. } => self.is_visible(predicate),
            Node::And(nodes) => nodes.iter().any(|node| self.is_visible_inside(node)),
            Node::Or(nodes) => nodes.iter().all(|node| self.is_visible_inside(node)),
            _ => false,
        }
    }
}

/// The paths under a path.
fn below(path: &str) -> Intervals {
    // `/` follows `.`.
    Intervals::range(
        interval::before(&Value::String(&format!("{path}.")), Collation::simple()),
        interval::before(&Value::String(&format!("{path}/")), Collation::simple()),
    )
}

/// Whether a predicate asks for no more than that there is something, and not `null`. In arrays without such fields there
/// is no `null` either, and nothing.
fn is_there(predicate: &Predicate, in_arrays: bool) -> bool {
    match predicate {
        Predicate::Exists => true,
        Predicate::Not(inner) if !in_arrays => match &**inner {
            Predicate::Equal(value) => is_null(value),
            Predicate::In { values, patterns } => {
                patterns.is_empty() && matches!(values.as_slice(), [value] if is_null(value))
            }
            _ => false,
        },
        _ => false,
    }
}

fn is_null(value: &Owned) -> bool {
    matches!(value.as_value(), Value::Null)
}

fn is_empty(value: &Owned) -> bool {
    match value.as_value() {
        Value::Document(doc) | Value::Array(doc) => doc.is_empty(),
        Value::MinKey | Value::MaxKey => true,
        _ => false,
    }
}

fn is_scalar(value: &Owned) -> bool {
    !matches!(
        value.as_value(),
        Value::Document(_) | Value::Array(_) | Value::Null | Value::Undefined | Value::MinKey | Value::MaxKey
    )
}
