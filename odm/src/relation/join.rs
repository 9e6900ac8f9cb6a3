//! The same relations by `$lookup`, in one round trip.
//!
//! A `$lookup` from an array joins for all of its documents at once, which is what most relations want. One that gives
//! some for each parent has its `$lookup` inside of the one that joins the parents: a row of its own for each of them.

use std::collections::{HashMap, HashSet};

use bson::{Document, RawArrayBuf, RawDocument, RawDocumentBuf, rawdoc};

use super::fetch::inside;
use super::identity::Identity;
use super::plan::{Forward, Inverse, Node, Plan, and, scoped};
use super::shelf::{Group, Kept, Shelf};
use super::stored::malformed;
use crate::collection::Target;
use crate::error::{Error, ErrorKind, Result};

/// The name under which the pipeline carries the document itself.
pub(crate) const DOCUMENT: &str = "d";

/// How a find is joined with what belongs to its documents.
#[derive(Debug)]
pub(crate) struct Joining {
    /// The collation of the find, by which the whole pipeline compares; nothing for the comparison of bytes.
    pub(crate) collation: Option<Document>,
}

impl Joining {
    /// The stages that join what the plan loads, after the stages that choose the documents.
    ///
    /// # Errors
    /// `InvalidArgument` for a relation that no `$lookup` reaches, or that compares by another collation.
    pub(crate) fn stages(&self, plan: &Plan, parents: &Target) -> Result<Vec<RawDocumentBuf>> {
        let mut stages = vec![rawdoc! { "$replaceWith": { "d": "$$ROOT" } }];
        self.add(plan, DOCUMENT, parents, &mut stages)?;
        Ok(stages)
    }

    fn add(&self, plan: &Plan, at: &str, parents: &Target, stages: &mut Vec<RawDocumentBuf>) -> Result<()> {
        match &plan.0 {
            Node::Nothing => Ok(()),
            Node::All(plans) => plans
                .iter()
                .try_for_each(|plan| self.add(plan, at, parents, stages)),
            Node::Inside { map: true, .. } => {
                Err(not_joined("the values of a map cannot be joined; load them"))
            }
            Node::Inside { path, inner, .. } => {
                let at = format!("{at}.{}", path.text());
                self.add(inner, &at, parents, stages)
            }
            Node::Forward(forward) => {
                let target = forward.target(parents)?;
                let into = field(stages.len());
                let mut lookup = rawdoc! {
                    "from": target.namespace().collection.as_str(),
                    "localField": format!("{at}.{}", forward.path.text()),
                    "foreignField": forward.key.text(),
                    "as": into.as_str(),
                };
                let mut inner = Vec::new();
                let conditions = and(scoped(&target, forward.scope)?);
                if !conditions.is_empty() {
                    inner.push(rawdoc! { "$match": conditions });
                }
                if let Some(projection) = forward.projection()? {
                    inner.push(rawdoc! { "$project": projection });
                }
                self.nest(&forward.nested, &target, &mut inner)?;
                refine(&mut lookup, inner);
                stages.push(rawdoc! { "$lookup": lookup });
                self.follow(&forward.nested, &into, &target, stages)
            }
            Node::Inverse(inverse) if inverse.counted => Err(not_joined("a count cannot be joined; load it")),
            Node::Inverse(inverse) if inverse.field.has_values() => Err(not_joined(
                "what refers from the values of a map cannot be joined; load it",
            )),
            Node::Inverse(inverse) => {
                let target = (inverse.open)(parents, None, &inverse.collection)?;
                if (inverse.filter.is_some() || inverse.sort.is_some()) && inverse.collation != self.collation
                {
                    let text =
                        "a join compares by the find's collation, and what refers has another one; load it";
                    return Err(target.explain(not_joined(text), "aggregate"));
                }
                let into = field(stages.len());
                let local = format!("{at}.{}", inverse.key.text());
                let (mut lookup, mut inner) =
                    inverse.lookup(&local, &into, parents, &target, self.cuts(inverse))?;
                self.nest(&inverse.nested, &target, &mut inner)?;
                refine(&mut lookup, inner);
                stages.push(rawdoc! { "$lookup": lookup });
                self.follow(&inverse.nested, &into, &target, stages)
            }
        }
    }

    /// Joins what belongs to the documents of a `$lookup` inside of it, if that gives some for each.
    fn nest(&self, nested: &Plan, target: &Target, inner: &mut Vec<RawDocumentBuf>) -> Result<()> {
        if self.is_nested(nested) {
            inner.extend(self.stages(nested, target)?);
        }
        Ok(())
    }

    /// Joins what belongs to the documents of a `$lookup` after it.
    fn follow(
        &self,
        nested: &Plan,
        at: &str,
        target: &Target,
        stages: &mut Vec<RawDocumentBuf>,
    ) -> Result<()> {
        match self.is_nested(nested) {
            true => Ok(()),
            false => self.add(nested, at, target, stages),
        }
    }

