//! What filters say, told apart from how they say it.

use super::super::collation::Collation;
use super::super::document::{Owned, Value};
use super::ast::{Node, Predicate};

impl Node {
    /// Whether the filters say the same in other words: in another order, or one inside the other. As on the server, what
    /// is said twice is not what is said once.
    pub(crate) fn is_same(&self, other: &Node) -> bool {
        self.identity() == other.identity()
    }

    /// The conditions, in an order of their own.
    fn identity(&self) -> String {
        match self {
            Node::Always => all("and", Vec::new()),
            Node::And(_) => {
                let mut parts = Vec::new();
                self.add_parts(&mut parts);
                all("and", parts)
            }
            Node::Or(_) => {
                let mut branches = Vec::new();
                self.add_branches(&mut branches);
                match listed(&branches) {
                    Some(list) => list,
                    None => all("or", branches.into_iter().map(Node::identity).collect()),
                }
            }
            Node::Field { path, predicate } => {
                let mut parts = Vec::new();
                predicate.add_parts(path.as_str(), &mut parts);
                all("and", parts)
            }
            other => format!("{other:?}"),
        }
    }

    /// Adds what has to be so.
    fn add_parts(&self, parts: &mut Vec<String>) {
        match self {
            Node::Always => {}
            Node::And(nodes) => nodes.iter().for_each(|node| node.add_parts(parts)),
            Node::Field { path, predicate } => predicate.add_parts(path.as_str(), parts),
            other => parts.push(other.identity()),
        }
    }

    /// Adds what one of has to be so.
    fn add_branches<'a>(&'a self, branches: &mut Vec<&'a Node>) {
        match self {
            Node::Or(nodes) => nodes.iter().for_each(|node| node.add_branches(branches)),
            other => branches.push(other),
        }
    }
}

impl Predicate {
    fn add_parts(&self, path: &str, parts: &mut Vec<String>) {
        match self {
            Predicate::And(inner) => inner.iter().for_each(|part| part.add_parts(path, parts)),
            other => parts.push(format!("{path:?}:{}", other.identity())),
        }
    }

    fn identity(&self) -> String {
        match self {
            Predicate::Equal(value) => format!("eq {}", encoded(value)),
            Predicate::Less(value) => format!("lt {}", encoded(value)),
            Predicate::LessOrEqual(value) => format!("lte {}", encoded(value)),
            Predicate::Greater(value) => format!("gt {}", encoded(value)),
            Predicate::GreaterOrEqual(value) => format!("gte {}", encoded(value)),
            Predicate::In { values, patterns } => match (&values[..], &patterns[..]) {
                ([only], []) => format!("eq {}", encoded(only)),
                _ => format!("{} {patterns:?}", one_of(values)),
            },
            // All comparisons of a filter go by one collation.
            Predicate::Collated { inner, .. } => inner.identity(),
            other => format!("{other:?}"),
        }
    }

    /// The one value that this asks for.
    fn equal(&self) -> Option<&Owned> {
        match self {
            Predicate::Equal(value) => Some(value),
            Predicate::Collated { inner, .. } => inner.equal(),
            _ => None,
        }
    }
}

/// Branches that ask for values of one path are a list of them.
fn listed(branches: &[&Node]) -> Option<String> {
    let (mut of, mut values) = (None, Vec::new());
    for branch in branches {
        let Node::Field { path, predicate } = branch else {
            return None;
        };
        if *of.get_or_insert(path.as_str()) != path.as_str() {
            return None;
        }
        values.push(predicate.equal()?.clone());
    }
    let path = of?;
    match &values[..] {
        [only] => Some(format!("{path:?}:eq {}", encoded(only))),
        _ => Some(format!("{path:?}:{} []", one_of(&values))),
    }
}

fn one_of(values: &[Owned]) -> String {
    let mut encoded: Vec<String> = values.iter().map(encoded).collect();
    encoded.sort_unstable();
    encoded.dedup();
    format!("in {encoded:?}")
}

/// A value such that equal ones are the same.
fn encoded(value: &Owned) -> String {
    let mut bytes = Vec::new();
    let value: Value<'_> = value.as_value();
    Collation::simple().encode(&value, false, &mut bytes);
    format!("{bytes:?}")
}

fn all(name: &str, mut parts: Vec<String>) -> String {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            parts.sort_unstable();
            format!("{name}({})", parts.join(","))
        }
    }
}
