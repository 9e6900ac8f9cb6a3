//! The stages of a pipeline as they are told of, with what they did.

use std::sync::Arc;

use super::super::super::aggregate::pipeline::{Pipeline, Ran};
use super::super::super::aggregate::stage::{Facet, Stage, UnionWith};
use super::super::super::collation::Collation;
use super::super::super::document::number::as_i64_exact;
use super::super::super::document::owned::{field, fields_of, items_of, one};
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::Result;
use super::super::super::storage::Read;
use super::super::aggregate::{AggregateRequest, NO_COLLECTION};
use super::super::{Namespace, view};
use super::pipeline::explain_stages;

/// The stage that stands for what is read.
pub(super) const CURSOR: &str = "$cursor";
/// The stage by which pipelines of a `$facet` get what they share.
const SHARED: &str = "$internalFacetTeeConsumer";

/// Who asks for stages.
pub(super) struct Telling<'a> {
    pub(super) read: &'a dyn Read,
    pub(super) request: &'a AggregateRequest,
    /// How strings compare.
    pub(super) collation: &'a Collation,
    pub(super) execute: bool,
}

impl Telling<'_> {
    /// The stages of a pipeline from a position on. `ran` tells of its run from `begun` on, if there was one.
    pub(super) fn stages(
        &self,
        pipeline: &Pipeline,
        first: usize,
        begun: usize,
        ran: &[Ran],
    ) -> Result<Vec<Owned>> {
        // What comes out of the stage before a position.
        let before = |position: usize| position.checked_sub(begun).and_then(|at| ran.get(at));
        let mut stages = Vec::new();
        for ([own, last], mut shown) in pipeline.shown_from(first) {
            let mut figures = Fields::new();
            match pipeline.stage_at(own) {
                Some(Stage::Facet(facet)) => shown.spec = self.facet(facet, before(own + 1))?,
                Some(Stage::UnionWith(union)) => shown.spec = self.union(union, before(own))?,
                Some(Stage::Lookup(_)) => figures = before(own + 1).map_or_else(Fields::new, joined),
                _ => {}
            }
            let given = match shown.is_before {
                true => before(last),
                false => before(last + 1),
            };
            let mut stage = vec![field(shown.name, shown.spec)];
            stage.extend(figures);
            stages.push(counted(Owned::Document(stage), given.map(Ran::given)));
        }
        Ok(stages)
    }

    fn facet(&self, facet: &Facet, ran: Option<&Ran>) -> Result<Owned> {
        let mut facets = Fields::new();
        for (at, (name, pipeline)) in facet.each().enumerate() {
            let ran = ran
                .and_then(|ran| ran.inside().get(at))
                .map_or(&[][..], Vec::as_slice);
            let shared = one(SHARED, Owned::Document(Fields::new()));
            let mut stages = vec![counted(shared, ran.first().map(Ran::given))];
            stages.extend(self.stages(pipeline, 0, 0, ran)?);
            facets.push(field(name, Owned::Array(stages)));
        }
        Ok(Owned::Document(facets))
    }

    /// `input` tells of what comes before it: the other collection is read when that has ended.
    fn union(&self, union: &UnionWith, input: Option<&Ran>) -> Result<Owned> {
        let named = Namespace {
            database: self.request.namespace.database.clone(),
            collection: union.collection().unwrap_or(NO_COLLECTION).to_owned(),
        };
        let mut spec = Fields::new();
        if union.collection().is_some() {
            let base = view::resolve(self.read.catalog(), &named)?.base;
            spec.push(field("coll", Owned::String(base.collection)));
        }
        let stages = match input.is_some_and(|input| !input.has_ended()) {
            true => Vec::new(),
            false => {
                let asked = union
                    .asked()
                    .map(|asked| Box::new(Arc::new(asked.clone()).into()));
                let request = AggregateRequest {
                    namespace: named,
                    stages: union.given().to_vec(),
                    above: asked,
                    collation: Some(self.collation.clone()),
                    hint: None,
                    batch_size: None,
                    ..self.request.clone()
                };
                let explained = explain_stages(self.read, &request, self.execute, true)?;
                let explained = Doc::Raw(&explained);
                match explained.get("stages") {
                    Some(Value::Array(stages)) => items_of(stages),
                    _ => vec![counted(read_of(CURSOR, explained), given_by(explained))],
                }
            }
        };
        spec.push(field("pipeline", Owned::Array(stages)));
        Ok(Owned::Document(spec))
    }
}

/// What a join read, for all documents that it got.
fn joined(ran: &Ran) -> Fields {
    let read = ran.read();
    let examined = read.examined();
    let indexes = read.indexes().into_iter().map(Owned::String).collect();
    vec![
        field("totalDocsExamined", figure(examined.documents)),
        field("totalKeysExamined", figure(examined.keys)),
        field("collectionScans", figure(read.scans())),
        field("indexesUsed", Owned::Array(indexes)),
    ]
}

/// The stage of a read that is explained by itself.
pub(super) fn read_of(name: &str, explained: Doc<'_>) -> Owned {
    let mut shown = fields_of(explained);
    shown.retain(|(name, _)| !matches!(name.as_str(), "explainVersion" | "ok"));
    one(name, Owned::Document(shown))
}

/// How many documents a read gave, where it was done.
fn given_by(explained: Doc<'_>) -> Option<u64> {
    let done = explained.get("executionStats")?.as_document()?;
    u64::try_from(as_i64_exact(&done.get("nReturned")?)?).ok()
}

/// The stage with how many documents it gave, where that is known.
pub(super) fn counted(stage: Owned, given: Option<u64>) -> Owned {
    match (stage, given) {
        (Owned::Document(mut fields), Some(given)) => {
            fields.push(field("nReturned", figure(given)));
            Owned::Document(fields)
        }
        (stage, _) => stage,
    }
}

fn figure(count: u64) -> Owned {
    Owned::Int64(i64::try_from(count).unwrap_or(i64::MAX))
}
