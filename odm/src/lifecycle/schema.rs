//! The declared rules as MongoDB's `$jsonSchema`.

use bson::{Bson, Document, doc};

use super::decimal;
use super::declared::{Declare, Declared};
use super::rule::Rule;

/// How many types on one way into a document are described although they are inside of themselves.
const LEVELS: usize = 3;

/// The schema of the documents of a type. Custom functions have no place in it, and what is deeper in types that hold
/// themselves than [`LEVELS`] has none.
pub(crate) fn of(declared: &'static Declared) -> Document {
    let mut schema = doc! { "bsonType": "object" };
    add(&mut schema, nested(declared, &mut Vec::new()));
    schema
}

fn nested(declared: &'static Declared, above: &mut Vec<&'static Declared>) -> Document {
    if declared.is_plain() || is_too_deep(declared, above) {
        return Document::new();
    }
    above.push(declared);
    let schema = match declared {
        Declared::Nothing | Declared::Untyped | Declared::Refers(_) | Declared::Derived(_) => Document::new(),
        Declared::Document { fields, .. } => document(fields, above),
        Declared::Array(inner) => wrap("items", nested(inner(), above)),
        Declared::Map(inner) => wrap("additionalProperties", nested(inner(), above)),
        Declared::Variants {
            tag,
            content,
            variants,
        } => one_of_variants(tag, content, variants, above),
    };
    above.pop();
    schema
}

fn is_too_deep(declared: &'static Declared, above: &[&'static Declared]) -> bool {
    let is_again = |one: &Declared, before: &[&'static Declared]| {
        matches!(one, Declared::Document { .. } | Declared::Variants { .. })
            && before.iter().any(|other| std::ptr::eq(*other, one))
    };
    if !is_again(declared, above) {
        return false;
    }
    let levels = above
        .iter()
        .enumerate()
        .filter(|(at, one)| is_again(one, above.get(..*at).unwrap_or_default()));
    levels.count() >= LEVELS
}

fn document(fields: &'static [Declare], above: &mut Vec<&'static Declared>) -> Document {
    let mut properties = Document::new();
    let mut schema = Document::new();
    for field in fields {
        let mut own = Document::new();
        for rule in field.rules {
            add(&mut own, of_rule(rule));
        }
        let inner = field.nested();
        match (field.name, inner) {
            ("", Declared::Map(_)) => {}
            ("", inner) => add(&mut schema, nested(inner, above)),
            (name, inner) => {
                add(&mut own, nested(inner, above));
                if !own.is_empty() {
                    properties.insert(name, own);
                }
            }
        }
    }
    add(&mut schema, wrap("properties", properties));
    schema
}

fn one_of_variants(
    tag: &str,
    content: &str,
    variants: &'static [Declare],
    above: &mut Vec<&'static Declared>,
) -> Document {
    let mut any = Vec::new();
    let mut names = Vec::new();
    for variant in variants {
        let inner = nested(variant.nested(), above);
        if inner.is_empty() {
            continue;
        }
        names.push(Bson::from(variant.name));
        let mut schema = wrap("properties", doc! { tag: { "enum": [variant.name] } });
        match content {
            "" => add(&mut schema, inner),
            content => add(&mut schema, wrap("properties", doc! { content: inner })),
        }
        any.push(Bson::Document(schema));
    }
    if any.is_empty() {
        return Document::new();
    }
    any.push(doc! { "properties": { tag: { "not": { "enum": names } } } }.into());
    doc! { "anyOf": any }
}

fn of_rule(rule: &Rule) -> Document {
    let of_all = |rules: &[Rule]| {
        let mut schema = Document::new();
        for rule in rules {
            add(&mut schema, of_rule(rule));
        }
        schema
    };
    match rule {
        Rule::Min(bound) => doc! { "minimum": bound().bson() },
        Rule::Max(bound) => doc! { "maximum": bound().bson() },
        Rule::MinLength(length) => doc! { "minLength": i64::from(*length) },
        Rule::MaxLength(length) => doc! { "maxLength": i64::from(*length) },
        Rule::MinItems(items) => doc! { "minItems": i64::from(*items) },
        Rule::MaxItems(items) => doc! { "maxItems": i64::from(*items) },
        Rule::Pattern { pattern, .. } => doc! { "pattern": *pattern },
        Rule::OneOf(values) => {
            let values = values();
            let values = values
                .iter()
                .map(|value| value.bson().clone())
                .chain([Bson::Null]);
            doc! { "enum": values.collect::<Vec<_>>() }
        }
        Rule::Finite { decimals: false } => doc! { "minimum": f64::MIN, "maximum": f64::MAX },
        Rule::Finite { decimals: true } => {
            let (least, greatest) = decimal::ends();
            doc! { "minimum": least, "maximum": greatest }
        }
        Rule::Custom(_) => Document::new(),
        Rule::Each(rules) => wrap("items", of_all(rules)),
        Rule::Values(rules) => wrap("additionalProperties", of_all(rules)),
    }
}

/// Both schemas: side by side, or under `allOf` where they use one keyword.
fn add(schema: &mut Document, more: Document) {
    if more.is_empty() {
        return;
    }
    if more.keys().any(|key| schema.contains_key(key)) {
        match schema.get_array_mut("allOf") {
            Ok(all) => all.push(more.into()),
            Err(_) => {
                schema.insert("allOf", vec![Bson::from(more)]);
            }
        }
        return;
    }
    schema.extend(more);
}

fn wrap(keyword: &str, schema: Document) -> Document {
    match schema.is_empty() {
        true => schema,
        false => doc! { keyword: schema },
    }
}
