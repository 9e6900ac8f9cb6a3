//! What must hold of the stored document for an update to be made: the bounds of arrays and numbers, as conditions of
//! the same write.

use bson::{Bson, Document, RawArrayBuf, RawBson, RawBsonRef, RawDocument, RawDocumentBuf, doc};

use super::document;
use super::sum::Sum;
use super::taken::Taken;
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
    /// The array is there, because what is added would be too few elements by themselves.
    BeThere { least: u32, given: usize },
    /// The array has so many elements left when these are taken out, or none of them.
    Leave { least: u32, taken: Taken },
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
            Must::HaveRoom { bound, more } => room(path, *bound, *more),
            Must::HaveRoomFor { bound, elements } => match elements.as_slice() {
                [element] => {
                    let element = Bson::try_from(element.clone()).unwrap_or(Bson::Null);
                    doc! { "$or": [room(path, *bound, 1), { path: { "$elemMatch": { "$eq": element } } }] }
                }
                elements => {
                    let (array, elements) = (array_at(path), literals(elements));
                    doc! { "$expr": { "$lte": [
                        { "$add": [
                            { "$size": array.clone() },
                            { "$size": { "$setDifference": [{ "$literal": elements }, array] } },
                        ] },
                        i64::from(*bound),
                    ] } }
                }
            },
            Must::BeThere { .. } => doc! { path: { "$exists": true } },
            Must::Leave { least, taken } => taken.leaves(path, *least),
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
        let too_few = |least: u32, items: usize| {
            let text = format!("must have at least {least} elements, and would have {items}");
            let message = Message {
                rule: "length",
                text: text.into(),
            };
            Ok(vec![(self.path.clone(), message)])
        };
        let (bound, more) = match &self.must {
            Must::BeThere { least, given } if value.is_none() => return too_few(*least, *given),
            Must::BeThere { .. } => return Ok(Vec::new()),
            Must::Leave { least, taken } => {
                return match value {
                    Some(RawBsonRef::Array(array)) => match taken.left(array) {
                        left if left < items && left < *least as usize => too_few(*least, left),
                        _ => Ok(Vec::new()),
                    },
                    _ => Ok(Vec::new()),
                };
            }
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

/// That an array has room for so many more elements, or is not there.
fn room(path: &str, bound: u32, more: usize) -> Document {
    let Some(most) = (bound as usize).checked_sub(more) else {
        return doc! { path: { "$in": [] } };
    };
    match schema_at(path, doc! { "maxItems": i64::try_from(most).unwrap_or(i64::MAX) }) {
        Some(schema) => schema,
        // Also says no where an element has a field of this name.
        None => doc! { format!("{path}.{most}"): { "$exists": false } },
    }
}

/// That what stands at the path is of this schema, or is not there; none where a position in the path is so far behind
/// that a schema would be too large.
pub(super) fn schema_at(path: &str, schema: Document) -> Option<Document> {
    const FAR: usize = 1_000;
    let position = |name: &str| name.parse::<usize>().ok();
    let mut positions = path.split('.').filter_map(position);
    if positions.any(|position| position > FAR) {
        return None;
    }
    let schema = path
        .rsplit('.')
        .fold(schema, |schema, name| match position(name) {
            None => doc! { "properties": { name: schema } },
            Some(position) => {
                let mut items = vec![doc! {}; position];
                items.push(schema.clone());
                doc! { "properties": { name: schema }, "items": items }
            }
        });
    Some(doc! { "$jsonSchema": schema })
}

/// The expression of the array at a dotted path; of an empty one where none is there.
pub(super) fn array_at(path: &str) -> Document {
    doc! { "$let": {
        "vars": { "array": value_at(path) },
        "in": { "$cond": [{ "$isArray": "$$array" }, "$$array", []] },
    } }
}

/// The elements as an expression takes them under `$literal`.
pub(super) fn literals(elements: &[RawBson]) -> Vec<Bson> {
    let elements = elements.iter().cloned();
    elements
        .map(|element| Bson::try_from(element).unwrap_or(Bson::Null))
        .collect()
}

/// The expression of the value at a dotted path through documents, and through arrays by positions.
fn value_at(path: &str) -> Bson {
    let mut names = path.split('.');
    let first = Bson::from(format!("${}", names.next().unwrap_or_default()));
    names.fold(first, |outer, name| {
        let field = format!("$$outer.{name}");
        let inner = match name.parse::<i32>() {
            Ok(position) => bson::bson!({ "$cond": [
                { "$isArray": "$$outer" },
                { "$arrayElemAt": ["$$outer", position] },
                field,
            ] }),
            Err(_) => field.into(),
        };
        bson::bson!({ "$let": { "vars": { "outer": outer }, "in": inner } })
    })
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
