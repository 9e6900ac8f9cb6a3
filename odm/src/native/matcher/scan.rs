//! Conditions on the fields of a document, answered in one walk over it.

use super::super::document::raw::RawFields;
use super::super::document::{Doc, Elements, Value};
use super::ast::{Node, Segment};
use super::evaluate::from_value;

/// The first field with the segment's name, or the item it indexes when the document is an owned array.
#[inline]
pub(super) fn field<'a>(doc: Doc<'a>, segment: &Segment) -> Option<Value<'a>> {
    match doc {
        Doc::Raw(bytes) => RawFields::new(bytes).find(&segment.name),
        Doc::Items(_) => doc.at(segment.index?),
        Doc::Fields(_) => doc.get(&segment.name),
    }
}

/// The values of a document or array, in order.
pub(super) enum Values<'a> {
    Raw(RawFields<'a>),
    Owned(Elements<'a>),
}

pub(super) fn values(doc: Doc<'_>) -> Values<'_> {
    match doc {
        Doc::Raw(bytes) => Values::Raw(RawFields::new(bytes)),
        Doc::Fields(_) | Doc::Items(_) => Values::Owned(doc.elements()),
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        match self {
            Values::Raw(fields) => fields.next().map(|field| field.value()),
            Values::Owned(elements) => elements.next().map(|element| element.value()),
        }
    }
}

/// The most conditions that [`conjunction`] keeps track of.
const MOST_CONDITIONS: usize = 64;

/// Answers an `And` of field conditions in one walk over the document; `None` when it has other members.
///
/// Each field is tried against the conditions on its name when the walk meets it, the first of duplicate
/// names only; conditions whose field never came are tried on a missing value.
pub(super) fn conjunction(nodes: &[Node], bytes: &[u8]) -> Option<bool> {
    if nodes.len() > MOST_CONDITIONS || !nodes.iter().all(|node| matches!(node, Node::Field { .. })) {
        return None;
    }
    let conditions = || {
        nodes.iter().enumerate().filter_map(|(at, node)| match node {
            Node::Field { path, predicate } => {
                let (first, rest) = path.segments().split_first()?;
                Some((1u64 << at, first, rest, predicate))
            }
            _ => None,
        })
    };
    // No condition at all is a shift by the whole width.
    let spare = (MOST_CONDITIONS - nodes.len()) as u32;
    let mut pending = u64::MAX.checked_shr(spare).unwrap_or(0);
    let mut fields = RawFields::new(bytes);
    while pending != 0
        && let Some(field) = fields.next()
    {
        for (bit, first, rest, predicate) in conditions() {
            if pending & bit != 0 && field.is_named(&first.name) {
                if from_value(Some(field.value()), rest, predicate).is_none() {
                    return Some(false);
                }
                pending &= !bit;
            }
        }
    }
    for (bit, _, rest, predicate) in conditions() {
        if pending & bit != 0 && from_value(None, rest, predicate).is_none() {
            return Some(false);
        }
    }
    Some(true)
}
