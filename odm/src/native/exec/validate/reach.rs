//! The values that a path reaches, as far as the server counts them when it says why a document is refused.

use super::super::super::document::{Doc, Value};
use super::super::super::matcher::ast::{FieldPath, Segment};

/// What of an array at the end of a path is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Items,
    Whole,
}

/// The values at a path, up to the first place where it leads nowhere.
pub(super) fn values<'a>(doc: Doc<'a>, path: &str, end: End) -> Vec<Value<'a>> {
    // No name at all stands for the document.
    if path.is_empty() {
        return vec![Value::Document(doc)];
    }
    let mut walk = Walk {
        end,
        found: Vec::new(),
    };
    walk.in_document(doc, FieldPath::parse(path).segments());
    walk.found
}

struct Walk<'a> {
    end: End,
    found: Vec<Value<'a>>,
}

impl<'a> Walk<'a> {
    /// `None` where the path leads nowhere, which ends the walk.
    fn in_document(&mut self, doc: Doc<'a>, segments: &[Segment]) -> Option<()> {
        let (first, rest) = segments.split_first()?;
        self.at_value(doc.get(&first.name)?, rest)
    }

    fn at_value(&mut self, value: Value<'a>, rest: &[Segment]) -> Option<()> {
        match value {
            Value::Array(items) => self.in_array(items, rest)?,
            _ if rest.is_empty() => self.found.push(value),
            Value::Document(doc) => self.in_document(doc, rest)?,
            _ => return None,
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
