//! `$unionWith`.

use std::sync::Arc;

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Once, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::matcher::Matcher;
use super::super::pipeline::{Asked, Read};
use super::{
    Context, Match, Names, Pipeline, Place, Rows, Scope, collection_name, parse_nested, without_collection,
};

/// The input, then what a pipeline gives over another collection.
#[derive(Clone, Debug)]
pub(crate) struct UnionWith {
    /// `None` for a pipeline that makes its own documents.
    collection: Option<String>,
    pipeline: Pipeline,
    /// The pipeline's stages as given.
    given: Arc<[Vec<u8>]>,
    /// What is asked of all that the pipeline gives.
    asked: Option<Match>,
}

impl UnionWith {
    pub(super) fn parse(value: &Value<'_>, variables: &Names<'_>) -> Result<UnionWith> {
        let empty = || Pipeline::parse_within(&[], variables, Place::Union);
        let spec = match *value {
            Value::String(collection) => {
                return Ok(UnionWith {
                    collection: Some(collection_name(collection)?),
                    pipeline: empty()?,
                    given: Arc::default(),
                    asked: None,
                });
            }
            Value::Document(spec) => spec,
            other => {
                return Err(Fault::new(
                    code::FAILED_TO_PARSE,
                    format!(
                        "the $unionWith stage specification must be an object or string, but found {}",
                        other.kind().alias()
                    ),
                ));
            }
        };
        let (mut collection, mut pipeline, mut given) = (None, None, Vec::new());
        let mut once = Once::within("$unionWith");
        for element in spec.elements() {
            match (element.name_str(), element.value()) {
                // As if it were not there.
                ("coll", Value::Null | Value::Undefined) => {}
                ("coll", Value::String(name)) => collection = Some(collection_name(name)?),
                ("coll", other) => {
                    return Err(Fault::new(
                        code::TYPE_MISMATCH,
                        format!(
                            "BSON field '$unionWith.coll' is the wrong type '{}', expected type 'string'",
                            other.kind().alias()
                        ),
                    ));
                }
                ("pipeline", Value::Array(stages)) => {
                    for (position, stage) in stages.values().enumerate() {
                        match stage {
                            Value::Document(stage) => given.push(stage.to_bytes()),
                            // As if it were not there.
                            Value::Null | Value::Undefined => {}
                            other => {
                                return Err(Fault::new(
                                    code::TYPE_MISMATCH,
                                    format!(
                                        "BSON field '$unionWith.pipeline.{position}' is the wrong type '{}', expected type 'object'",
                                        other.kind().alias()
                                    ),
                                ));
                            }
                        }
                    }
                    let stages = given.iter().cloned().map(Owned::RawDocument).collect();
                    let stages = Owned::Array(stages);
                    pipeline = Some(parse_nested(&stages.as_value(), variables, Place::Union)?);
                }
                ("pipeline", Value::Null | Value::Undefined) => {
                    return Err(Fault::new(
                        10065,
                        "invalid parameter: expected an object (pipeline)",
                    ));
                }
                ("pipeline", other) => {
                    return Err(Fault::new(
                        code::TYPE_MISMATCH,
                        format!(
                            "BSON field '$unionWith.pipeline' is the wrong type '{}', expected type 'array'",
                            other.kind().alias()
                        ),
                    ));
                }
                (other, _) => {
                    return Err(Fault::unknown_field("$unionWith", other));
                }
            }
            once.see(&element)?;
        }
        let own = pipeline.as_ref().is_some_and(Pipeline::starts_with_documents);
        if collection.is_none() && !own {
            return Err(without_collection("$unionWith"));
        }
        Ok(UnionWith {
            collection: collection.filter(|_| !own),
            pipeline: pipeline.map_or_else(empty, Ok)?,
            given: given.into(),
            asked: None,
        })
    }

    /// Filters what it adds.
    pub(in super::super) fn filter(&mut self, filter: Match) {
        self.asked = Some(match self.asked.take() {
            Some(asked) => asked.and(&filter),
            None => filter.clone(),
        });
        self.pipeline.filter(filter);
    }

    /// Tells the early stages of its pipeline.
    pub(in super::super) fn mark_early(&mut self, read: &dyn Fn(&str) -> Read) {
        if let Some(collection) = &self.collection {
            self.pipeline.mark_early(collection, read);
        }
    }

    /// The collection that the pipeline reads, if it reads one.
    pub(crate) fn collection(&self) -> Option<&str> {
        self.collection.as_deref()
    }

    /// The pipeline's stages as given.
    pub(crate) fn given(&self) -> &[Vec<u8>] {
        &self.given
    }

    /// What is asked of all that the pipeline gives, by stages behind this one.
    pub(crate) fn asked(&self) -> Option<&Matcher> {
        self.asked.as_ref().map(Match::matcher)
    }

    /// The collection that the pipeline reads, and the pipeline.
    pub(super) fn read_mut(&mut self) -> (Option<&str>, &mut Pipeline) {
        (self.collection.as_deref(), &mut self.pipeline)
    }

    pub(super) fn pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.pipeline.optimize(known)
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        self.pipeline.collate(collation);
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        // The other collection is read only when the input has ended.
        let mut other: Option<Result<Rows<'a>>> = None;
        let mut input = Some(input);
        Ok(Box::new(std::iter::from_fn(move || {
            if let Some(rows) = &mut input {
                if let Some(row) = rows.next() {
                    return Some(row);
                }
                input = None;
                other = Some(self.others(context));
            }
            match other.take() {
                Some(Ok(mut rows)) => {
                    let row = rows.next();
                    other = Some(Ok(rows));
                    row
                }
                Some(Err(fault)) => Some(Err(fault)),
                None => None,
            }
        })))
    }

    fn others<'a>(&'a self, context: &'a Context<'a>) -> Result<Rows<'a>> {
        if let (Some(stage), Some(collection)) = (self.pipeline.nested_geo_near(), &self.collection) {
            let wanted = context.wanted.and(self.pipeline.wanted());
            let rows = context
                .source
                .near(collection, stage, &context.variables, wanted)?;
            return self.pipeline.flow(1, Box::new(rows.into_iter().map(Ok)), context);
        }
        let (rows, first): (Rows<'a>, usize) = match &self.collection {
            Some(collection) => {
                let asked = Asked {
                    filter: Doc::empty(),
                    behind: Some(&self.pipeline),
                    variables: &context.variables,
                    wanted: context.wanted.and(self.pipeline.wanted()),
                };
                context.source.find(collection, asked)?
            }
            None => (Box::new(std::iter::empty()), 0),
        };
        self.pipeline.flow(first, rows, context)
    }
}
