//! Why a document does not satisfy a JSON schema, rule by rule.

use super::super::super::document::{Doc, Fields, Owned, Value, equal};
use super::super::super::matcher::Matcher;
use super::reason::{field, text};

/// The rules that the document breaks.
pub(super) fn of_document(schema: Doc<'_>, doc: Doc<'_>) -> Vec<Owned> {
    broken(schema, Value::Document(doc), true)
}

/// Whether a value satisfies a schema; a missing one always does.
fn satisfies(schema: Doc<'_>, value: Value<'_>, top: bool) -> bool {
    let matches = |filter: Fields, doc: Fields| {
        Matcher::parse(Doc::Fields(&filter))
            .and_then(|matcher| matcher.matches(Doc::Raw(&Doc::Fields(&doc).to_bytes())))
            .unwrap_or(false)
    };
    let schema = Owned::RawDocument(schema.to_bytes());
    match value {
        Value::Document(doc) if top => Matcher::parse(Doc::Fields(&[field("$jsonSchema", schema)]))
            .and_then(|matcher| matcher.matches(doc))
            .unwrap_or(false),
        value => {
            let inner = Owned::Document(vec![field("v", schema)]);
            let filter = vec![field(
                "$jsonSchema",
                Owned::Document(vec![field("properties", inner)]),
            )];
            matches(filter, vec![field("v", value.into())])
        }
    }
}

/// The rules of a schema that a value breaks, in the server's order.
fn broken(schema: Doc<'_>, value: Value<'_>, top: bool) -> Vec<Owned> {
    let mut rules = Vec::new();
    for name in ORDER {
        let Some(rule) = schema.get(name) else {
            continue;
        };
        let mut own = vec![field(name, rule.into())];
        // `exclusiveMinimum` and `additionalProperties` mean nothing without what stands beside them.
        let mut alone = own.clone();
        for beside in BESIDE
            .iter()
            .filter(|(of, _)| of == name)
            .map(|(_, beside)| beside)
        {
            if let Some(value) = schema.get(beside) {
                alone.push(field(beside, value.into()));
                if beside.starts_with("exclusive") {
                    own.push(field(beside, value.into()));
                }
            }
        }
        let alone = Doc::Fields(&alone).to_bytes();
        if satisfies(Doc::Raw(&alone), value, top) {
            continue;
        }
        let mut explained = vec![field("operatorName", text(name))];
        if let Some(details) = details(name, rule, schema, value) {
            if !matches!(
                *name,
                "properties" | "items" | "anyOf" | "allOf" | "oneOf" | "not" | "dependencies"
            ) {
                explained.push(field("specifiedAs", Owned::Document(own)));
            }
            explained.extend(details);
        }
        rules.push(Owned::Document(explained));
    }
    rules
}

const ORDER: &[&str] = &[
    "bsonType",
    "type",
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "uniqueItems",
    "minItems",
    "maxItems",
    "items",
    "additionalItems",
    "enum",
    "minProperties",
    "maxProperties",
    "properties",
    "patternProperties",
    "additionalProperties",
    "required",
    "dependencies",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
];

const BESIDE: &[(&str, &str)] = &[
    ("minimum", "exclusiveMinimum"),
    ("maximum", "exclusiveMaximum"),
    ("additionalProperties", "properties"),
    ("additionalProperties", "patternProperties"),
    ("additionalItems", "items"),
];

