//! What generated commands hold: operators by the place where they stand.

use std::collections::BTreeSet;

use bson::{Bson, Document};

use super::commands::Step;
use super::{machine, pipelines};

/// Operators and options, by the section of the page `supported.md` that lists them.
#[derive(Debug, Default)]
pub struct Coverage(BTreeSet<(&'static str, String)>);

impl Coverage {
    /// What the scenarios with these seeds hold.
    pub fn of(seeds: std::ops::Range<u64>) -> Coverage {
        let mut coverage = Coverage::default();
        for seed in seeds {
            for step in machine::scenario(seed).iter().chain(&pipelines::scenario(seed)) {
                coverage.step(step);
            }
        }
        coverage
    }

    /// Whether the name was met in this section.
    pub fn has(&self, section: &str, name: &str) -> bool {
        self.0.iter().any(|(own, other)| *own == section && other == name)
    }

    fn add(&mut self, section: &'static str, name: &str) {
        self.0.insert((section, name.to_owned()));
    }

    fn step(&mut self, step: &Step) {
        let name = step.name().to_owned();
        self.add("Commands", &name);
        for (field, value) in &step.command {
            match name.as_str() {
                "find" => self.add("options of find", field),
                "create" => self.add("Collections", field),
                _ => {}
            }
            self.part(field, value);
        }
        if name == "collMod" {
            for (field, _) in step.command.get_document("index").into_iter().flatten() {
                self.add("Indexes", field);
            }
        }
    }

    /// A field of a command or of its statements.
    fn part(&mut self, name: &str, value: &Bson) {
        match (name, value) {
            ("filter" | "query" | "q" | "validator", Bson::Document(filter)) => self.query(filter),
            ("projection" | "fields", Bson::Document(projection)) => self.projection(projection),
            ("update" | "u", value) => self.update(value),
            ("updates" | "deletes", Bson::Array(statements)) => {
                for (name, value) in statements.iter().filter_map(Bson::as_document).flatten() {
                    self.part(name, value);
                }
            }
            ("arrayFilters", Bson::Array(filters)) => {
                filters
                    .iter()
                    .filter_map(Bson::as_document)
                    .for_each(|filter| self.query(filter));
            }
            ("pipeline", Bson::Array(stages)) => self.pipeline(stages),
            ("indexes", Bson::Array(indexes)) => {
                indexes
                    .iter()
                    .filter_map(Bson::as_document)
                    .for_each(|index| self.index(index));
            }
            _ => {}
        }
    }

    fn query(&mut self, filter: &Document) {
        for (name, value) in filter {
            match (name.starts_with('$'), value) {
                (true, value) => self.condition(name, value),
                (false, Bson::Document(inner)) if is_operators(inner) => self.conditions(inner),
                (false, Bson::RegularExpression(_)) => self.add("Query operators", "$regex"),
                _ => {}
            }
        }
    }

    fn conditions(&mut self, operators: &Document) {
        for (name, value) in operators {
            self.condition(name, value);
        }
    }

    fn condition(&mut self, name: &str, value: &Bson) {
        self.add("Query operators", name);
        match (name, value) {
            ("$expr", value) => self.expression(value),
            ("$jsonSchema", Bson::Document(schema)) => self.schema(schema),
            ("$and" | "$or" | "$nor", Bson::Array(parts)) => {
                parts
                    .iter()
                    .filter_map(Bson::as_document)
                    .for_each(|part| self.query(part));
            }
            ("$all", Bson::Array(items)) => {
                items
                    .iter()
                    .filter_map(Bson::as_document)
                    .for_each(|item| self.query(item));
            }
            ("$not" | "$elemMatch", Bson::Document(inner)) => self.query(inner),
            _ => {}
        }
    }

    fn schema(&mut self, schema: &Document) {
        for (name, value) in schema {
            self.add("Keywords of schemas", name);
            match (name.as_str(), value) {
                ("properties" | "patternProperties" | "dependencies", Bson::Document(inner)) => {
                    inner
                        .values()
                        .filter_map(Bson::as_document)
                        .for_each(|inner| self.schema(inner));
                }
                ("items" | "not" | "additionalProperties" | "additionalItems", Bson::Document(inner)) => {
                    self.schema(inner);
                }
                ("allOf" | "anyOf" | "oneOf" | "items", Bson::Array(inner)) => {
                    inner
                        .iter()
                        .filter_map(Bson::as_document)
                        .for_each(|inner| self.schema(inner));
                }
                _ => {}
            }
        }
    }

    fn projection(&mut self, projection: &Document) {
        for (name, value) in projection {
            if name.ends_with(".$") {
                self.add("Projection operators", "$");
            }
            let Bson::Document(inner) = value else { continue };
            match inner.iter().next() {
                Some((operator, condition))
                    if ["$slice", "$elemMatch", "$meta"].contains(&operator.as_str()) =>
                {
                    self.add("Projection operators", operator);
                    if let Bson::Document(condition) = condition {
                        self.query(condition);
                    }
                }
                _ => self.expression(value),
            }
        }
    }

    fn update(&mut self, update: &Bson) {
        let fields = match update {
            Bson::Array(stages) => return self.pipeline(stages),
            Bson::Document(fields) if is_operators(fields) => fields,
            _ => return,
        };
        for (operator, fields) in fields {
            self.add("Update operators", operator);
            for (path, value) in fields.as_document().into_iter().flatten() {
                for part in ["$", "$[]", "$[e]"] {
                    if path.split('.').any(|segment| segment == part) {
                        self.add("Paths", part);
                    }
                }
                match (operator.as_str(), value) {
                    ("$push" | "$addToSet", Bson::Document(value)) => {
                        value.keys().for_each(|name| self.add("Modifiers", name));
                    }
                    ("$pull", Bson::Document(condition)) => self.query(condition),
                    _ => {}
                }
            }
        }
    }

    fn pipeline(&mut self, stages: &[Bson]) {
        for (name, value) in stages.iter().filter_map(Bson::as_document).flatten() {
            self.add("Stages", name);
            match (name.as_str(), value) {
                ("$match", Bson::Document(filter)) => self.query(filter),
                ("$group", Bson::Document(fields)) => {
                    for (name, value) in fields {
                        match name.as_str() {
                            "_id" => self.expression(value),
                            _ => self.called("Accumulators", value),
                        }
                    }
                }
                ("$bucket" | "$bucketAuto" | "$setWindowFields", Bson::Document(fields)) => {
                    let section = if name == "$setWindowFields" {
                        "Window functions"
                    } else {
                        "Accumulators"
                    };
                    for (name, value) in fields {
                        match (name.as_str(), value) {
                            ("output", Bson::Document(output)) => {
                                output.values().for_each(|value| self.called(section, value));
                            }
                            _ => self.expression(value),
                        }
                    }
                }
                ("$facet", Bson::Document(facets)) => {
                    facets
                        .values()
                        .filter_map(Bson::as_array)
                        .for_each(|stages| self.pipeline(stages));
                }
                ("$lookup" | "$unionWith" | "$merge", Bson::Document(fields)) => {
                    for (name, value) in fields {
                        match (name.as_str(), value) {
                            ("pipeline" | "whenMatched", Bson::Array(stages)) => self.pipeline(stages),
                            _ => self.expression(value),
                        }
                    }
                }
                (_, value) => self.expression(value),
            }
        }
    }

    /// The operator of an accumulator or window function, with its argument.
    fn called(&mut self, section: &'static str, value: &Bson) {
        for (name, argument) in value.as_document().into_iter().flatten() {
            if name.starts_with('$') {
                self.add(section, name);
            }
            self.expression(argument);
        }
    }

    fn expression(&mut self, value: &Bson) {
        match value {
            Bson::String(text) if text.starts_with("$$") => {
                let name = text.split('.').next().unwrap_or(text);
                self.add("Variables", name);
            }
            Bson::Array(items) => items.iter().for_each(|item| self.expression(item)),
            Bson::Document(fields) => {
                for (name, value) in fields {
                    if name.starts_with('$') {
                        self.add("Expressions", name);
                    }
                    if !matches!(name.as_str(), "$literal" | "$const") {
                        self.expression(value);
                    }
                }
            }
            _ => {}
        }
    }

    fn index(&mut self, index: &Document) {
        for (path, order) in index.get_document("key").into_iter().flatten() {
            if path.ends_with("$**") {
                self.add("Indexes", "$**");
            }
            if let Bson::String(kind) = order {
                self.add("Indexes", kind);
            }
        }
        index.keys().for_each(|name| self.add("Indexes", name));
        if let Ok(filter) = index.get_document("partialFilterExpression") {
            self.query(filter);
        }
    }
}

fn is_operators(document: &Document) -> bool {
    document.keys().next().is_some_and(|name| name.starts_with('$'))
}
