//! Which metadata the stages ask for, and whether there are such.

use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::metadata::{Kind, Wanted};
use super::super::stage::Stage;
use super::{IN_RUN, Pipeline};

impl Pipeline {
    /// Finds out which metadata the stages ask for, which are given as they were parsed from.
    ///
    /// # Errors
    /// Code 40218 for those that nothing gives, 2 for the values of an order that there is not.
    pub(crate) fn ask(&mut self, stages: &[Doc<'_>]) -> Result<()> {
        self.wanted = asked(stages)?;
        for stage in &mut self.stages {
            match stage {
                Stage::Match(_) | Stage::Lookup(_) | Stage::Unwind(_) => {}
                Stage::Sort(sort) => {
                    sort.is_first = true;
                    break;
                }
                _ => break,
            }
        }
        Ok(())
    }
}

fn asked(stages: &[Doc<'_>]) -> Result<Wanted> {
    let given = Given::by(stages);
    let mut wanted = Wanted::default();
    // What is given to the stages that a union takes over.
    let mut union: Option<Given> = None;
    let mut is_read = true;
    for (position, stage) in stages.iter().enumerate() {
        let own = mentioned(*stage);
        own.check(given.searches, given.measures)?;
        let name = stage.elements().next().map_or("", |first| first.name_str());
        match name {
            "$match" => refuse_in_filter(own, position == 0 && given.searches)?,
            "$unionWith" => union = Some(Given::by_union(*stage)),
            _ if !is_transforming(name) => union = None,
            _ => {}
        }
        if let Some(union) = &union {
            own.check(union.searches, union.measures)
                .map_err(|fault| fault.while_running(IN_RUN))?;
        }
        let is_union_read = union.as_ref().is_some_and(|union| union.is_plain);
        if name == "$project" && own.has(Kind::SortKey) && (is_read || is_union_read) {
            return Err(no_order());
        }
        if name != "$match" && name != "$unionWith" {
            is_read = false;
            if let Some(union) = &mut union {
                union.is_plain = false;
            }
        }
        is_read &= name == "$match";
        wanted = wanted.and(own);
    }
    Ok(wanted)
}

/// The fault of the values of an order that there is not.
pub(crate) fn no_order() -> Fault {
    Fault::new(
        code::BAD_VALUE,
        "cannot use sortKey $meta projection without a sort",
    )
}

/// What the first stages of a pipeline know of the documents.
struct Given {
    searches: bool,
    measures: bool,
    /// Whether the documents are read as they are, but for a filter.
    is_plain: bool,
}

impl Given {
    fn by(stages: &[Doc<'_>]) -> Given {
        let searches = match stages.first().and_then(|stage| stage.get("$match")) {
            Some(Value::Document(filter)) => mentions_text(filter),
            _ => false,
        };
        Given {
            searches,
            measures: stages.iter().any(|stage| stage.get("$geoNear").is_some()),
            is_plain: stages.iter().all(|stage| stage.get("$match").is_some()),
        }
    }

    fn by_union(stage: Doc<'_>) -> Given {
        let pipeline = match stage.get("$unionWith") {
            Some(Value::Document(spec)) => spec.get("pipeline"),
            _ => None,
        };
        let stages: Vec<Doc<'_>> = match pipeline {
            Some(Value::Array(stages)) => stages.values().filter_map(|stage| stage.as_document()).collect(),
            _ => Vec::new(),
        };
        Given::by(&stages)
    }
}

/// Whether the stage makes one document of one, so that a union lets its pipeline do it.
fn is_transforming(name: &str) -> bool {
    matches!(
        name,
        "$project" | "$unset" | "$addFields" | "$set" | "$replaceRoot" | "$replaceWith"
    )
}

/// A filter knows nothing of how a document is found, but for the one that searches.
fn refuse_in_filter(own: Wanted, is_search: bool) -> Result<()> {
    let known = [
        Kind::RandVal,
        Kind::SortKey,
        Kind::RecordId,
        Kind::IndexKey,
        Kind::GeoNearDistance,
        Kind::GeoNearPoint,
    ];
    let mut refused = known.into_iter().filter(|kind| own.has(*kind));
    match refused.next() {
        Some(kind) => Err(kind.unavailable()),
        None if own.has(Kind::TextScore) && !is_search => Err(Kind::TextScore.unavailable()),
        None => Ok(()),
    }
}

/// Whether a filter searches texts. Iterative.
fn mentions_text(filter: Doc<'_>) -> bool {
    let mut open = vec![filter];
    while let Some(doc) = open.pop() {
        for element in doc.elements() {
            if element.name_str() == "$text" {
                return true;
            }
            if let Value::Document(inner) | Value::Array(inner) = element.value()
                && !is_literal(element.name_str())
            {
                open.push(inner);
            }
        }
    }
    false
}

/// The metadata that a stage asks for, pipelines of other collections and literals left aside. Iterative.
fn mentioned(stage: Doc<'_>) -> Wanted {
    let mut wanted = Wanted::default();
    let mut open = vec![stage];
    while let Some(doc) = open.pop() {
        for element in doc.elements() {
            let (name, value) = (element.name_str(), element.value());
            match value {
                Value::String(text) if name == "$meta" => {
                    Kind::parse(text).into_iter().for_each(|kind| wanted.add(kind));
                }
                // What is known here goes into the other pipeline by variables.
                Value::Document(spec) if name == "$lookup" => {
                    if let Some(Value::Document(variables)) = spec.get("let") {
                        open.push(variables);
                    }
                }
                Value::Document(inner) | Value::Array(inner) if name != "$unionWith" && !is_literal(name) => {
                    open.push(inner);
                }
                _ => {}
            }
        }
    }
    wanted
}

fn is_literal(name: &str) -> bool {
    matches!(name, "$literal" | "$const")
}
