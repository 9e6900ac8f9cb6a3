//! The order in which the conditions of a filter are asked, which shows where one of them can fail: as on the server, where
//! a stage of a pipeline asks them as they are written and a query in the order of their kinds.

use std::borrow::Cow;

use super::super::aggregate::expression::compared::Test;
use super::ast::{BitRule, Node, Predicate};

/// That none of the conditions holds; of one field not the one.
fn none_of(nodes: Vec<Node>) -> Node {
    match <[Node; 1]>::try_from(nodes) {
        Ok([Node::Field { path, predicate }]) => Node::Field {
            path,
            predicate: Predicate::Not(Box::new(predicate)),
        },
        Ok(only) => Node::Nor(only.into()),
        Err(nodes) => Node::Nor(nodes),
    }
}

impl Node {
    /// Whether it has an expression, which can fail.
    pub(super) fn computes(&self) -> bool {
        match self {
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => nodes.iter().any(Node::computes),
            Node::Expr(_) => true,
            _ => false,
        }
    }

    /// Tells expressions in how many conditions they stand, which a fault of their constants shows.
    pub(super) fn tell_depths(&mut self, depth: usize) {
        match self {
            // What a document has but one condition in.
            Node::And(nodes) if matches!(nodes.as_slice(), [Node::And(_)]) => {
                if let [Node::And(inner)] = nodes.as_mut_slice() {
                    inner.iter_mut().for_each(|node| node.tell_depths(depth + 1));
                }
            }
            Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => {
                nodes.iter_mut().for_each(|node| node.tell_depths(depth + 1));
            }
            Node::Expr(expression) => expression.set_depth(depth),
            _ => {}
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
            Node::Nor(nodes) => none_of(all(nodes)),
            other => other,
        }
    }

