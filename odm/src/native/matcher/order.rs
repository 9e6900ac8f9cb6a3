//! The order in which the conditions of a filter are asked, which shows where one of them can fail: as on the server, where
//! a stage of a pipeline asks them as they are written and a query in the order of their kinds.

use std::cmp::Ordering;

use super::ast::{Node, Predicate};

impl Node {
    /// Whether it has an expression, which can fail.
    pub(super) fn computes(&self) -> bool {
        match self {
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(Node::computes),
            Node::Expr(_) => true,
            _ => false,
        }
    }

    /// The same conditions, what stands in an `And` in an `And` in its place.
    pub(super) fn flat(self) -> Node {
        let all = |nodes: Vec<Node>| -> Vec<Node> { nodes.into_iter().map(Node::flat).collect() };
        match self {
            Node::And(nodes) => {
                let mut flat = Vec::with_capacity(nodes.len());
                for node in all(nodes) {
                    match node {
                        Node::And(inner) => flat.extend(inner),
                        other => flat.push(other),
                    }
                }
                joined(flat)
            }
            Node::Or(nodes) => Node::Or(all(nodes)),
            Node::Nor(nodes) => Node::Nor(all(nodes)),
            other => other,
        }
    }

    /// The same conditions as a server simplifies them: what an `And` in an `And` asks, or an `Or` in an `Or`, comes last.
    pub(super) fn simplified(self) -> Node {
        let all = |nodes: Vec<Node>| -> Vec<Node> { nodes.into_iter().map(Node::simplified).collect() };
        match self {
            Node::And(nodes) => {
                let (mut own, mut absorbed) = (Vec::new(), Vec::new());
                for node in all(nodes) {
                    match node {
                        Node::Never => return Node::Never,
                        Node::Always => {}
                        Node::And(inner) => absorbed.extend(inner),
                        // Two conditions, one of which is the expression.
                        Node::Expr(expression) if expression.is_filter() => {
                            absorbed.push(Node::Expr(expression));
                        }
                        other => own.push(other),
                    }
                }
                own.append(&mut absorbed);
                joined(own)
            }
            Node::Or(nodes) => {
                let (mut own, mut absorbed) = (Vec::new(), Vec::new());
                for node in all(nodes) {
                    match node {
                        Node::Always => return Node::Always,
                        Node::Never => {}
                        Node::Or(inner) => absorbed.extend(inner),
                        other => own.push(other),
                    }
                }
                own.append(&mut absorbed);
                match own.len() {
                    0 => Node::Never,
                    1 => own.swap_remove(0),
                    _ => Node::Or(own),
                }
            }
            Node::Nor(nodes) => Node::Nor(all(nodes)),
            // `$all`.
            Node::Field {
                path,
                predicate: Predicate::And(parts),
            } => {
                let field = |predicate| Node::Field {
                    path: path.clone(),
                    predicate,
                };
                joined(parts.into_iter().map(field).collect())
            }
            other => other,
        }
    }

    /// The same conditions in the order in which a query asks them.
    pub(super) fn sorted(self) -> Node {
        let all = |nodes: Vec<Node>, place: &dyn Fn(&Node) -> Place| {
            let mut nodes: Vec<Node> = nodes.into_iter().map(Node::sorted).collect();
            nodes.sort_by_cached_key(place);
            nodes
        };
        let member = |node: &Node| match node {
            Node::Expr(_) => Place::of(Rank::Expression),
            other => Place::of_node(other),
        };
        match self {
            Node::And(nodes) => Node::And(all(nodes, &member)),
            Node::Or(nodes) => Node::Or(all(nodes, &Place::of_node)),
            Node::Nor(nodes) => Node::Nor(all(nodes, &Place::of_node)),
            other => other,
        }
    }

    /// The same conditions in the order in which they are asked of what an index leads to: choices and what is negated,
    /// expressions, and conditions on fields.
    pub(super) fn behind_index(mut self) -> Node {
        if let Node::And(nodes) = &mut self {
            nodes.sort_by_key(|node| match node {
                Node::Expr(_) | Node::Sample(_) => 1,
                Node::Field { predicate, .. } => match predicate {
                    Predicate::Not(_) => 0,
                    _ => 2,
                },
                _ => 0,
            });
        }
        self
    }

    /// The conditions of a filter that is joined with another one: those of its own `$and` are its own.
    pub(super) fn parts(self) -> Vec<Node> {
        let within = |node: Node| match node {
            Node::And(nodes) => nodes,
            other => vec![other],
        };
        match self {
            Node::And(nodes) => nodes.into_iter().flat_map(within).collect(),
            Node::Always => Vec::new(),
            other => vec![other],
        }
    }
}

