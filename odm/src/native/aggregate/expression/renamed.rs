//! Expressions over documents as they were before fields got other names.

use super::{Base, Expression, Node};

impl Expression {
    /// Reads each path of the document where `before` says that its value was. `false`, and of no use any more, where it
    /// says so of none, or where the whole document is read.
    pub(crate) fn rename(&mut self, before: &dyn Fn(&str) -> Option<String>) -> bool {
        self.node.rename(before)
    }

    /// What it is made of that is nothing but fields of the document: by their paths in the value, the names that they
    /// have in the document. `path` is the value's own.
    pub(crate) fn fields_at(&self, path: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.node.add_fields(path, &mut found);
        found
    }
}

impl Node {
    fn rename(&mut self, before: &dyn Fn(&str) -> Option<String>) -> bool {
        match self {
            Node::Path {
                base: Base::Root,
                segments,
            } => match before(&segments.join(".")) {
                Some(old) if !segments.is_empty() => {
                    *segments = old.split('.').map(str::to_owned).collect();
                    true
                }
                _ => false,
            },
            Node::Object(fields) => fields.iter_mut().all(|(_, node)| node.rename(before)),
            Node::Array(nodes) | Node::Call { arguments: nodes, .. } => {
                nodes.iter_mut().all(|node| node.rename(before))
            }
            Node::Constant(_) | Node::Remove | Node::Absent | Node::Path { .. } => true,
        }
    }

    fn add_fields(&self, path: &str, found: &mut Vec<(String, String)>) {
        match self {
            Node::Path {
                base: Base::Root,
                segments,
            } => {
                if let [name] = segments.as_slice() {
                    found.push((path.to_owned(), name.clone()));
                }
            }
            Node::Object(fields) => {
                for (name, node) in fields {
                    node.add_fields(&format!("{path}.{name}"), found);
                }
            }
            _ => {}
        }
    }
}
