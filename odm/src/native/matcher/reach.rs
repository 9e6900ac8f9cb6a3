//! The values that a path reaches, all at once.

use super::super::document::{Doc, Value};
use super::ast::{FieldPath, Segment};

/// What of an array at the end of a path is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Items,
    Whole,
}

/// What becomes of the rest where the path leads nowhere in one member of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gap {
    /// It is not looked at.
    Ends,
    Passed,
}

/// The values at a path.
pub(crate) fn values<'a>(doc: Doc<'a>, path: &FieldPath, end: End, gap: Gap) -> Vec<Value<'a>> {
    // No name at all stands for the document.
    if path.as_str().is_empty() {
        return vec![Value::Document(doc)];
    }
    let mut walk = Walk {
        end,
        gap,
        found: Vec::new(),
    };
    walk.in_document(doc, path.segments());
    walk.found
}

struct Walk<'a> {
    end: End,
    gap: Gap,
    found: Vec<Value<'a>>,
}

impl<'a> Walk<'a> {
    /// `None` where the walk ends.
    fn in_document(&mut self, doc: Doc<'a>, segments: &[Segment]) -> Option<()> {
        let (first, rest) = segments.split_first()?;
        match doc.get(&first.name) {
            Some(value) => self.at_value(value, rest),
            None => self.nowhere(),
        }
    }

    fn nowhere(&self) -> Option<()> {
        (self.gap == Gap::Passed).then_some(())
    }

    fn at_value(&mut self, value: Value<'a>, rest: &[Segment]) -> Option<()> {
        match value {
            Value::Array(items) => self.in_array(items, rest)?,
            _ if rest.is_empty() => self.found.push(value),
            Value::Document(doc) => self.in_document(doc, rest)?,
            _ => self.nowhere()?,
        }
        Some(())
    }

    /// The documents of an array continue the path, and so does the item that the next name is the index of.
    fn in_array(&mut self, items: Doc<'a>, rest: &[Segment]) -> Option<()> {
        let (next, after) = match rest.split_first() {
            Some((next, after)) if !(next.name.is_empty() && after.is_empty()) => (next, after),
            _ => {
                match self.end {
                    End::Items => self.found.extend(items.values()),
                    End::Whole => self.found.push(Value::Array(items)),
                }
                return Some(());
            }
        };
        for (position, value) in items.values().enumerate() {
            let indexed = next.index == Some(position);
            if let Value::Document(doc) = value {
                self.in_document(doc, rest)?;
            }
            match value {
                _ if !indexed => {}
                _ if after.is_empty() => self.found.push(value),
                Value::Document(doc) => self.in_document(doc, after)?,
                Value::Array(inner) => self.in_array(inner, after)?,
                _ => {}
            }
        }
        Some(())
    }
}
