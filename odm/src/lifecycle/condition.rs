//! What must hold of the stored document for an update to be made: the bounds of arrays and numbers, as conditions of
//! the same write.

use bson::{Bson, Document, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::document;
use super::sum::Sum;
use super::violation::Message;
use crate::codec::Raw;
use crate::error::Result;
use crate::query::update::{Action, Change};

/// A condition on the stored document.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) path: String,
    pub(crate) must: Must,
}

#[derive(Clone, Debug)]
pub(crate) enum Must {
    /// The array has room for so many more elements.
    HaveRoom { bound: u32, more: usize },
    /// The array has room for those of these elements that it does not hold.
    HaveRoomFor { bound: u32, elements: Vec<RawBson> },
    /// The number keeps its rule when something is added.
    Keep(Sum),
    /// All conditions of one of these.
    MeetOne(Vec<Vec<Condition>>),
}

/// The elements that a change adds to an array.
pub(crate) struct Added {
    pub(crate) elements: Vec<RawBson>,
    pub(crate) slice: Option<i64>,
    pub(crate) as_set: bool,
}

impl Added {
    pub(crate) fn by(change: &Change) -> Option<Added> {
        let (value, as_set) = match &change.action {
            Action::Raw { operator, value } if operator.as_str() == "$push" => (value, false),
            Action::Raw { operator, value } if operator.as_str() == "$addToSet" => (value, true),
            _ => return None,
        };
        let modifiers = match value {
            RawBson::Document(document) => document.get_array("$each").ok().map(|each| (document, each)),
            _ => None,
        };
        Some(match modifiers {
            None => Added {
                elements: vec![value.clone()],
                slice: None,
                as_set,
            },
            Some((document, each)) => Added {
                elements: each.into_iter().flatten().map(RawBson::from).collect(),
                slice: document::integer(document, "$slice"),
                as_set,
            },
        })
    }
}

impl Condition {
    /// The condition as a filter.
    pub(crate) fn filter(&self) -> Result<RawDocumentBuf> {
        let path = self.path.as_str();
        let filter = match &self.must {
            Must::HaveRoom { bound, more } => match last_free(*bound, *more) {
                Some(position) => doc! { format!("{path}.{position}"): { "$exists": false } },
                None => doc! { path: { "$exists": false } },
            },
            Must::HaveRoomFor { bound, elements } => match elements.as_slice() {
                [element] => {
                    let element = Bson::try_from(element.clone()).unwrap_or(Bson::Null);
                    let room = match last_free(*bound, 1) {
                        Some(position) => doc! { format!("{path}.{position}"): { "$exists": false } },
                        None => doc! { path: { "$exists": false } },
                    };
                    doc! { "$or": [room, { path: { "$elemMatch": { "$eq": element } } }] }
                }
                elements => {
                    let array = doc! { "$cond": [
                        { "$isArray": format!("${path}") },
                        format!("${path}"),
                        [],
                    ] };
                    let elements: Vec<Bson> = elements
                        .iter()
                        .map(|element| Bson::try_from(element.clone()).unwrap_or(Bson::Null))
                        .collect();
                    doc! { "$expr": { "$lte": [
                        { "$add": [
                            { "$size": array.clone() },
                            { "$size": { "$setDifference": [{ "$literal": elements }, array] } },
                        ] },
                        i64::from(*bound),
                    ] } }
                }
            },
            Must::Keep(sum) => sum.filter().unwrap_or_default(),
            Must::MeetOne(several) => {
                let mut branches = RawArrayBuf::new();
                for conditions in several {
                    let mut all = RawArrayBuf::new();
                    for condition in conditions {
                        all.push(condition.filter()?);
                    }
                    branches.push(document::single(bson::cstr!("$and"), all));
                }
                return Ok(document::single(bson::cstr!("$or"), branches));
            }
        };
        Raw::from(filter).into_document()
    }

    /// What the condition says of a stored document that does not meet it, and where.
    pub(crate) fn broken(&self, stored: &RawDocument) -> Result<Vec<(String, Message)>> {
        let value = document::at(stored, &self.path);
        let items = match value {
            Some(RawBsonRef::Array(array)) => array.into_iter().count(),
            _ => 0,
        };
        let (bound, more) = match &self.must {
            Must::Keep(sum) => return Ok(sum.broken(stored, &self.path)),
            Must::MeetOne(several) => {
                let mut first = None;
                for conditions in several {
                    let mut broken = Vec::new();
                    for condition in conditions {
                        broken.extend(condition.broken(stored)?);
                    }
                    if broken.is_empty() {
                        return Ok(broken);
                    }
                    first.get_or_insert(broken);
                }
                return Ok(first.unwrap_or_default());
            }
            Must::HaveRoom { bound, more } => (*bound, *more),
            Must::HaveRoomFor { bound, elements } => {
                let held: Vec<RawBson> = match value {
                    Some(RawBsonRef::Array(array)) => {
                        array.into_iter().flatten().map(RawBson::from).collect()
                    }
                    _ => Vec::new(),
                };
                let more = elements.iter().filter(|element| !held.contains(element));
                (*bound, more.count())
            }
        };
        if items + more <= bound as usize {
            return Ok(Vec::new());
        }
        let full = Message {
            rule: "max_items",
            text: format!(
                "must have at most {bound} elements, and would have {}",
                items + more
            )
            .into(),
        };
        Ok(vec![(self.path.clone(), full)])
    }
}

/// The position that must be free for so many more elements; none when only a missing array has room.
fn last_free(bound: u32, more: usize) -> Option<usize> {
    (bound as usize).checked_sub(more)
}

/// The stage that fails an update by a pipeline when an array is longer than its bound.
pub(crate) fn guard_stage(bounds: &[(String, u32)]) -> Document {
    let branches = bounds.iter().map(|(path, bound)| {
        // A conversion that fails with a text that names itself and the array; it depends on the document, so that it is
        // made only then.
        let name = doc! { "$literal": format!("{path}: ") };
        let fail = doc! { "$toInt": { "$concat": [GUARD, name, { "$toString": size(path) }] } };
        doc! { "case": { "$gt": [size(path), i64::from(*bound)] }, "then": fail }
    });
    let branches: Vec<Document> = branches.collect();
    doc! { "$replaceWith": { "$switch": { "branches": branches, "default": "$$ROOT" } } }
}

/// The stage that fails an upsert by a pipeline when it would insert: when there is no version.
pub(crate) fn existing_stage(version: &str) -> Document {
    let found = doc! { "$type": format!("${version}") };
    // It depends on the document, so that it is made only then.
    let fail = doc! { "$toInt": { "$concat": [NOT_STORED, found.clone()] } };
    doc! { "$replaceWith": { "$cond": [{ "$eq": [found, "missing"] }, fail, "$$ROOT"] } }
}

/// What the error of [`existing_stage`] says.
pub(crate) const NOT_STORED: &str = "odm: the document is not stored: ";

/// What the error of [`guard_stage`] says.
pub(crate) const GUARD: &str = "odm: an array is longer than its bound: ";

fn size(path: &str) -> Document {
    doc! { "$size": { "$cond": [{ "$isArray": format!("${path}") }, format!("${path}"), []] } }
}
