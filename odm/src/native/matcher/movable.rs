//! Which part of a filter may be asked before what a stage does to the documents.

use super::super::document::Owned;
use super::Matcher;
use super::ast::{FieldPath, Node, Predicate};
use super::order::joined;

/// What a stage does to documents, as far as a filter behind it goes by that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changes {
    changed: Changed,
    /// Paths that have the value that another path had: by the new path, the old one.
    renamed: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Changed {
    Only(Vec<String>),
    AllBut(Vec<String>),
}

impl Changes {
    /// Of what is at these paths, and nothing else.
    pub(crate) fn only(paths: Vec<String>) -> Changes {
        Changes {
            changed: Changed::Only(paths),
            renamed: Vec::new(),
        }
    }

    /// Of everything that is not at these paths.
    pub(crate) fn all_but(paths: Vec<String>) -> Changes {
        Changes {
            changed: Changed::AllBut(paths),
            renamed: Vec::new(),
        }
    }

    /// The same, where paths have the values of others.
    pub(crate) fn renaming(mut self, renamed: Vec<(String, String)>) -> Changes {
        self.renamed = renamed;
        self
    }

    /// The path that has had the value that this one has, if that is the same value.
    pub(crate) fn before(&self, path: &str) -> Option<String> {
        for (new, old) in &self.renamed {
            if path == new {
                return Some(old.clone());
            }
            if is_within(path, new) {
                return Some(format!("{old}{}", &path[new.len()..]));
            }
            if is_within(new, path) {
                return None;
            }
        }
        let is_kept = match &self.changed {
            Changed::Only(paths) => {
                let touches =
                    |other: &String| other == path || is_within(path, other) || is_within(other, path);
                !paths.iter().any(touches)
            }
            Changed::AllBut(paths) => paths.iter().any(|kept| kept == path || is_within(path, kept)),
        };
        is_kept.then(|| path.to_owned())
    }
}

/// Whether the path leads into what is at the other.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
}

impl Matcher {
    /// The part that may be asked before the changes, by the paths of that time, and the part that may not. As on the
    /// server, conditions on whole arrays stay, and what chance or the whole document decides.
    pub(crate) fn split(self, changes: &Changes) -> (Option<Matcher>, Option<Matcher>) {
        let Matcher { root, context } = self;
        let (ahead, behind) = split(root, changes);
        let matcher = |nodes: Vec<Node>| {
            (!nodes.is_empty()).then(|| Matcher {
                root: joined(nodes),
                context: context.clone(),
            })
        };
        (matcher(ahead), matcher(behind))
    }

    /// The conditions that are asked together of which this is so; none where there is none.
    pub(crate) fn only(&self, is_meant: &mut dyn FnMut(&Node) -> bool) -> Option<Matcher> {
        let nodes: Vec<Node> = match &self.root {
            Node::And(nodes) => nodes.iter().filter(|node| is_meant(node)).cloned().collect(),
            only if is_meant(only) => vec![only.clone()],
            _ => Vec::new(),
        };
        (!nodes.is_empty()).then(|| Matcher {
            root: joined(nodes),
            context: self.context.clone(),
        })
    }

    /// The part that holds for every document of which less matches: what `$redact` lets through has matched it before.
    pub(crate) fn lasting(&self) -> Option<Matcher> {
        Some(Matcher {
            root: lasting(&self.root)?,
            context: self.context.clone(),
        })
    }

    /// Whether it asks whether there is something at the path.
    pub(crate) fn asks_existence(&self, path: &str) -> bool {
        fn exists(predicate: &Predicate) -> bool {
            match predicate {
                Predicate::Exists => true,
                Predicate::Not(inner) => exists(inner),
                Predicate::And(parts) => parts.iter().any(exists),
                _ => false,
            }
        }
        fn asks(node: &Node, asked: &str) -> bool {
            match node {
                Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => {
                    nodes.iter().any(|node| asks(node, asked))
                }
                Node::Field { path, predicate } => path.as_str() == asked && exists(predicate),
                _ => false,
            }
        }
        asks(&self.root, path)
    }
}

/// The conditions, all of which hold, that may be asked before the changes, and the others.
fn split(node: Node, changes: &Changes) -> (Vec<Node>, Vec<Node>) {
    if let Some(moved) = moved(&node, changes) {
        return (vec![moved], Vec::new());
    }
    // A choice of one is none.
    let node = match node {
        Node::Or(mut nodes) if nodes.len() == 1 => nodes.swap_remove(0),
        node => node,
    };
    let (mut ahead, mut behind) = (Vec::new(), Vec::new());
    match node {
        Node::And(nodes) => {
            for node in nodes {
                let is_nested = matches!(node, Node::And(_));
                let (first, last) = split(node, changes);
                for (nodes, part) in [(first, &mut ahead), (last, &mut behind)] {
                    match is_nested && nodes.len() > 1 {
                        true => part.push(Node::And(nodes)),
                        false => part.extend(nodes),
                    }
                }
            }
        }
        // That none of them holds is asked of each by itself, but not of a part of one.
        Node::Nor(nodes) => {
            let (mut first, mut last) = (Vec::new(), Vec::new());
            for node in nodes {
                match moved(&node, changes) {
                    Some(moved) => first.push(moved),
                    None => last.push(node),
                }
            }
            for (nodes, part) in [(first, &mut ahead), (last, &mut behind)] {
                if !nodes.is_empty() {
                    part.push(Node::Nor(nodes));
                }
            }
        }
        Node::Field {
            path,
            predicate: Predicate::And(parts),
        } => {
            for predicate in parts {
                let path = path.clone();
                let (first, last) = split(Node::Field { path, predicate }, changes);
                ahead.extend(first);
                behind.extend(last);
            }
        }
        node => behind.push(node),
    }
    (ahead, behind)
}

