//! Pipelines as `explain` shows them.

use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::stage::{Shown, Stage};
use super::{Output, Pipeline};

impl Pipeline {
    /// The stages from this position on, each with its position and that of the one that gives what it gives.
    pub(crate) fn shown_from(&self, position: usize) -> Vec<([usize; 2], Shown)> {
        let mut shown = Vec::new();
        let mut taken = None;
        let mut at = position;
        while let Some(stage) = self.stages.get(at) {
            let next = self.stages.get(at + 1);
            if self.is_bounded(at) {
                taken = self.limit_behind(at);
            }
            if taken != Some(at) {
                let own = at;
                shown.extend(stage.shown(next).into_iter().map(|part| ([own, own], part)));
                // What the next one gives is what the last part of it gives.
                at += usize::from(stage.takes_in(next));
                if let Some(([_, last], _)) = shown.last_mut() {
                    *last = at;
                }
            }
            at += 1;
        }
        shown
    }

    /// The stage at this position.
    pub(crate) fn stage_at(&self, position: usize) -> Option<&Stage> {
        self.stages.get(position)
    }

    /// Whether a `$sort` at this position keeps only what a `$limit` behind it lets through.
    fn is_bounded(&self, position: usize) -> bool {
        matches!(self.stages.get(position), Some(Stage::Sort(sort)) if sort.limit.is_some())
    }

    /// The `$limit` that a bounded order at this position takes in.
    fn limit_behind(&self, position: usize) -> Option<usize> {
        let is_limit = |stage: &Stage| matches!(stage, Stage::Limit(_));
        let mut behind = self.stages.iter().skip(position + 1);
        behind.position(is_limit).map(|at| position + 1 + at)
    }

    /// The stage that writes, with what it has of itself where it is not said.
    pub(crate) fn shown_output(&self, database: &str) -> Option<Owned> {
        let text = |text: &str| Owned::String(text.to_owned());
        let target = |database: &str, collection: &str| {
            Owned::Document(vec![
                ("db".to_owned(), text(database)),
                ("coll".to_owned(), text(collection)),
            ])
        };
        let (name, spec) = match self.output.as_ref()? {
            Output::Out {
                database: own,
                collection,
            } => ("$out", target(own.as_deref().unwrap_or(database), collection)),
            Output::Merge(given) => {
                let given = Doc::Raw(given).get("$merge")?;
                let spec = given.as_document().unwrap_or(Doc::empty());
                let into = match spec.get("into").unwrap_or(given) {
                    Value::String(collection) => target(database, collection),
                    Value::Document(into) => match (into.get("db"), into.get("coll")) {
                        (Some(Value::String(own)), Some(Value::String(collection))) => {
                            target(own, collection)
                        }
                        (_, Some(Value::String(collection))) => target(database, collection),
                        _ => Owned::from(Value::Document(into)),
                    },
                    other => Owned::from(other),
                };
                let mut fields: Fields = vec![("into".to_owned(), into)];
                let defaults = [
                    ("on", Some("_id")),
                    ("let", None),
                    ("whenMatched", Some("merge")),
                    ("whenNotMatched", Some("insert")),
                ];
                for (name, default) in defaults {
                    let value = spec.get(name).map(Owned::from).or(default.map(text));
                    fields.extend(value.map(|value| (name.to_owned(), value)));
                }
                ("$merge", Owned::Document(fields))
            }
        };
        Some(Owned::Document(vec![(name.to_owned(), spec)]))
    }
}