fn details(name: &str, rule: Value<'_>, schema: Doc<'_>, value: Value<'_>) -> Option<Fields> {
    let considered = || field("consideredValue", value.into());
    let because = |reason: &str| vec![field("reason", text(reason)), considered()];
    Some(match (name, rule, value) {
        ("bsonType" | "type", _, _) => {
            let mut details = because("type did not match");
            details.push(field("consideredType", text(value.kind().alias())));
            details
        }
        ("minimum" | "maximum", _, _) => because("comparison failed"),
        ("multipleOf", _, _) => because("considered value is not a multiple of the specified value"),
        ("minLength" | "maxLength", _, _) => because("specified string length was not satisfied"),
        ("pattern", _, _) => because("regular expression did not match"),
        ("minItems" | "maxItems", _, Value::Array(items)) => {
            let mut details = because("array did not match specified length");
            details.push(field("numberOfItems", Owned::Int32(items.count() as i32)));
            details
        }
        ("enum", _, _) => because("value was not found in enum"),
        ("uniqueItems", _, Value::Array(items)) => {
            let mut details = because("found a duplicate item");
            let items: Vec<Value<'_>> = items.values().collect();
            let twice = items
                .iter()
                .enumerate()
                .find(|(at, item)| items[..*at].iter().any(|other| equal(other, item)));
            if let Some((_, item)) = twice {
                details.push(field("duplicatedValue", (*item).into()));
            }
            details
        }
        ("items", Value::Document(inner), Value::Array(items)) => {
            let (at, item) = items
                .values()
                .enumerate()
                .find(|(_, item)| !satisfies(inner, *item, false))?;
            vec![
                field("reason", text("At least one item did not match the sub-schema")),
                field("itemIndex", Owned::Int32(at as i32)),
                field("details", Owned::Array(broken(inner, item, false))),
            ]
        }
        ("minProperties" | "maxProperties", _, Value::Document(doc)) => vec![
            field("reason", text("specified number of properties was not satisfied")),
            field("numberOfProperties", Owned::Int32(doc.count() as i32)),
        ],
        ("properties", Value::Document(properties), Value::Document(doc)) => {
            let mut failed = Vec::new();
            for property in properties.elements() {
                if let (Value::Document(inner), Some(value)) =
                    (property.value(), doc.get(property.name_str()))
                    && !satisfies(inner, value, false)
                {
                    let mut one = vec![field("propertyName", text(property.name_str()))];
                    for about in ["title", "description"] {
                        if let Some(about_text) = inner.get(about) {
                            one.push(field(about, about_text.into()));
                        }
                    }
                    one.push(field("details", Owned::Array(broken(inner, value, false))));
                    failed.push(Owned::Document(one));
                }
            }
            vec![field("propertiesNotSatisfied", Owned::Array(failed))]
        }
        ("additionalProperties", Value::Bool(_), Value::Document(doc)) => {
            let known = schema.get("properties").and_then(|known| known.as_document());
            let additional = doc
                .elements()
                .map(|element| element.name_str())
                .filter(|name| known.is_none_or(|known| known.get(name).is_none()))
                .map(text)
                .collect();
            vec![field("additionalProperties", Owned::Array(additional))]
        }
        ("required", Value::Array(names), Value::Document(doc)) => {
            let missing = names
                .values()
                .filter(|name| name.as_str().is_some_and(|name| doc.get(name).is_none()))
                .map(Owned::from)
                .collect();
            vec![field("missingProperties", Owned::Array(missing))]
        }
        ("dependencies", Value::Document(dependencies), Value::Document(doc)) => {
            let mut failing = Vec::new();
            for dependency in dependencies.elements() {
                if doc.get(dependency.name_str()).is_none() {
                    continue;
                }
                let conditional = field("conditionalProperty", text(dependency.name_str()));
                match dependency.value() {
                    Value::Array(names) => {
                        let missing: Vec<Owned> = names
                            .values()
                            .filter(|name| name.as_str().is_some_and(|name| doc.get(name).is_none()))
                            .map(Owned::from)
                            .collect();
                        if !missing.is_empty() {
                            failing.push(Owned::Document(vec![
                                conditional,
                                field("missingProperties", Owned::Array(missing)),
                            ]));
                        }
                    }
                    Value::Document(inner) => {
                        let rules = broken(inner, value, true);
                        if !rules.is_empty() {
                            failing.push(Owned::Document(vec![
                                conditional,
                                field("details", Owned::Array(rules)),
                            ]));
                        }
                    }
                    _ => {}
                }
            }
            vec![field("failingDependencies", Owned::Array(failing))]
        }
        ("anyOf" | "allOf", Value::Array(schemas), _) => {
            vec![field("schemasNotSatisfied", not_satisfied(schemas, value))]
        }
        ("oneOf", Value::Array(schemas), _) => {
            let matching: Vec<Owned> = schemas
                .values()
                .enumerate()
                .filter(|(_, inner)| {
                    inner
                        .as_document()
                        .is_some_and(|inner| satisfies(inner, value, is_document(value)))
                })
                .map(|(at, _)| Owned::Int32(at as i32))
                .collect();
            if matching.is_empty() {
                vec![field("schemasNotSatisfied", not_satisfied(schemas, value))]
            } else {
                vec![
                    field("reason", text("more than one subschema matched")),
                    field("matchingSchemaIndexes", Owned::Array(matching)),
                ]
            }
        }
        ("not", _, _) => vec![field("reason", text("child expression matched"))],
        _ => return None,
    })
}

fn is_document(value: Value<'_>) -> bool {
    matches!(value, Value::Document(_))
}

fn not_satisfied(schemas: Doc<'_>, value: Value<'_>) -> Owned {
    let failed = schemas
        .values()
        .enumerate()
        .filter_map(|(at, inner)| {
            let rules = broken(inner.as_document()?, value, is_document(value));
            (!rules.is_empty()).then(|| {
                Owned::Document(vec![
                    field("index", Owned::Int32(at as i32)),
                    field("details", Owned::Array(rules)),
                ])
            })
        })
        .collect();
    Owned::Array(failed)
}
