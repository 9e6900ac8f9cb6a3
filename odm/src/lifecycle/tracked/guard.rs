//! What must still be stored for the changes inside of it to be made.

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::lifecycle::document;

/// A condition on a value around what is changed, by which nothing comes back that others took out.
pub(super) struct Guard {
    pub(super) path: String,
    pub(super) must: Must,
}

/// What the value must be.
#[derive(PartialEq)]
pub(super) enum Must {
    /// A document: a part of one that is gone could not be read.
    BeDocument,
    /// A document, or not there: a map that is not stored is empty.
    BeMap,
    /// There: the variant that was loaded.
    BeThere,
    /// What was loaded: the name of a variant.
    Be(Option<RawBson>),
}

impl Guard {
    /// The condition as an expression.
    pub(super) fn expression(&self) -> RawDocumentBuf {
        match &self.must {
            Must::BeDocument => is_of_type(&self.path, &["object"]),
            Must::BeMap => is_of_type(&self.path, &["object", "missing"]),
            Must::BeThere => {
                let missing = is_of_type(&self.path, &["missing"]);
                document::single(bson::cstr!("$not"), array([missing]))
            }
            Must::Be(value) => is_still(&self.path, value.as_ref().map(RawBson::as_raw_bson_ref)),
        }
    }

    pub(super) fn holds(&self, stored: &RawDocument) -> bool {
        let value = value_at(stored, &self.path);
        match &self.must {
            Must::BeDocument => matches!(value, Some(RawBsonRef::Document(_))),
            Must::BeMap => matches!(value, None | Some(RawBsonRef::Document(_))),
            Must::BeThere => value.is_some(),
            Must::Be(expected) => value == expected.as_ref().map(RawBson::as_raw_bson_ref),
        }
    }

    /// Whether it holds wherever the other does.
    fn follows_from(&self, other: &Guard) -> bool {
        let is_inside = |path: &str| {
            path.strip_prefix(self.path.as_str())
                .is_some_and(|rest| rest.starts_with('.'))
        };
        match (&self.must, &other.must) {
            (Must::BeThere, Must::BeDocument) if self.path == other.path => true,
            (Must::Be(_), _) => false,
            (_, other_must) => *other_must == Must::BeDocument && is_inside(&other.path),
        }
    }
}

/// The guards without those that others imply.
pub(super) fn fewest(mut guards: Vec<Guard>) -> Vec<Guard> {
    let mut place = 0;
    while let Some(guard) = guards.get(place) {
        match guards.iter().any(|other| guard.follows_from(other)) {
            true => drop(guards.remove(place)),
            false => place += 1,
        }
    }
    guards
}

/// The value at a dotted path through documents, as a path in an expression finds it.
pub(super) fn value_at<'d>(document: &'d RawDocument, path: &str) -> Option<RawBsonRef<'d>> {
    let whole = RawBsonRef::Document(document);
    path.split('.').try_fold(whole, |value, segment| match value {
        RawBsonRef::Document(document) => document.get(segment).ok().flatten(),
        _ => None,
    })
}

/// The condition that this value stands at the path.
pub(super) fn is_still(path: &str, value: Option<RawBsonRef<'_>>) -> RawDocumentBuf {
    match value {
        None => is_of_type(path, &["missing"]),
        Some(value) => {
            let literal = document::single(bson::cstr!("$literal"), RawBson::from(value));
            let mut equal = RawArrayBuf::new();
            equal.push(format!("${path}"));
            equal.push(literal);
            document::single(bson::cstr!("$eq"), equal)
        }
    }
}

/// The condition that nothing stands at the path, or null.
pub(super) fn is_nothing(path: &str) -> RawDocumentBuf {
    is_of_type(path, &["missing", "null"])
}

/// The condition that a value of one of these types stands at the path.
fn is_of_type(path: &str, types: &[&str]) -> RawDocumentBuf {
    let found = document::single(bson::cstr!("$type"), format!("${path}"));
    let mut pair = RawArrayBuf::new();
    pair.push(found);
    match types {
        [one] => {
            pair.push(*one);
            document::single(bson::cstr!("$eq"), pair)
        }
        several => {
            pair.push(several.iter().copied().collect::<RawArrayBuf>());
            document::single(bson::cstr!("$in"), pair)
        }
    }
}

/// All of these expressions as one condition of a filter.
pub(super) fn all(mut expressions: Vec<RawDocumentBuf>) -> RawDocumentBuf {
    let whole = match expressions.len() {
        1 => expressions.remove(0),
        _ => document::single(bson::cstr!("$and"), array(expressions)),
    };
    document::single(bson::cstr!("$expr"), whole)
}

pub(super) fn array(values: impl IntoIterator<Item = RawDocumentBuf>) -> RawArrayBuf {
    values.into_iter().collect()
}