/// One node for all of them.
pub(super) fn joined(mut nodes: Vec<Node>) -> Node {
    match nodes.len() {
        0 => Node::Always,
        1 => nodes.swap_remove(0),
        _ => Node::And(nodes),
    }
}

/// The kinds of conditions, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    And,
    Or,
    ElementObject,
    ElementValue,
    Size,
    Equal,
    LessOrEqual,
    Less,
    Greater,
    GreaterOrEqual,
    Regex,
    Mod,
    Exists,
    In,
    Bits,
    Not,
    Nor,
    Type,
    Geo,
    Expression,
    Never,
    Near,
    Text,
}

/// Where a condition stands among others: by its kind, by its path, and by what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    rank: Rank,
    path: String,
    inner: Vec<Place>,
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        let own = (self.rank, &self.path, &self.inner);
        own.cmp(&(other.rank, &other.path, &other.inner))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Place {
    fn of(rank: Rank) -> Place {
        Place {
            rank,
            path: String::new(),
            inner: Vec::new(),
        }
    }

    fn around(rank: Rank, nodes: &[Node]) -> Place {
        Place {
            inner: nodes.iter().map(Place::of_node).collect(),
            ..Place::of(rank)
        }
    }

    fn of_node(node: &Node) -> Place {
        match node {
            Node::And(nodes) => Place::around(Rank::And, nodes),
            // Equal to one of several.
            Node::Or(nodes) => one_field(nodes).unwrap_or_else(|| Place::around(Rank::Or, nodes)),
            Node::Nor(nodes) => match nodes.as_slice() {
                [single] => Place::around(Rank::Not, std::slice::from_ref(single)),
                _ => Place::around(Rank::Nor, nodes),
            },
            Node::Field { path, predicate } => Place::of_predicate(path.as_str(), predicate),
            Node::Expr(expression) if expression.is_filter() => Place {
                inner: vec![Place::of(Rank::Expression)],
                ..Place::of(Rank::And)
            },
            Node::Expr(_) | Node::Sample(_) => Place::of(Rank::Expression),
            // It is made of choices that begin with a field that is not there.
            Node::Schema(_) => Place {
                inner: vec![Place::of(Rank::Not)],
                ..Place::of(Rank::Or)
            },
            // Nothing is asked: an `And` of nothing.
            Node::Always => Place::of(Rank::And),
            Node::Never => Place::of(Rank::Never),
            Node::Near(_) => Place::of(Rank::Near),
            Node::Text(_) => Place::of(Rank::Text),
        }
    }

    fn of_predicate(path: &str, predicate: &Predicate) -> Place {
        let rank = match predicate {
            Predicate::Not(inner) => {
                return Place {
                    inner: vec![Place::of_predicate(path, inner)],
                    ..Place::of(Rank::Not)
                };
            }
            Predicate::And(parts) => {
                let inner = parts.iter().map(|part| Place::of_predicate(path, part));
                return Place {
                    inner: inner.collect(),
                    ..Place::of(Rank::And)
                };
            }
            Predicate::Collated { inner, .. } => return Place::of_predicate(path, inner),
            Predicate::In { values, patterns } if values.len() == 1 && patterns.is_empty() => Rank::Equal,
            Predicate::Equal(_) => Rank::Equal,
            Predicate::Less(_) => Rank::Less,
            Predicate::LessOrEqual(_) => Rank::LessOrEqual,
            Predicate::Greater(_) => Rank::Greater,
            Predicate::GreaterOrEqual(_) => Rank::GreaterOrEqual,
            Predicate::In { .. } => Rank::In,
            Predicate::Exists => Rank::Exists,
            Predicate::Type(_) => Rank::Type,
            Predicate::Regex(_) => Rank::Regex,
            Predicate::Mod { .. } => Rank::Mod,
            Predicate::Size(_) => Rank::Size,
            Predicate::ElementObject(_) => Rank::ElementObject,
            Predicate::ElementValue(_) => Rank::ElementValue,
            Predicate::Bits(_) => Rank::Bits,
            Predicate::Geo(_) => Rank::Geo,
        };
        Place {
            path: path.to_owned(),
            ..Place::of(rank)
        }
    }
}

/// The place of choices that are all equalities of one field.
fn one_field(nodes: &[Node]) -> Option<Place> {
    let mut paths = nodes.iter().map(|node| match node {
        Node::Field {
            path,
            predicate: Predicate::Equal(_),
        } => Some(path.as_str()),
        _ => None,
    });
    let first = paths.next()??;
    paths.all(|path| path == Some(first)).then(|| Place {
        path: first.to_owned(),
        ..Place::of(Rank::In)
    })
}
