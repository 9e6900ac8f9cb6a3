//! Expressions as messages show them. Arguments that have names are listed without them.

use std::fmt::{self, Display, Formatter};

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
                    Base::Local { name, .. } => Some(&**name),
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
