//! What must still be stored for the changes inside of it to be made.

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::alike::{Order, is_alike};
use crate::lifecycle::document;

/// A condition on the stored document: an expression, and for strings a schema, as the expression goes by the collection's
/// collation, and a schema by bytes but not by the order of fields.
pub(super) struct Condition {
    expression: RawDocumentBuf,
    schema: Option<RawDocumentBuf>,
}

impl From<RawDocumentBuf> for Condition {
    fn from(expression: RawDocumentBuf) -> Condition {
        Condition {
            expression,
            schema: None,
        }
    }
}

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
    pub(super) fn condition(&self) -> Condition {
        match &self.must {
            Must::BeDocument => is_of_type(&self.path, &["object"]).into(),
            Must::BeMap => is_of_type(&self.path, &["object", "missing"]).into(),
            Must::BeThere => {
                let missing = is_of_type(&self.path, &["missing"]);
                document::single(bson::cstr!("$not"), array([missing])).into()
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

    /// The value to store whole where the guard does not hold, but what is stored means what was loaded: it was stored
    /// before the model had the field, or by somebody who writes it in another way. None where it means something else.
    pub(super) fn to_store<'g>(
        &'g self,
        loaded: &RawDocument,
        stored: &RawDocument,
        encoded: &RawDocument,
    ) -> Option<&'g str> {
        let outer = |path: &'g str| path.rsplit_once('.').map(|(outer, _)| outer);
        let mut path = match self.must {
            Must::BeDocument | Must::BeMap => self.path.as_str(),
            Must::BeThere | Must::Be(_) => outer(&self.path)?,
        };
        while let Some(around) = outer(path)
            && !matches!(value_at(stored, around), Some(RawBsonRef::Document(_)))
        {
            path = around;
        }
        let is_loaded = match (value_at(loaded, path), value_at(encoded, path)) {
            (Some(loaded), Some(encoded)) => is_alike(loaded, encoded, Order::OfFields),
            (loaded, encoded) => loaded == encoded,
        };
        is_loaded.then_some(path)
    }

    /// Whether it holds wherever the other does.
    fn follows_from(&self, other: &Guard) -> bool {
        match (&self.must, &other.must) {
            (Must::BeThere, Must::BeDocument) if self.path == other.path => true,
            (Must::Be(_), _) => false,
            (_, must) => {
                *must == Must::BeDocument && self.path != other.path && is_in(&other.path, &self.path)
            }
        }
    }
}

/// Whether a path is the other, or leads into it.
pub(super) fn is_in(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
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
pub(super) fn is_still(path: &str, value: Option<RawBsonRef<'_>>) -> Condition {
    match value {
        None => is_of_type(path, &["missing"]).into(),
        Some(value) => {
            let literal = document::single(bson::cstr!("$literal"), RawBson::from(value));
            let mut equal = RawArrayBuf::new();
            equal.push(format!("${path}"));
            equal.push(literal);
            Condition {
                expression: document::single(bson::cstr!("$eq"), equal),
                schema: has_text(value).then(|| is_still_text(path, value)),
            }
        }
    }
}

/// The schema of documents with this value at the path.
fn is_still_text(path: &str, value: RawBsonRef<'_>) -> RawDocumentBuf {
    let schema = document::one_of(RawBson::from(value));
    path.rsplit('.').fold(schema, |schema, name| {
        let mut properties = RawDocumentBuf::new();
        // A name of a document holds no NUL.
        if let Ok(name) = document::key(name) {
            properties.append(name, schema);
        }
        document::single(bson::cstr!("properties"), properties)
    })
}

/// Whether a collation says what the value is equal to.
fn has_text(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::String(_) | RawBsonRef::Symbol(_) => true,
        RawBsonRef::Document(inner) => inner.iter().flatten().any(|(_, value)| has_text(value)),
        RawBsonRef::Array(items) => items.into_iter().flatten().any(has_text),
        _ => false,
    }
}

/// The condition that nothing stands at the path, or null.
pub(super) fn is_nothing(path: &str) -> Condition {
    is_of_type(path, &["missing", "null"]).into()
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

/// All of these as one condition of a filter.
pub(super) fn all(conditions: Vec<Condition>) -> RawDocumentBuf {
    let (mut expressions, mut schemas) = (Vec::with_capacity(conditions.len()), Vec::new());
    for Condition { expression, schema } in conditions {
        expressions.push(expression);
        schemas.extend(schema);
    }
    let mut filter = document::single(bson::cstr!("$expr"), one_of_all(bson::cstr!("$and"), expressions));
    if !schemas.is_empty() {
        filter.append(
            bson::cstr!("$jsonSchema"),
            one_of_all(bson::cstr!("allOf"), schemas),
        );
    }
    filter
}

fn one_of_all(all: &'static bson::raw::CStr, mut parts: Vec<RawDocumentBuf>) -> RawDocumentBuf {
    match parts.len() {
        1 => parts.remove(0),
        _ => document::single(all, array(parts)),
    }
}

pub(super) fn array(values: impl IntoIterator<Item = RawDocumentBuf>) -> RawArrayBuf {
    values.into_iter().collect()
}
