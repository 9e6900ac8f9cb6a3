//! The tree of an update: paths from the root, operations at the leaves.

use std::sync::Arc;

use super::super::collation::Collation;
use super::super::fault::{Fault, Result, code};
use super::operation::Operation;
use super::path::{compare_names, identifier, is_positional};

/// What an update does at one place.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// Changes the value.
    Leaf(Arc<Operation>),
    /// Goes on to fields, or to items by their position.
    Object(Object),
    /// Goes on to the items of an array that the filters choose.
    Each(Vec<Each>),
}

/// Children by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Object {
    /// In the order of [`compare_names`].
    children: Vec<(String, Node)>,
    /// What happens at the matched position (`$`).
    positional: Option<Box<Node>>,
}

/// The child of `$[]` or `$[identifier]`.
#[derive(Clone, Debug)]
pub(super) struct Each {
    pub(super) identifier: String,
    /// Which array filter chooses the items; all without one.
    pub(super) filter: Option<usize>,
    pub(super) node: Node,
}

impl Object {
    /// Compares strings by the collation where an operation has made up its mind already.
    pub(super) fn collate(&mut self, collation: &Collation) {
        for (_, node) in &mut self.children {
            node.collate(collation);
        }
        if let Some(node) = &mut self.positional {
            node.collate(collation);
        }
    }

    /// The names of the children.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.children.iter().map(|(name, _)| name.as_str())
    }

    /// Adds an operation. `filter_of` finds the array filter of an identifier.
    pub(super) fn insert(
        &mut self,
        segments: &[&str],
        operation: Operation,
        filter_of: &dyn Fn(&str) -> Result<usize>,
    ) -> Result<()> {
        let (&segment, _) = segments.split_first().ok_or_else(|| conflict("", ""))?;
        let slot = if is_positional(segment) {
            Slot::Positional
        } else {
            Slot::Named(segment)
        };
        self.descend(slot, segments, 0, operation, filter_of)
    }

    fn descend(
        &mut self,
        slot: Slot<'_>,
        segments: &[&str],
        at: usize,
        operation: Operation,
        filter_of: &dyn Fn(&str) -> Result<usize>,
    ) -> Result<()> {
        let existing = match slot {
            Slot::Positional => self.positional.as_deref_mut(),
            Slot::Named(name) => match self.children.iter().position(|(n, _)| n == name) {
                Some(index) => self.children.get_mut(index).map(|(_, node)| node),
                None => None,
            },
        };
        if let Some(node) = existing {
            return node.insert(segments, at + 1, operation, filter_of);
        }
        let node = Node::build(segments, at + 1, operation, filter_of)?;
        match slot {
            Slot::Positional => self.positional = Some(Box::new(node)),
            Slot::Named(name) => insert_sorted(&mut self.children, name.to_owned(), node),
        }
        Ok(())
    }

    /// Whether the name of a child depends on the match.
    pub(super) fn is_positional(&self) -> bool {
        self.positional.is_some()
    }

    /// The children to apply in order. The positional child takes the name of the matched position.
    pub(super) fn children(&self, matched: Option<usize>) -> Result<Children<'_>> {
        let Some(positional) = &self.positional else {
            return Ok(Children::Plain(&self.children));
        };
        let name = matched
            .ok_or_else(|| {
                Fault::new(
                    code::BAD_VALUE,
                    "The positional operator did not find the match needed from the query.",
                )
            })?
            .to_string();
        let mut children: Vec<(String, Node)> = self.children.clone();
        match children.iter_mut().find(|(n, _)| *n == name) {
            Some((_, node)) => match merge(node, positional) {
                Some(merged) => *node = merged,
                None => return Ok(Children::Conflict(name)),
            },
            None => insert_sorted(&mut children, name, (**positional).clone()),
        }
        Ok(Children::Merged(children))
    }
}

/// The children of an object for one document.
pub(super) enum Children<'a> {
    Plain(&'a [(String, Node)]),
    Merged(Vec<(String, Node)>),
    /// The positional child and the child of this name want the same value.
    Conflict(String),
}

#[derive(Clone, Copy)]
enum Slot<'a> {
    Positional,
    Named(&'a str),
}

impl Node {
    fn collate(&mut self, collation: &Collation) {
        match self {
            Node::Leaf(operation) => *operation = Arc::new((**operation).clone().collated(collation)),
            Node::Object(object) => object.collate(collation),
            Node::Each(children) => {
                for each in children {
                    each.node.collate(collation);
                }
            }
        }
    }

