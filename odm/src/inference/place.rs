//! Where values are in documents, and the values that could refer to other documents.

use bson::Bson;
use bson::spec::ElementType;

use super::shape::{DocumentShape, Shape};

/// A step from a document to what is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A field.
    Name(String),
    /// The elements of an array.
    Elements,
    /// The values of documents whose names are data.
    Values,
}

/// A place with values that could be keys of other documents.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    steps: Vec<Step>,
    /// Some of the values.
    pub(crate) keys: Vec<Bson>,
}

impl Place {
    /// All places in these documents whose values could refer to others: of one type that an `_id` has.
    pub(crate) fn all(documents: &DocumentShape) -> Vec<Place> {
        let mut places = Vec::new();
        visit(documents, &mut Vec::new(), &mut |steps, shape| {
            let kinds = shape.kinds();
            let of = |allowed: &[ElementType]| {
                !kinds.is_empty()
                    && kinds
                        .iter()
                        .all(|kind| allowed.iter().any(|one| *one as u8 == *kind))
            };
            let is_key = of(&[ElementType::ObjectId])
                || of(&[ElementType::String])
                || of(&[ElementType::Int32, ElementType::Int64])
                || (of(&[ElementType::Binary]) && shape.uuids == shape.of(ElementType::Binary));
            let is_own = matches!(steps, [Step::Name(name), ..] if name == "_id");
            if is_key && !is_own && !shape.keys.is_empty() {
                places.push(Place {
                    steps: steps.to_vec(),
                    keys: shape.keys.clone(),
                });
            }
        });
        places
    }

    /// The name of the field that has the values.
    pub(crate) fn name(&self) -> &str {
        let name = |step: &Step| matches!(step, Step::Name(_));
        match self.steps.iter().rposition(name).map(|at| &self.steps[at]) {
            // The `$id` of a reference is named by the field around it.
            Some(Step::Name(name)) if name == "$id" => {
                let mut outer = self.steps.iter().rev().filter_map(|step| match step {
                    Step::Name(name) if name != "$id" => Some(name.as_str()),
                    _ => None,
                });
                outer.next().unwrap_or_default()
            }
            Some(Step::Name(name)) => name,
            _ => "",
        }
    }

    /// As it is shown.
    pub(crate) fn path(&self) -> String {
        text(&self.steps)
    }

    /// Says of the place that its values refer to documents of this collection.
    pub(crate) fn refer(&self, documents: &mut DocumentShape, target: &str) {
        let Some((Step::Name(first), rest)) = self.steps.split_first() else {
            return;
        };
        let place = documents.fields.iter_mut().find(|(name, _)| name == first);
        let mut shape = place.map(|(_, shape)| shape);
        for step in rest {
            shape = match (step, shape) {
                (
                    Step::Elements,
                    Some(Shape {
                        arrays: Some(arrays), ..
                    }),
                ) => Some(&mut arrays.items),
                (
                    Step::Name(wanted),
                    Some(Shape {
                        documents: Some(documents),
                        ..
                    }),
                ) => documents
                    .fields
                    .iter_mut()
                    .find(|(name, _)| name == wanted)
                    .map(|(_, shape)| shape),
                (
                    Step::Values,
                    Some(Shape {
                        documents: Some(documents),
                        ..
                    }),
                ) => documents.values.as_deref_mut(),
                _ => None,
            };
        }
        if let Some(shape) = shape {
            shape.target = Some(target.to_owned());
        }
    }
}

/// Steps as a path: `lines[].sku`, `votes.*`.
pub(crate) fn text(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Name(name) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(name);
            }
            Step::Elements => text.push_str("[]"),
            Step::Values => text.push_str(".*"),
        }
    }
    text
}

/// Calls `see` for everything in the documents, the outer before the inner.
pub(crate) fn visit(documents: &DocumentShape, at: &mut Vec<Step>, see: &mut dyn FnMut(&[Step], &Shape)) {
    for (name, shape) in &documents.fields {
        at.push(Step::Name(name.clone()));
        visit_value(shape, at, see);
        at.pop();
    }
    if let Some(values) = &documents.values {
        at.push(Step::Values);
        visit_value(values, at, see);
        at.pop();
    }
}

fn visit_value(shape: &Shape, at: &mut Vec<Step>, see: &mut dyn FnMut(&[Step], &Shape)) {
    see(at, shape);
    if let Some(documents) = &shape.documents {
        visit(documents, at, see);
    }
    if let Some(arrays) = &shape.arrays {
        at.push(Step::Elements);
        visit_value(&arrays.items, at, see);
        at.pop();
    }
}
