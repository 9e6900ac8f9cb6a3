//! What is known of a database, and the models that hold it.

use std::fmt;

use bson::Document;

use super::choice::is_struct;
use super::place::{Step, text};
use super::plan::Plan;
use super::shape::{DocumentShape, Shape};
use super::source::Source;
use super::{Inspected, Settings};
use crate::codec::kind_name;
use crate::collection::IndexInfo;

/// The models of a database, as its documents, indexes and validators tell them: what
/// [`Db::infer_models`](crate::Db::infer_models) gives.
///
/// [`collections`](InferredModels::collections) is what was found; [`to_rust`](InferredModels::to_rust), or `Display`, is
/// the source.
#[derive(Debug)]
pub struct InferredModels {
    collections: Vec<InferredCollection>,
    inspected: Vec<Inspected>,
    plan: Plan,
}

/// What was found of a collection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InferredCollection {
    /// The name.
    pub name: String,
    /// `collection`, `view` or `timeseries`.
    pub kind: String,
    /// What it was created with, in the words of MongoDB's command `create`.
    pub options: Document,
    /// The indexes but that of `_id`.
    pub indexes: Vec<IndexInfo>,
    /// How many documents were looked at.
    pub looked_at: u64,
    /// The fields, each before those that are in it.
    pub fields: Vec<InferredField>,
    /// The name of the model, or of the enum of all kinds; none where no model can hold the documents.
    pub model: Option<String>,
    /// What is to be known of it: why there is no model, what could be one.
    pub notes: Vec<String>,
}

/// What was found at one place of a collection's documents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InferredField {
    /// Where: `address.city`, `lines[].sku` in the elements of an array, `votes.*` in documents whose names are data.
    pub path: String,
    /// How many documents could have it: those around it.
    pub within: u64,
    /// How many values there are, nulls included.
    pub seen: u64,
    /// How many values of each type, in MongoDB's words: `("string", 3)`.
    pub types: Vec<(&'static str, u64)>,
    /// The least and the greatest number of elements of arrays.
    pub lengths: Option<(u64, u64)>,
    /// Whether it holds documents whose names are data.
    pub is_map: bool,
    /// The different texts, where they are 16 at the most, of 64 bytes at the most.
    pub texts: Option<Vec<String>>,
    /// The collections in which its values were found as `_id`, the likeliest first.
    pub references: Vec<FoundReference>,
}

/// A collection in which values were found as `_id`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundReference {
    /// The collection.
    pub collection: String,
    /// How many values were looked for.
    pub looked_up: u64,
    /// How many of them were found.
    pub found: u64,
}

impl InferredField {
    /// The share of documents that do not have it, from 0 to 1.
    pub fn missing(&self) -> f64 {
        ratio(self.within.saturating_sub(self.seen), self.within)
    }

    /// The share of values that are null, from 0 to 1.
    pub fn null(&self) -> f64 {
        self.share_of("null")
    }

    /// The share of values that are of this type, from 0 to 1.
    pub fn share_of(&self, kind: &str) -> f64 {
        let count = self.types.iter().find(|(name, _)| *name == kind);
        ratio(count.map_or(0, |(_, count)| *count), self.seen)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share is no count")]
fn ratio(count: u64, of: u64) -> f64 {
    match of {
        0 => 0.0,
        of => count as f64 / of as f64,
    }
}

impl InferredCollection {
    /// The field at this path, as [`InferredField::path`] has it.
    pub fn field(&self, path: &str) -> Option<&InferredField> {
        self.fields.iter().find(|field| field.path == path)
    }
}

impl InferredModels {
    pub(crate) fn of(
        inspected: Vec<Inspected>,
        references: &[(usize, String, Vec<FoundReference>)],
        settings: Settings,
    ) -> InferredModels {
        let plan = Plan::of(&inspected, settings);
        let collections = inspected.iter().enumerate().map(|(at, collection)| {
            let mut fields = Vec::new();
            document(&collection.documents, &mut Vec::new(), settings, &mut fields);
            for (_, path, found) in references.iter().filter(|(of, ..)| *of == at) {
                if let Some(field) = fields.iter_mut().find(|field| field.path == *path) {
                    field.references.clone_from(found);
                }
            }
            InferredCollection {
                name: collection.name.clone(),
                kind: collection.kind.clone(),
                options: collection.options.clone(),
                indexes: collection.indexes.clone(),
                looked_at: collection.looked_at,
                fields,
                model: plan.model_of(&inspected, &collection.name).map(ToOwned::to_owned),
                notes: plan
                    .collections
                    .get(at)
                    .map(|planned| planned.notes.clone())
                    .unwrap_or_default(),
            }
        });
        InferredModels {
            collections: collections.collect(),
            plan,
            inspected,
        }
    }

    /// What was found, by the names of the collections.
    pub fn collections(&self) -> &[InferredCollection] {
        &self.collections
    }

    /// What was found of one collection.
    pub fn collection(&self, name: &str) -> Option<&InferredCollection> {
        self.collections.iter().find(|collection| collection.name == name)
    }

    /// The models as a module of Rust, which needs `odm` and `serde` with its derive. The same findings give the same
    /// source.
    pub fn to_rust(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for InferredModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let source = Source {
            inspected: &self.inspected,
            plan: &self.plan,
        };
        source.fmt(f)
    }
}

fn document(
    documents: &DocumentShape,
    at: &mut Vec<Step>,
    settings: Settings,
    fields: &mut Vec<InferredField>,
) {
    for (name, shape) in &documents.fields {
        at.push(Step::Name(name.clone()));
        value(shape, documents.count, at, settings, fields);
        at.pop();
    }
    if let Some(values) = &documents.values {
        at.push(Step::Values);
        value(values, documents.count, at, settings, fields);
        at.pop();
    }
}

fn value(
    shape: &Shape,
    within: u64,
    at: &mut Vec<Step>,
    settings: Settings,
    fields: &mut Vec<InferredField>,
) {
    let is_map = shape.documents.as_deref().is_some_and(|documents| {
        let is_empty = documents.fields.is_empty() && documents.values.is_none();
        !is_empty && !documents.is_outer && !is_struct(documents, settings)
    });
    fields.push(InferredField {
        path: text(at),
        within: if at.last() == Some(&Step::Elements) {
            shape.seen
        } else {
            within
        },
        seen: shape.seen,
        types: shape
            .types
            .iter()
            .map(|(kind, count)| (word(*kind), *count))
            .collect(),
        lengths: shape.arrays.as_ref().map(|arrays| (arrays.least, arrays.most)),
        is_map,
        texts: shape.texts.few().map(|texts| texts.iter().cloned().collect()),
        references: Vec::new(),
    });
    if let Some(documents) = &shape.documents {
        match is_map {
            true => {
                let values = documents.united();
                at.push(Step::Values);
                value(&values, documents.count, at, settings, fields);
                at.pop();
            }
            false => document(documents, at, settings, fields),
        }
    }
    if let Some(arrays) = &shape.arrays {
        at.push(Step::Elements);
        value(&arrays.items, 0, at, settings, fields);
        at.pop();
    }
}

/// What `$type` calls it.
fn word(kind: u8) -> &'static str {
    match kind_name(kind) {
        "document" => "object",
        other => other,
    }
}