    fn is_nested(&self, plan: &Plan) -> bool {
        match &plan.0 {
            Node::All(plans) => plans.iter().any(|plan| self.is_nested(plan)),
            Node::Inverse(inverse) => self.cuts(inverse),
            Node::Nothing | Node::Inside { .. } | Node::Forward(_) => false,
        }
    }

    /// Whether the pipeline leaves some for each parent. Otherwise all are joined, and cut in memory: where one
    /// `$lookup` is for many parents, and where it can meet what refers to something else.
    fn cuts(&self, inverse: &Inverse) -> bool {
        inverse.is_cut() && !inverse.embedded && self.collation.is_none() && !inverse.is_loose()
    }

    /// The shelf of one row of the pipeline, of which this is the document itself.
    pub(crate) fn joined(
        &self,
        plan: &Plan,
        parents: &Target,
        document: &RawDocument,
        row: &RawDocument,
    ) -> Result<Shelf> {
        self.shelf(plan, parents, &[document], row, &mut 1)
    }

    fn shelf(
        &self,
        plan: &Plan,
        parents: &Target,
        documents: &[&RawDocument],
        row: &RawDocument,
        next: &mut usize,
    ) -> Result<Shelf> {
        Ok(Shelf(match &plan.0 {
            Node::Nothing => Kept::Nothing,
            Node::All(plans) => {
                let shelves = plans
                    .iter()
                    .map(|plan| self.shelf(plan, parents, documents, row, next));
                Kept::All(shelves.collect::<Result<_>>()?)
            }
            Node::Inside { path, map, inner } => {
                let mut embedded = Vec::new();
                for document in documents {
                    inside(path.one(document)?, *map, &mut |value| {
                        embedded.extend(value.as_document());
                        Ok(())
                    })?;
                }
                let shelf = self.shelf(inner, parents, &embedded, row, next)?;
                Kept::Inside(Box::new(shelf))
            }
            Node::Forward(forward) => {
                let target = forward.target(parents)?;
                let mut group = Group::new(target.clone());
                let joined = self.documents(&forward.nested, &target, row, next)?;
                group.keep(Box::new(joined.documents), |document, found| {
                    if let Some(key) = forward.key.one(document)? {
                        found(key, false);
                    }
                    Ok(())
                })?;
                *group.nested = match joined.nested {
                    Some(nested) => nested,
                    None => {
                        let documents = group.documents();
                        self.shelf(&forward.nested, &target, &documents, row, next)?
                    }
                };
                Kept::Forward(HashMap::from([((None, None), group)]))
            }
            Node::Inverse(inverse) => {
                let target = (inverse.open)(parents, None, &inverse.collection)?;
                let mut group = Group::new(target.clone());
                let here = parents.namespace();
                let mut wanted = HashSet::new();
                for document in documents {
                    wanted.extend(inverse.key.one(document)?.map(Identity::of));
                }
                let joined = self.documents(&inverse.nested, &target, row, next)?;
                // What refers to other documents too is theirs only where it was joined to them.
                group.keep(Box::new(joined.documents), |document, found| {
                    inverse.referred(document, here, &mut |key| {
                        if wanted.contains(&Identity::of(key)) {
                            found(key, false);
                        }
                    })
                })?;
                if inverse.is_cut() && !self.cuts(inverse) {
                    group.cut(&wanted, inverse.skip, inverse.limit);
                }
                *group.nested = match joined.nested {
                    Some(nested) => nested,
                    None => {
                        let documents = group.documents();
                        self.shelf(&inverse.nested, &target, &documents, row, next)?
                    }
                };
                Kept::Inverse(Box::new(group))
            }
        }))
    }

    /// What the next `$lookup` joined.
    fn documents(
        &self,
        nested: &Plan,
        target: &Target,
        row: &RawDocument,
        next: &mut usize,
    ) -> Result<Joined> {
        let name = field(*next);
        *next += 1;
        let is_nested = self.is_nested(nested);
        let mut joined = Joined {
            documents: Vec::new(),
            nested: None,
        };
        if is_nested {
            joined.nested = Some(Shelf(Kept::Nothing));
        }
        for element in row.get_array(name).map_err(malformed)? {
            let Some(element) = element.map_err(malformed)?.as_document() else {
                continue;
            };
            let document = match &mut joined.nested {
                None => element,
                Some(shelf) => {
                    let document = element.get_document(DOCUMENT).map_err(malformed)?;
                    shelf.add(self.joined(nested, target, document, element)?);
                    document
                }
            };
            joined.documents.push(document.to_owned());
        }
        Ok(joined)
    }
}

/// The documents that a `$lookup` joined; what belongs to them, where it was joined inside.
struct Joined {
    documents: Vec<RawDocumentBuf>,
    nested: Option<Shelf>,
}

/// Gives a `$lookup` stages of its own, if there are any.
pub(super) fn refine(lookup: &mut RawDocumentBuf, stages: Vec<RawDocumentBuf>) {
    if stages.is_empty() {
        return;
    }
    let mut pipeline = RawArrayBuf::new();
    for stage in stages {
        pipeline.push(stage);
    }
    lookup.append(bson::cstr!("pipeline"), pipeline);
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
