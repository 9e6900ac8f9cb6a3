//! Where in arrays a filter finds what it asks for: what the positional `$` stands for.

use super::super::document::Doc;
use super::ast::{FieldPath, Node, Predicate};
use super::evaluate::{Subject, field};
use super::order::{Kind, kind};

/// In which order the conditions of a filter are asked; the last that finds a place in an array decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// As they are written: for projections.
    AsWritten,
    /// By what they ask, then by path, as the server's planner has them: for updates.
    ByKind,
}

/// The conditions of a filter that can find a place in an array. The choices of an `$or` and what negates find none.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    conditions: Vec<Condition>,
}

#[derive(Clone, Debug)]
struct Condition {
    path: FieldPath,
    predicate: Predicate,
}

impl Places {
    pub(super) fn of(root: &Node, asked: Asked) -> Places {
        let mut conditions = conditions(root.clone());
        if asked == Asked::ByKind {
            conditions.sort_by(|a, b| {
                let kinds = kind(&a.predicate).cmp(&kind(&b.predicate));
                kinds.then_with(|| a.path.as_str().cmp(b.path.as_str()))
            });
        }
        Places { conditions }
    }

    /// The place in a document that matches.
    pub(crate) fn at(&self, doc: Doc<'_>) -> Option<usize> {
        let ask = |condition: &Condition| {
            let segments = condition.path.segments();
            field(Subject::Document(doc), segments, &condition.predicate)?
        };
        self.conditions.iter().rev().find_map(ask)
    }
}

/// The conditions in the server's order: those that stood together inside others come after the others.
fn conditions(node: Node) -> Vec<Condition> {
    let mut own = Vec::new();
    match node {
        Node::And(nodes) => {
            let mut inner = Vec::new();
            for node in nodes {
                let node = simplified(node);
                match &node {
                    Node::And(_)
                    | Node::Field {
                        predicate: Predicate::And(_),
                        ..
                    } => inner.extend(conditions(node)),
                    _ => own.extend(conditions(node)),
                }
            }
            own.append(&mut inner);
        }
        Node::Or(branches) => own.extend(only_branch(branches).into_iter().flat_map(conditions)),
        Node::Field { path, predicate } => match predicate {
            Predicate::Not(_) => {}
            Predicate::And(parts) => own.extend(parts.into_iter().flat_map(|predicate| {
                conditions(Node::Field {
                    path: path.clone(),
                    predicate,
                })
            })),
            predicate => own.push(Condition { path, predicate }),
        },
        _ => {}
    }
    own
}

/// What is left of a choice where it is none: its only branch, or one list of all the values of one path.
fn only_branch(branches: Vec<Node>) -> Option<Node> {
    let mut branches: Vec<Node> = branches.into_iter().map(simplified).collect();
    if branches.iter().any(|branch| matches!(branch, Node::Always)) {
        return None;
    }
    branches.retain(|branch| !matches!(branch, Node::Never));
    match branches.len() {
        1 => branches.pop(),
        _ => listed(branches),
    }
}

fn simplified(node: Node) -> Node {
    match node {
        Node::Or(branches) => match only_branch(branches.clone()) {
            Some(only) => only,
            None => Node::Or(branches),
        },
        Node::And(mut nodes) => {
            nodes.retain(|node| !matches!(node, Node::Always));
            match nodes.len() {
                1 => nodes.pop().map_or(Node::Always, simplified),
                _ => Node::And(nodes),
            }
        }
        other => other,
    }
}

/// The branches as one `$in`, if all of them compare the same path with one value or pattern.
fn listed(branches: Vec<Node>) -> Option<Node> {
    let mut paths = Vec::new();
    let (mut values, mut patterns, mut by) = (Vec::new(), Vec::new(), None);
    for branch in branches {
        let Node::Field { path, predicate } = branch else {
            return None;
        };
        let single = match predicate {
            Predicate::Collated { collation, inner } => {
                by = Some(collation);
                *inner
            }
            plain => plain,
        };
        if !matches!(kind(&single), Kind::Equal | Kind::Regex) {
            return None;
        }
        match single {
            Predicate::Equal(value) => values.push(value),
            Predicate::Regex(pattern) => patterns.push(pattern),
            Predicate::In {
                values: own,
                patterns: texts,
            } => {
                values.extend(own);
                patterns.extend(texts);
            }
            _ => return None,
        }
        paths.push(path);
    }
    paths.dedup();
    if paths.len() > 1 {
        return None;
    }
    let any = Predicate::any_of(values, patterns);
    Some(Node::Field {
        path: paths.pop()?,
        predicate: match by {
            Some(collation) => any.collated(&collation),
            None => any,
        },
    })
}
