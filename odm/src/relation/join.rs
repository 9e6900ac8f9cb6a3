//! The same relations by `$lookup`, in one round trip.

use std::collections::HashMap;

use bson::{RawDocument, RawDocumentBuf, rawdoc};

use super::plan::{Forward, Node, Plan, and, scoped};
use super::shelf::{Group, Kept, Shelf};
use super::stored::malformed;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};

/// The name under which the pipeline carries the document itself.
pub(crate) const DOCUMENT: &str = "d";

/// The stages that join what the plan loads, after the stages that choose the documents.
///
/// # Errors
/// `InvalidArgument` for a relation that no `$lookup` reaches.
pub(crate) fn stages(plan: &Plan, parents: &Target) -> Result<Vec<RawDocumentBuf>> {
    let mut stages = vec![rawdoc! { "$replaceWith": { "d": "$$ROOT" } }];
    add(plan, DOCUMENT, parents, &mut stages)?;
    Ok(stages)
}

fn add(plan: &Plan, at: &str, parents: &Target, stages: &mut Vec<RawDocumentBuf>) -> Result<()> {
    match &plan.0 {
        Node::Nothing => Ok(()),
        Node::All(plans) => plans.iter().try_for_each(|plan| add(plan, at, parents, stages)),
        Node::Inside { map: true, .. } => Err(not_joined("the values of a map cannot be joined; load them")),
        Node::Inside { path, inner, .. } => add(inner, &format!("{at}.{}", path.text()), parents, stages),
        Node::Forward(forward) => {
            let target = forward.target(parents)?;
            let into = field(stages.len());
            let mut lookup = rawdoc! {
                "from": target.namespace().collection.as_str(),
                "localField": format!("{at}.{}", forward.path.text()),
                "foreignField": forward.key.text(),
                "as": into.as_str(),
            };
            let mut inner = bson::RawArrayBuf::new();
            let conditions = and(scoped(&target, forward.scope)?);
            if !conditions.is_empty() {
                inner.push(rawdoc! { "$match": conditions });
            }
            if let Some(projection) = forward.projection()? {
                inner.push(rawdoc! { "$project": projection });
            }
            if !inner.is_empty() {
                lookup.append(bson::cstr!("pipeline"), inner);
            }
            stages.push(rawdoc! { "$lookup": lookup });
            add(&forward.nested, &into, &target, stages)
        }
        Node::Inverse(inverse) if inverse.counted => Err(not_joined("a count cannot be joined; load it")),
        Node::Inverse(inverse) if inverse.field.has_values() => Err(not_joined(
            "what refers from the values of a map cannot be joined; load it",
        )),
        Node::Inverse(inverse) => {
            let target = (inverse.open)(parents, None, &inverse.collection)?;
            let into = field(stages.len());
            let local = format!("{at}.{}", inverse.key.text());
            stages.push(inverse.lookup(&local, &into, parents, &target)?);
            add(&inverse.nested, &into, &target, stages)
        }
    }
}

/// The shelf of one row of the pipeline.
pub(crate) fn joined(plan: &Plan, parents: &Target, row: &RawDocument) -> Result<Shelf> {
    shelf(plan, parents, row, &mut 1)
}

fn shelf(plan: &Plan, parents: &Target, row: &RawDocument, next: &mut usize) -> Result<Shelf> {
    Ok(Shelf(match &plan.0 {
        Node::Nothing => Kept::Nothing,
        Node::All(plans) => {
            let shelves = plans.iter().map(|plan| shelf(plan, parents, row, next));
            Kept::All(shelves.collect::<Result<_>>()?)
        }
        Node::Inside { inner, .. } => Kept::Inside(Box::new(shelf(inner, parents, row, next)?)),
        Node::Forward(forward) => {
            let target = forward.target(parents)?;
            let mut group = Group::new(target.clone());
            group.keep(Box::new(documents(row, next)?), |document, found| {
                if let Some(key) = forward.key.one(document)? {
                    found(key, false);
                }
                Ok(())
            })?;
            *group.nested = shelf(&forward.nested, &target, row, next)?;
            Kept::Forward(HashMap::from([((None, None), group)]))
        }
        Node::Inverse(inverse) => {
            let target = (inverse.open)(parents, None, &inverse.collection)?;
            let mut group = Group::new(target.clone());
            let here = parents.namespace().collection.clone();
            group.keep(Box::new(documents(row, next)?), |document, found| {
                inverse.referred(document, &here, &mut |key| found(key, false))
            })?;
            *group.nested = shelf(&inverse.nested, &target, row, next)?;
            Kept::Inverse(Box::new(group))
        }
    }))
}

/// The documents that the next `$lookup` joined.
fn documents(row: &RawDocument, next: &mut usize) -> Result<Vec<RawDocumentBuf>> {
    let name = field(*next);
    *next += 1;
    let mut all = Vec::new();
    for element in row.get_array(name).map_err(malformed)? {
        all.extend(
            element
                .map_err(malformed)?
                .as_document()
                .map(RawDocument::to_owned),
        );
    }
    Ok(all)
}

/// The name of what the stage at this position joins.
fn field(position: usize) -> String {
    format!("j{position}")
}

fn not_joined(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, message)
}

impl Forward {
    fn target(&self, parents: &Target) -> Result<Target> {
        let aim = (self.aim)(None)?;
        let collection = self.collection.as_deref().unwrap_or(&aim.collection);
        (aim.open)(parents, None, collection)
    }
}