/// The whole condition as it is asked before the changes, if it can be.
fn moved(node: &Node, changes: &Changes) -> Option<Node> {
    let all =
        |nodes: &[Node]| -> Option<Vec<Node>> { nodes.iter().map(|node| moved(node, changes)).collect() };
    Some(match node {
        Node::And(nodes) => Node::And(all(nodes)?),
        Node::Or(nodes) => Node::Or(all(nodes)?),
        Node::Nor(nodes) => Node::Nor(all(nodes)?),
        Node::Always => Node::Always,
        Node::Field { path, predicate } if is_of_values(predicate) => Node::Field {
            path: FieldPath::parse(&path_before(path, changes)?),
            predicate: predicate.clone(),
        },
        Node::Expr(expression) if expression.all_operators(&|name| name != "$rand") => {
            let mut expression = expression.clone();
            expression.rename(&|path| changes.before(path)).then_some(())?;
            Node::Expr(expression)
        }
        // Then it is a constant.
        Node::Sample(rate) if *rate <= 0.0 || *rate >= 1.0 => Node::Sample(*rate),
        Node::Never
        | Node::Field { .. }
        | Node::Near(_)
        | Node::Expr(_)
        | Node::Schema(_)
        | Node::Sample(_)
        | Node::Text(_) => return None,
    })
}

/// The path that has had the value: an array that has a position must be as it was, and not only what is there.
fn path_before(path: &FieldPath, changes: &Changes) -> Option<String> {
    let mut names = path.segments().iter();
    let first = names.next().into_iter();
    let array = first.chain(names.take_while(|segment| segment.index.is_none()));
    let array: Vec<&str> = array.map(|segment| segment.name.as_str()).collect();
    let array = array.join(".");
    Some(changes.before(&array)? + &path.as_str()[array.len()..])
}

/// Whether no array is asked as a whole.
fn is_of_values(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Size(_) | Predicate::ElementObject(_) | Predicate::ElementValue(_) => false,
        Predicate::Not(inner) | Predicate::Collated { inner, .. } => is_of_values(inner),
        Predicate::And(parts) => parts.iter().all(is_of_values),
        _ => true,
    }
}

/// What of the condition holds for a document if it holds for a part of it.
fn lasting(node: &Node) -> Option<Node> {
    match node {
        Node::And(nodes) => {
            let nodes: Vec<Node> = nodes.iter().filter_map(lasting).collect();
            (!nodes.is_empty()).then(|| joined(nodes))
        }
        Node::Or(nodes) if nodes.len() == 1 => lasting(&nodes[0]),
        Node::Or(nodes) => {
            let nodes: Option<Vec<Node>> = nodes.iter().map(whole_lasting).collect();
            nodes.map(Node::Or)
        }
        Node::Field { path, predicate } => {
            // The elements of an array may move.
            if path.segments().iter().any(|segment| segment.index.is_some()) {
                return None;
            }
            Some(Node::Field {
                path: path.clone(),
                predicate: lasting_predicate(predicate)?,
            })
        }
        _ => None,
    }
}

/// The condition, if all of it lasts.
fn whole_lasting(node: &Node) -> Option<Node> {
    let is_whole = match node {
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().all(|node| whole_lasting(node).is_some()),
        Node::Field { predicate, .. } => is_lasting(predicate) && lasting(node).is_some(),
        _ => false,
    };
    is_whole.then(|| node.clone())
}

fn lasting_predicate(predicate: &Predicate) -> Option<Predicate> {
    match predicate {
        Predicate::And(parts) => {
            let parts: Vec<Predicate> = parts.iter().filter_map(lasting_predicate).collect();
            (!parts.is_empty()).then_some(Predicate::And(parts))
        }
        Predicate::ElementObject(node) => Some(Predicate::ElementObject(Box::new(lasting(node)?))),
        Predicate::ElementValue(parts) => {
            let parts: Vec<Predicate> = parts.iter().filter_map(lasting_predicate).collect();
            (!parts.is_empty()).then_some(Predicate::ElementValue(parts))
        }
        whole => is_lasting(whole).then(|| whole.clone()),
    }
}

fn is_lasting(predicate: &Predicate) -> bool {
    // Of an array or a document a part may be gone; null may be what is gone.
    let is_single = |value: &Owned| {
        !matches!(
            value,
            Owned::Null
                | Owned::Undefined
                | Owned::Array(_)
                | Owned::RawArray(_)
                | Owned::Document(_)
                | Owned::RawDocument(_)
        )
    };
    match predicate {
        Predicate::Equal(value)
        | Predicate::Less(value)
        | Predicate::LessOrEqual(value)
        | Predicate::Greater(value)
        | Predicate::GreaterOrEqual(value) => is_single(value),
        Predicate::In { values, .. } => values.iter().all(is_single),
        Predicate::Type(_) | Predicate::Regex(_) | Predicate::Mod { .. } | Predicate::Bits(_) => true,
        Predicate::Collated { inner, .. } => is_lasting(inner),
        Predicate::And(parts) | Predicate::ElementValue(parts) => parts.iter().all(is_lasting),
        Predicate::ElementObject(node) => whole_lasting(node).is_some(),
        Predicate::Exists | Predicate::Size(_) | Predicate::Geo(_) | Predicate::Not(_) => false,
    }
}