    /// The same conditions as a server simplifies them: what an `And` in an `And` asks, or an `Or` in an `Or`, comes last.
    pub(super) fn simplified(self) -> Node {
        let all = |nodes: Vec<Node>| -> Vec<Node> { nodes.into_iter().map(Node::simplified).collect() };
        match self {
            Node::And(nodes) => {
                let mut nodes = all(nodes);
                if nodes.iter().any(|node| matches!(node, Node::Never)) {
                    return Node::Never;
                }
                nodes.retain(|node| !matches!(node, Node::Always));
                joined(absorbed(nodes, |node| match node {
                    Node::And(inner) => Some(std::mem::take(inner)),
                    // Two conditions, one of which is the expression.
                    Node::Expr(expression) if expression.is_filter() => {
                        Some(vec![std::mem::replace(node, Node::Always)])
                    }
                    _ => None,
                }))
            }
            Node::Or(nodes) => {
                let mut nodes = all(nodes);
                if nodes.iter().any(|node| matches!(node, Node::Always)) {
                    return Node::Always;
                }
                nodes.retain(|node| !matches!(node, Node::Never));
                let mut nodes = absorbed(nodes, |node| match node {
                    Node::Or(inner) => Some(std::mem::take(inner)),
                    _ => None,
                });
                match nodes.len() {
                    0 => Node::Never,
                    1 => nodes.swap_remove(0),
                    _ => Node::Or(nodes),
                }
            }
            Node::Nor(nodes) => none_of(all(nodes)),
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

    /// The same conditions as a server's planner has them: simple, those of values of one field as a list, and in order.
    /// They are others only where there are choices.
    pub(crate) fn planned(&self) -> Cow<'_, Node> {
        match self.chooses() {
            true => Cow::Owned(self.clone().simplified().listed().sorted()),
            false => Cow::Borrowed(self),
        }
    }

    fn chooses(&self) -> bool {
        match self {
            Node::Or(_) => true,
            Node::And(nodes) => nodes.iter().any(Node::chooses),
            Node::Field {
                predicate: Predicate::ElementObject(node),
                ..
            } => node.chooses(),
            _ => false,
        }
    }

    /// Whether there may be choices of values of one field, which a list answers sooner.
    pub(super) fn may_be_listed(&self) -> bool {
        let is_value = |node: &Node| matches!(node, Node::Field { predicate, .. } if matches!(kind(predicate), Kind::Equal | Kind::Regex));
        match self {
            Node::Or(nodes) => {
                nodes.iter().filter(|node| is_value(node)).nth(1).is_some()
                    || nodes.iter().any(Node::may_be_listed)
            }
            Node::And(nodes) | Node::Nor(nodes) => nodes.iter().any(Node::may_be_listed),
            Node::Field {
                predicate: Predicate::ElementObject(node),
                ..
            } => node.may_be_listed(),
            _ => false,
        }
    }

    /// The same conditions, a choice of values of one field as a list of them.
    pub(super) fn listed(self) -> Node {
        let all = |nodes: Vec<Node>| -> Vec<Node> { nodes.into_iter().map(Node::listed).collect() };
        match self {
            Node::And(nodes) => Node::And(all(nodes)),
            Node::Nor(nodes) => Node::Nor(all(nodes)),
            Node::Or(nodes) => {
                let nodes = all(nodes);
                let (same, mut others) = apart(nodes);
                match (same.len(), list_of(&same)) {
                    (2.., Some(list)) if others.is_empty() => list,
                    (2.., Some(list)) => {
                        others.push(list);
                        Node::Or(others)
                    }
                    _ => {
                        others.splice(0..0, same);
                        Node::Or(others)
                    }
                }
            }
            Node::Field {
                path,
                predicate: Predicate::ElementObject(node),
            } => Node::Field {
                path,
                predicate: Predicate::ElementObject(Box::new(node.listed())),
            },
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
            Node::Expr(_) => Place::of(Kind::Expression),
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
    pub(super) fn behind_index(self) -> Node {
        let turn = |node: &Node| match node {
            Node::Expr(_) | Node::Sample(_) => 1,
            Node::Field { predicate, .. } if !matches!(predicate, Predicate::Not(_)) => 2,
            _ => 0,
        };
        let all = |nodes: Vec<Node>| {
            let mut nodes: Vec<Node> = nodes.into_iter().map(Node::behind_index).collect();
            nodes.sort_by_key(turn);
            nodes
        };
        match self {
            Node::And(nodes) => Node::And(all(nodes)),
            Node::Or(nodes) => Node::Or(all(nodes)),
            Node::Nor(nodes) => Node::Nor(all(nodes)),
            other => other,
        }
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

/// The nodes, and behind them those that are taken out of some of them.
fn absorbed(nodes: Vec<Node>, take: impl Fn(&mut Node) -> Option<Vec<Node>>) -> Vec<Node> {
    let (mut own, mut inner) = (Vec::new(), Vec::new());
    for mut node in nodes {
        match take(&mut node) {
            Some(nodes) => inner.extend(nodes),
            None => own.push(node),
        }
    }
    own.append(&mut inner);
    own
}

/// One node for all of them.
pub(super) fn joined(mut nodes: Vec<Node>) -> Node {
    match nodes.len() {
        0 => Node::Always,
        1 => nodes.swap_remove(0),
        _ => Node::And(nodes),
    }
}

/// What a condition asks, in the order in which the server's planner has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
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
    BitsAllSet,
    BitsAllClear,
    BitsAnySet,
    BitsAnyClear,
    Not,
    Nor,
    Type,
    Geo,
    Expression,
    Never,
    Near,
    Text,
    /// What an expression says of a field.
    Computed(Test),
}

/// What a predicate asks.
pub(super) fn kind(predicate: &Predicate) -> Kind {
    match predicate {
        Predicate::ElementObject(_) => Kind::ElementObject,
        Predicate::ElementValue(_) => Kind::ElementValue,
        Predicate::Size(_) => Kind::Size,
        Predicate::Equal(_) => Kind::Equal,
        Predicate::LessOrEqual(_) => Kind::LessOrEqual,
        Predicate::Less(_) => Kind::Less,
        Predicate::Greater(_) => Kind::Greater,
        Predicate::GreaterOrEqual(_) => Kind::GreaterOrEqual,
        Predicate::Regex(_) => Kind::Regex,
        Predicate::Mod { .. } => Kind::Mod,
        Predicate::Exists => Kind::Exists,
        // A list of one is no list.
        Predicate::In { values, patterns } => match (values.as_slice(), patterns.as_slice()) {
            ([_], []) => Kind::Equal,
            ([], [_]) => Kind::Regex,
            _ => Kind::In,
        },
        Predicate::Bits(bits) => match bits.rule {
            BitRule::AllSet => Kind::BitsAllSet,
            BitRule::AllClear => Kind::BitsAllClear,
            BitRule::AnySet => Kind::BitsAnySet,
            BitRule::AnyClear => Kind::BitsAnyClear,
        },
        Predicate::Type(_) => Kind::Type,
        Predicate::Geo(_) => Kind::Geo,
        Predicate::Collated { inner, .. } => kind(inner),
        Predicate::Not(_) => Kind::Not,
        Predicate::And(_) => Kind::And,
    }
}

impl Node {
    /// Where the condition stands among those that go by their paths: what has none comes first.
    pub(super) fn place_by_path(&self) -> (String, Kind) {
        let place = Place::of_node(self);
        let path = match self {
            Node::Or(_) => String::new(),
            _ => place.path,
        };
        (path, place.kind)
    }
}

/// Where a condition stands among others: by its kind, by its path, and by what is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    kind: Kind,
    path: String,
    inner: Vec<Place>,
}

impl Place {
    fn of(kind: Kind) -> Place {
        Place {
            kind,
            path: String::new(),
            inner: Vec::new(),
        }
    }

    fn around(kind: Kind, nodes: &[Node]) -> Place {
        Place {
            inner: nodes.iter().map(Place::of_node).collect(),
            ..Place::of(kind)
        }
    }

    fn of_node(node: &Node) -> Place {
        match node {
            Node::And(nodes) => Place::around(Kind::And, nodes),
            // Equal to one of several.
            Node::Or(nodes) => one_field(nodes).unwrap_or_else(|| Place::around(Kind::Or, nodes)),
            Node::Nor(nodes) => match nodes.as_slice() {
                [single] => Place::around(Kind::Not, std::slice::from_ref(single)),
                _ => Place::around(Kind::Nor, nodes),
            },
            Node::Field { path, predicate } => Place::of_predicate(path.as_str(), predicate),
            Node::Expr(expression) if expression.is_filter() => Place {
                inner: vec![Place::of(Kind::Expression)],
                ..Place::of(Kind::And)
            },
            Node::Expr(_) | Node::Sample(_) => Place::of(Kind::Expression),
            // It is made of choices that begin with a field that is not there.
            Node::Schema(_) => Place {
                inner: vec![Place::of(Kind::Not)],
                ..Place::of(Kind::Or)
            },
            // Nothing is asked: an `And` of nothing.
            Node::Always => Place::of(Kind::And),
            Node::Never => Place::of(Kind::Never),
            Node::Near(_) => Place::of(Kind::Near),
            Node::Text(_) => Place::of(Kind::Text),
        }
    }

    fn of_predicate(path: &str, predicate: &Predicate) -> Place {
        let own = Place::of(kind(predicate));
        match predicate {
            Predicate::Not(inner) => Place {
                inner: vec![Place::of_predicate(path, inner)],
                ..own
            },
            Predicate::And(parts) => Place {
                inner: parts.iter().map(|part| Place::of_predicate(path, part)).collect(),
                ..own
            },
            _ => Place {
                path: path.to_owned(),
                ..own
            },
        }
    }
}

/// The place of choices that are all of one value, or one pattern, of one field.
fn one_field(nodes: &[Node]) -> Option<Place> {
    let mut paths = nodes.iter().map(|node| match node {
        Node::Field { path, predicate } if matches!(kind(predicate), Kind::Equal | Kind::Regex) => {
            Some(path.as_str())
        }
        _ => None,
    });
    let first = paths.next()??;
    paths.all(|path| path == Some(first)).then(|| Place {
        path: first.to_owned(),
        ..Place::of(Kind::In)
    })
}

/// The choices of one value, or one pattern, of the field of the first of them, and the others.
fn apart(nodes: Vec<Node>) -> (Vec<Node>, Vec<Node>) {
    let path = |node: &Node| match node {
        Node::Field { path, predicate } => {
            matches!(kind(predicate), Kind::Equal | Kind::Regex).then(|| path.as_str().to_owned())
        }
        _ => None,
    };
    match nodes.iter().find_map(path) {
        Some(first) => nodes
            .into_iter()
            .partition(|node| path(node).is_some_and(|own| own == first)),
        None => (Vec::new(), nodes),
    }
}

/// The list that choices are which are all of one value, or one pattern, of one field.
fn list_of(nodes: &[Node]) -> Option<Node> {
    one_field(nodes)?;
    let (mut values, mut patterns) = (Vec::new(), Vec::new());
    let (mut path, mut collation) = (None, None);
    for node in nodes {
        let Node::Field { path: own, predicate } = node else {
            return None;
        };
        path = Some(own);
        let predicate = match predicate {
            Predicate::Collated {
                collation: own,
                inner,
            } => {
                collation = Some(own);
                inner
            }
            other => other,
        };
        match predicate {
            Predicate::Equal(value) => values.push(value.clone()),
            Predicate::Regex(pattern) => patterns.push(pattern.clone()),
            Predicate::In {
                values: some,
                patterns: others,
            } => {
                values.extend_from_slice(some);
                patterns.extend_from_slice(others);
            }
            _ => return None,
        }
    }
    let list = Predicate::any_of(values, patterns);
    Some(Node::Field {
        path: path?.clone(),
        predicate: match collation {
            Some(collation) => list.collated(collation),
            None => list,
        },
    })
}