    /// The branch for `segments[at..]`.
    fn build(
        segments: &[&str],
        at: usize,
        operation: Operation,
        filter_of: &dyn Fn(&str) -> Result<usize>,
    ) -> Result<Node> {
        let Some(&segment) = segments.get(at) else {
            return Ok(Node::Leaf(Arc::new(operation)));
        };
        if let Some(identifier) = identifier(segment) {
            return Ok(Node::Each(vec![Each {
                identifier: identifier.to_owned(),
                filter: filter_index(identifier, filter_of)?,
                node: Node::build(segments, at + 1, operation, filter_of)?,
            }]));
        }
        let child = Node::build(segments, at + 1, operation, filter_of)?;
        let mut object = Object::default();
        if is_positional(segment) {
            object.positional = Some(Box::new(child));
        } else {
            object.children.push((segment.to_owned(), child));
        }
        Ok(Node::Object(object))
    }

    /// Adds `segments[at..]` below this node, which stands for `segments[..at]`.
    fn insert(
        &mut self,
        segments: &[&str],
        at: usize,
        operation: Operation,
        filter_of: &dyn Fn(&str) -> Result<usize>,
    ) -> Result<()> {
        let here = || conflict(&segments.join("."), &segments[..at.min(segments.len())].join("."));
        let Some(&segment) = segments.get(at) else {
            return Err(here());
        };
        match self {
            Node::Leaf(_) => Err(here()),
            Node::Object(object) => {
                if identifier(segment).is_some() {
                    return Err(here());
                }
                let slot = match is_positional(segment) {
                    true => Slot::Positional,
                    false => Slot::Named(segment),
                };
                object.descend(slot, segments, at, operation, filter_of)
            }
            Node::Each(each) => {
                let Some(identifier) = identifier(segment) else {
                    return Err(here());
                };
                if let Some(child) = each.iter_mut().find(|child| child.identifier == identifier) {
                    return child.node.insert(segments, at + 1, operation, filter_of);
                }
                let child = Each {
                    identifier: identifier.to_owned(),
                    filter: filter_index(identifier, filter_of)?,
                    node: Node::build(segments, at + 1, operation, filter_of)?,
                };
                let before = each.partition_point(|other| other.identifier < child.identifier);
                each.insert(before, child);
                Ok(())
            }
        }
    }
}

fn filter_index(identifier: &str, filter_of: &dyn Fn(&str) -> Result<usize>) -> Result<Option<usize>> {
    match identifier {
        "" => Ok(None),
        _ => filter_of(identifier).map(Some),
    }
}

fn insert_sorted(children: &mut Vec<(String, Node)>, name: String, node: Node) {
    let at = children
        .iter()
        .position(|(other, _)| compare_names(&name, other).is_lt())
        .unwrap_or(children.len());
    children.insert(at, (name, node));
}

/// Both branches in one; `None` when both change the same value.
pub(super) fn merge(a: &Node, b: &Node) -> Option<Node> {
    match (a, b) {
        (Node::Object(a), Node::Object(b)) => {
            let mut merged = a.clone();
            for (name, node) in &b.children {
                match merged.children.iter_mut().find(|(n, _)| n == name) {
                    Some((_, existing)) => *existing = merge(existing, node)?,
                    None => insert_sorted(&mut merged.children, name.clone(), node.clone()),
                }
            }
            merged.positional = match (merged.positional.take(), &b.positional) {
                (Some(a), Some(b)) => Some(Box::new(merge(&a, b)?)),
                (a, b) => a.or_else(|| b.clone()),
            };
            Some(Node::Object(merged))
        }
        (Node::Each(a), Node::Each(b)) => {
            let mut merged = a.clone();
            for child in b {
                match merged
                    .iter_mut()
                    .find(|other| other.identifier == child.identifier)
                {
                    Some(existing) => existing.node = merge(&existing.node, &child.node)?,
                    None => merged.push(child.clone()),
                }
            }
            merged.sort_by(|a, b| a.identifier.cmp(&b.identifier));
            Some(Node::Each(merged))
        }
        _ => None,
    }
}

/// The path below the merged place at which two branches conflict, empty for the place itself.
pub(super) fn conflict_path(a: &Node, b: &Node) -> String {
    if let (Node::Object(a), Node::Object(b)) = (a, b) {
        for (name, node) in &b.children {
            if let Some((_, existing)) = a.children.iter().find(|(n, _)| n == name)
                && merge(existing, node).is_none()
            {
                return format!(".{name}{}", conflict_path(existing, node));
            }
        }
    }
    String::new()
}

fn conflict(path: &str, at: &str) -> Fault {
    Fault::new(
        code::CONFLICTING_UPDATE_OPERATORS,
        format!("Updating the path '{path}' would create a conflict at '{at}'"),
    )
}
