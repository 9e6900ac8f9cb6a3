//! Rules about arrays.

use super::super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::super::matcher::schema::same_unordered;
use super::super::reason::{field, text};
use super::{Level, about};

impl<'a> Level<'a> {
    pub(super) fn array_rules(self, items: Doc<'a>) -> Vec<Fields> {
        let mut rules = Vec::new();
        for keyword in ["minItems", "maxItems"] {
            if !self.satisfies(&[keyword]) {
                let mut rule = self.rule_of_value(&[keyword], "array did not match specified length");
                rule.push(field("numberOfItems", Owned::Int32(items.count() as i32)));
                rules.push(rule);
            }
        }
        if !self.satisfies(&["uniqueItems"]) {
            let mut rule = self.rule_of_value(&["uniqueItems"], "found a duplicate item");
            rule.extend(repeated(items).map(|item| field("duplicatedValue", item.into())));
            rules.push(rule);
        }
        match self.schema.get("items") {
            Some(Value::Document(schema)) => rules.extend(uniform("items", schema, items, 0)),
            Some(Value::Array(schemas)) => {
                rules.extend(tuple(schemas, items));
                rules.extend(self.additional(items, schemas.count()));
            }
            _ => {}
        }
        rules
    }

    /// `additionalItems`: what is said of the items from a position on.
    fn additional(self, items: Doc<'a>, from: usize) -> Option<Fields> {
        match self.schema.get("additionalItems")? {
            Value::Bool(false) => {
                let more: Vec<Owned> = items.values().skip(from).map(Owned::from).collect();
                if more.is_empty() {
                    return None;
                }
                let mut rule = self.rule(&["additionalItems"]);
                rule.push(field("reason", text("found additional items")));
                rule.push(field("additionalItems", Owned::Array(more)));
                Some(rule)
            }
            Value::Document(schema) => uniform("additionalItems", schema, items, from),
            _ => None,
        }
    }
}

/// The first item that equals one before it.
fn repeated(items: Doc<'_>) -> Option<Value<'_>> {
    let values: Vec<Value<'_>> = items.values().collect();
    let is_repeated = |at: usize| {
        values[..at]
            .iter()
            .any(|other| same_unordered(other, &values[at]))
    };
    (0..values.len()).find(|at| is_repeated(*at)).map(|at| values[at])
}

/// One schema for all items from a position on: the first that does not satisfy it.
fn uniform<'a>(keyword: &str, schema: Doc<'a>, items: Doc<'a>, from: usize) -> Option<Fields> {
    let levels = items.values().map(|item| Level::inside(schema, item)).enumerate();
    let (at, level) = levels.skip(from).find(|(_, level)| !level.is_satisfied())?;
    let mut rule = vec![field("operatorName", text(keyword))];
    rule.extend(about(schema));
    let reason = match keyword {
        "items" => "At least one item did not match the sub-schema",
        _ => "At least one additional item did not match the sub-schema",
    };
    rule.push(field("reason", text(reason)));
    rule.push(field("itemIndex", Owned::Int32(at as i32)));
    rule.push(level.because().into_details());
    Some(rule)
}

/// A schema for each of the first items.
fn tuple<'a>(schemas: Doc<'a>, items: Doc<'a>) -> Option<Fields> {
    let mut failed = Vec::new();
    for (at, (schema, item)) in (0i64..).zip(schemas.values().zip(items.values())) {
        let Value::Document(schema) = schema else {
            continue;
        };
        let level = Level::inside(schema, item);
        if !level.is_satisfied() {
            failed.push(Owned::Document(vec![
                field("itemIndex", Owned::Int64(at)),
                level.because().into_details(),
            ]));
        }
    }
    (!failed.is_empty()).then(|| {
        vec![
            field("operatorName", text("items")),
            field("details", Owned::Array(failed)),
        ]
    })
}
