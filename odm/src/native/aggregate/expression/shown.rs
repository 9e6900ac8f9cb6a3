//! Expressions as messages show them. Arguments that have names are listed without them.

use std::fmt::{self, Display, Formatter};

use super::super::super::document::Owned;
use super::super::print;
use super::{Base, Expression, Node};

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.node.fmt(f)
    }
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Node::Constant(value) => write!(f, "{{$const: {}}}", print::value(&value.as_value())),
            Node::Remove | Node::Absent => f.write_str("\"$$REMOVE\""),
            Node::Path { base, segments } => {
                let base = match base {
                    Base::Root => None,
                    Base::Now => Some("NOW"),
                    Base::ClusterTime => Some("CLUSTER_TIME"),
                    Base::Local { .. } => Some("this"),
                    Base::Outer(name) => Some(name.as_str()),
                    Base::Unavailable(name) => Some(*name),
                };
                let path = segments.join(".");
                match base {
                    None if segments.is_empty() => f.write_str("\"$$ROOT\""),
                    None => write!(f, "\"${path}\""),
                    Some(name) if segments.is_empty() => write!(f, "\"$${name}\""),
                    Some(name) => write!(f, "\"$${name}.{path}\""),
                }
            }
            Node::Object(fields) => {
                f.write_str("{")?;
                for (at, (name, value)) in fields.iter().enumerate() {
                    let separator = if at > 0 { ", " } else { "" };
                    write!(f, "{separator}{name}: {value}")?;
                }
                f.write_str("}")
            }
            Node::Array(items) => list(items, f),
            Node::Call { operator, arguments } if arguments.is_empty() => {
                write!(f, "{{{}: {{}}}}", operator.name)
            }
            Node::Call { operator, arguments } => {
                write!(f, "{{{}: ", operator.name)?;
                list(arguments, f)?;
                f.write_str("}")
            }
        }
    }
}

fn list(items: &[Node], f: &mut Formatter<'_>) -> fmt::Result {
    f.write_str("[")?;
    for (at, item) in items.iter().enumerate() {
        let separator = if at > 0 { ", " } else { "" };
        write!(f, "{separator}{item}")?;
    }
    f.write_str("]")
}

impl Expression {
    /// The expression as a value, its operators with lists of arguments and its constants told apart.
    pub(crate) fn described(&self) -> Owned {
        self.node.described()
    }
}

impl Node {
    fn described(&self) -> Owned {
        let one = |name: &str, value: Owned| Owned::Document(vec![(name.to_owned(), value)]);
        let all = |nodes: &[Node]| Owned::Array(nodes.iter().map(Node::described).collect());
        match self {
            Node::Constant(value) => one("$const", value.clone()),
            Node::Remove | Node::Absent | Node::Path { .. } => {
                let quoted = self.to_string();
                Owned::String(quoted.trim_matches('"').to_owned())
            }
            Node::Object(fields) => Owned::Document(
                fields
                    .iter()
                    .map(|(name, value)| (name.clone(), value.described()))
                    .collect(),
            ),
            Node::Array(items) => all(items),
            Node::Call { operator, arguments } if arguments.is_empty() => {
                one(operator.name, Owned::Document(Vec::new()))
            }
            Node::Call { operator, arguments } => one(operator.name, all(arguments)),
        }
    }
}
