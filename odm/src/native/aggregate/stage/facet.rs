//! `$facet`.

use std::rc::Rc;

use super::super::super::collation::Collation;
use super::super::super::document::{Doc, Items, Owned, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::metadata::Kind;
use super::super::super::needs::Needs;
use super::super::pipeline::{MEMORY_LIMIT, Memory, OVER_MEMORY};
use super::{Context, Names, Pipeline, Place, Row, Rows, Scope, path, print, write};

/// Several pipelines over the same input; one document with their results.
#[derive(Clone, Debug)]
pub(crate) struct Facet {
    facets: Vec<(String, Pipeline)>,
}

impl Facet {
    pub(super) fn parse(value: &Value<'_>, variables: &Names<'_>) -> Result<Facet> {
        let Some(spec) = value.as_document().filter(|spec| !spec.is_empty()) else {
            return Err(Fault::new(
                40169,
                format!(
                    "the $facet specification must be a non-empty object, but found: $facet: {}",
                    print::bson_value(value)
                ),
            ));
        };
        let mut pipelines = Vec::new();
        for element in spec.elements() {
            let name = element.name_str();
            path::check_name(name)?;
            let Value::Array(items) = element.value() else {
                return Err(Fault::new(
                    40170,
                    format!(
                        "arguments to $facet must be arrays, {name} is type {}",
                        element.kind().alias()
                    ),
                ));
            };
            let stages = items
                .values()
                .enumerate()
                .map(|(index, item)| match item {
                    Value::Document(doc) => Ok(doc),
                    other => Err(Fault::new(
                        40171,
                        format!(
                            "elements of arrays in $facet spec must be non-empty objects, {name} argument contained an element of type {}: {index}: {}",
                            other.kind().alias(),
                            print::bson_value(&other)
                        ),
                    )),
                })
                .collect::<Result<Vec<_>>>()?;
            pipelines.push((name, stages));
        }
        let mut facets = Vec::new();
        for (name, stages) in pipelines {
            let pipeline = Pipeline::parse_within(&stages, variables, Place::Facet)?;
            if let Some(name) = pipeline.refused_in_facet() {
                return Err(Fault::new(
                    40600,
                    format!("{name} is not allowed to be used within a $facet stage"),
                ));
            }
            // What it finds has no score, which every search gives.
            if pipeline.searches_text() {
                return Err(Kind::TextScore.unavailable());
            }
            facets.push((name.to_owned(), pipeline));
        }
        Ok(Facet { facets })
    }

    /// The pipelines by their names.
    pub(crate) fn each(&self) -> impl Iterator<Item = (&str, &Pipeline)> {
        self.facets
            .iter()
            .map(|(name, pipeline)| (name.as_str(), pipeline))
    }

    /// The pipelines, which get the same documents.
    pub(in super::super) fn pipelines(&mut self) -> impl Iterator<Item = &mut Pipeline> {
        self.facets.iter_mut().map(|(_, pipeline)| pipeline)
    }

    /// Adds the paths at which it looks at documents; `false` where these are not all.
    pub(in super::super) fn add_needs(&self, needs: &mut Needs) -> bool {
        self.facets
            .iter()
            .all(|(_, pipeline)| pipeline.add_needs(0, needs))
    }

    pub(super) fn fold(&mut self, known: Option<&Scope<'_>>) -> Result<()> {
        self.facets
            .iter_mut()
            .try_for_each(|(_, pipeline)| pipeline.optimize(known))
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        for (_, pipeline) in &mut self.facets {
            pipeline.collate(collation);
        }
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        self.run_by(input, |pipeline, input| pipeline.flow(0, input, context))
    }

    /// Runs its pipelines by this, one after another.
    pub(in super::super) fn run_by<'a>(
        &'a self,
        input: Rows<'a>,
        mut flow: impl FnMut(&'a Pipeline, Rows<'a>) -> Result<Rows<'a>>,
    ) -> Result<Rows<'a>> {
        let mut rows = Vec::new();
        let mut held = 0usize;
        for row in input {
            let mut row = row?;
            // Its pipelines ask for no more than what a search knows.
            if row.metadata().is_some() {
                row.know(|metadata| metadata.sort_key = None);
            }
            held += row.len();
            // A server gives them to its pipelines a part at a time, and holds no more.
            Memory::of(true).hold(held, OVER_MEMORY, "Exceeded memory limit for $facet")?;
            rows.push(row);
        }
        let rows = Rc::new(rows);
        let mut fields = Vec::with_capacity(self.facets.len());
        let mut size = 0usize;
        for (name, pipeline) in &self.facets {
            let rows = rows.clone();
            let input = (0..rows.len()).map(move |at| Ok(rows[at].clone()));
            let mut results = Items::default();
            for row in flow(pipeline, Box::new(input))? {
                let row = row?;
                size += row.len();
                if size > MEMORY_LIMIT {
                    return Err(Fault::new(
                        4031700,
                        format!(
                            "document constructed by $facet is {size} bytes, which exceeds the limit of {MEMORY_LIMIT} bytes"
                        ),
                    ));
                }
                results.push(&Value::Document(Doc::Raw(&row)));
            }
            fields.push((name.clone(), results.into_owned()));
        }
        Ok(Box::new(std::iter::once(
            write(Owned::Document(fields)).map(Row::from),
        )))
    }
}
