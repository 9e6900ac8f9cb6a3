//! Rules that are made of schemas.

use super::super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::reason::{field, text};
use super::{Because, Level, about};

impl<'a> Level<'a> {
    pub(super) fn choices(self) -> Vec<Fields> {
        let mut rules = Vec::new();
        for keyword in ["allOf", "anyOf", "oneOf"] {
            if let Some(Value::Array(schemas)) = self.schema.get(keyword)
                && !self.satisfies(&[keyword])
            {
                let mut rule = vec![field("operatorName", text(keyword))];
                rule.extend(self.why_not(keyword, schemas));
                rules.push(rule);
            }
        }
        if !self.satisfies(&["not"]) {
            rules.push(vec![
                field("operatorName", text("not")),
                field("reason", text("child expression matched")),
            ]);
        }
        rules
    }

    fn why_not(self, keyword: &str, schemas: Doc<'a>) -> Fields {
        let (mut satisfied, mut failed) = (Vec::new(), Vec::new());
        for (at, schema) in schemas.values().enumerate() {
            let Value::Document(schema) = schema else {
                continue;
            };
            let index = Owned::Int32(at as i32);
            let level = self.by(schema);
            if level.is_satisfied() {
                satisfied.push(index);
            } else {
                let mut entry = vec![field("index", index)];
                let because = level.because();
                if let Because::Rules(_) = because {
                    entry.extend(about(schema));
                }
                entry.push(because.into_details());
                failed.push(Owned::Document(entry));
            }
        }
        if keyword == "oneOf" && !satisfied.is_empty() {
            return vec![
                field("reason", text("more than one subschema matched")),
                field("matchingSchemaIndexes", Owned::Array(satisfied)),
            ];
        }
        vec![field("schemasNotSatisfied", Owned::Array(failed))]
    }

    /// Whether a field that is missing satisfies the schema: nothing is of any type, nor listed.
    pub(super) fn is_satisfied_by_nothing(self) -> bool {
        let schemas = |keyword: &str| match self.schema.get(keyword) {
            Some(Value::Array(schemas)) => Some(schemas.values().filter_map(|schema| {
                let level = self.by(schema.as_document()?);
                Some(level.is_satisfied())
            })),
            _ => None,
        };
        let has = |keyword: &str| self.schema.get(keyword).is_some();
        let not = self.schema.get("not").and_then(|schema| schema.as_document());
        !has("type")
            && !has("bsonType")
            && !has("enum")
            && schemas("allOf").is_none_or(|mut all| all.all(|is| is))
            && schemas("anyOf").is_none_or(|mut any| any.any(|is| is))
            && schemas("oneOf").is_none_or(|one| one.filter(|is| *is).count() == 1)
            && not.is_none_or(|schema| !self.by(schema).is_satisfied())
    }
}
