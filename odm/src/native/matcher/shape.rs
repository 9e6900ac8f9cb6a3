//! What filters have in common that differ in their values alone.

use super::ast::{Node, Predicate};

impl Node {
    /// The filter without its values; the same for the same conditions in another order.
    pub(crate) fn shape(&self) -> String {
        match self {
            Node::And(nodes) => all("and", nodes.iter().map(Node::shape)),
            Node::Or(nodes) => all("or", nodes.iter().map(Node::shape)),
            Node::Nor(nodes) => all("nor", nodes.iter().map(Node::shape)),
            Node::Field { path, predicate } => format!("{:?}:{}", path.as_str(), predicate.shape()),
            Node::Near(field) => format!("{:?}:near", field.path.as_str()),
            Node::Always => "always".to_owned(),
            Node::Never => "never".to_owned(),
            Node::Sample(_) => "sample".to_owned(),
            Node::Text(_) => "text".to_owned(),
            // Their values are not told from the rest.
            Node::Expr(_) | Node::Schema(_) => format!("{self:?}"),
        }
    }
}

impl Predicate {
    fn shape(&self) -> String {
        let name = match self {
            Predicate::Equal(_) => "eq",
            Predicate::Less(_) => "lt",
            Predicate::LessOrEqual(_) => "lte",
            Predicate::Greater(_) => "gt",
            Predicate::GreaterOrEqual(_) => "gte",
            Predicate::In { patterns, .. } if patterns.is_empty() => "in",
            Predicate::In { .. } => "in with patterns",
            Predicate::Exists => "exists",
            Predicate::Type(_) => "type",
            Predicate::Regex(_) => "regex",
            Predicate::Mod { .. } => "mod",
            Predicate::Size(_) => "size",
            Predicate::Bits(_) => "bits",
            Predicate::Geo(_) => "geo",
            Predicate::ElementObject(node) => return format!("element({})", node.shape()),
            Predicate::ElementValue(parts) => {
                return all("elements", parts.iter().map(Predicate::shape));
            }
            Predicate::Collated { inner, .. } => return inner.shape(),
            Predicate::Not(inner) => return format!("not({})", inner.shape()),
            Predicate::And(parts) => return all("each", parts.iter().map(Predicate::shape)),
        };
        name.to_owned()
    }
}

fn all(name: &str, parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.sort_unstable();
    match &parts[..] {
        [only] if matches!(name, "and" | "or" | "each") => only.clone(),
        _ => format!("{name}({})", parts.join(",")),
    }
}
