//! `$jsonSchema`: MongoDB's subset of JSON Schema draft 4.

mod apart;
mod conditions;
mod parse;

#[cfg(test)]
pub(crate) use self::parse::KEYWORDS;
use std::cmp::Ordering;

use super::super::document::decimal::Decimal;
use super::super::document::number::as_decimal;
use super::super::document::{Doc, Kind, Owned, Value, compare};
use super::ast::{FieldPath, Predicate, TypeSet};
use super::evaluate::{comparison, from_value};
use super::pattern::Pattern;
use super::reach::{self, End, Gap};

/// A parsed schema. Keywords about one type accept all values of other types.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    types: Option<TypeSet>,
    variants: Option<Vec<Owned>>,
    number: Option<NumberRules>,
    text: Option<TextRules>,
    array: Option<ArrayRules>,
    object: Option<ObjectRules>,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Box<Schema>>,
}

#[derive(Clone, Debug, Default)]
struct NumberRules {
    minimum: Option<Bound>,
    maximum: Option<Bound>,
    multiple_of: Option<Decimal>,
}

#[derive(Clone, Debug)]
struct Bound {
    value: Owned,
    exclusive: bool,
}

/// Lengths count characters.
#[derive(Clone, Debug, Default)]
struct TextRules {
    least: Option<i64>,
    most: Option<i64>,
    pattern: Option<Pattern>,
}

#[derive(Clone, Debug, Default)]
struct ArrayRules {
    least: Option<i64>,
    most: Option<i64>,
    unique: bool,
    /// One schema for each of the first items.
    tuple: Vec<Schema>,
    /// For the items after `tuple`.
    rest: Option<Extra>,
}

#[derive(Clone, Debug, Default)]
struct ObjectRules {
    least: Option<i64>,
    most: Option<i64>,
    required: Vec<FieldPath>,
    properties: Vec<(String, Schema)>,
    /// Those of `properties` whose names have dots: paths. Their schemas are taken apart.
    deep: Vec<(FieldPath, Schema)>,
    patterns: Vec<(Pattern, Schema)>,
    /// For fields that neither `properties` nor `patterns` name.
    additional: Option<Extra>,
    dependencies: Vec<(FieldPath, Dependency)>,
}

/// What members that are not named one by one have to satisfy.
#[derive(Clone, Debug)]
enum Extra {
    Refused,
    Schema(Box<Schema>),
}

/// What the presence of a field demands of its document.
#[derive(Clone, Debug)]
enum Dependency {
    Fields(Vec<FieldPath>),
    Schema(Box<Schema>),
}

impl Schema {
    /// Whether the value satisfies the schema.
    pub(crate) fn accepts(&self, value: &Value<'_>) -> bool {
        self.types.is_none_or(|types| types.contains(value.kind()))
            && self.variants.as_ref().is_none_or(|variants| {
                variants
                    .iter()
                    .any(|variant| same_unordered(&variant.as_value(), value))
            })
            && self.accepts_by_type(value)
            && self.all_of.iter().all(|schema| schema.accepts(value))
            && (self.any_of.is_empty() || self.any_of.iter().any(|schema| schema.accepts(value)))
            && (self.one_of.is_empty()
                || self.one_of.iter().filter(|schema| schema.accepts(value)).count() == 1)
            && self.not.as_ref().is_none_or(|schema| !schema.accepts(value))
    }

    fn accepts_by_type(&self, value: &Value<'_>) -> bool {
        match value {
            Value::String(text) => self.text.as_ref().is_none_or(|rules| rules.accept(text)),
            Value::Array(items) => self.array.as_ref().is_none_or(|rules| rules.accept(*items)),
            Value::Document(doc) => self.object.as_ref().is_none_or(|rules| rules.accept(*doc)),
            value if value.is_number() => self.number.as_ref().is_none_or(|rules| rules.accept(value)),
            _ => true,
        }
    }
}

impl NumberRules {
    fn accept(&self, value: &Value<'_>) -> bool {
        let within = |bound: &Option<Bound>, side: Ordering| {
            bound.as_ref().is_none_or(|bound| {
                comparison(
                    Some(value),
                    &bound.value,
                    |order| order == side || (!bound.exclusive && order == Ordering::Equal),
                    !bound.exclusive,
                )
            })
        };
        within(&self.minimum, Ordering::Greater)
            && within(&self.maximum, Ordering::Less)
            && self.multiple_of.is_none_or(|divisor| {
                as_decimal(value)
                    .is_some_and(|number| !number.is_infinite() && number.remainder(divisor).is_zero())
            })
    }
}

impl TextRules {
    fn accept(&self, text: &str) -> bool {
        let long_enough = || {
            self.least
                .is_none_or(|least| length(text.chars().count()) >= least)
        };
        let short_enough = || self.most.is_none_or(|most| length(text.chars().count()) <= most);
        long_enough() && short_enough() && self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
    }
}

impl ArrayRules {
    fn accept(&self, items: Doc<'_>) -> bool {
        let count = length(items.count());
        self.least.is_none_or(|least| count >= least)
            && self.most.is_none_or(|most| count <= most)
            && items
                .values()
                .enumerate()
                .all(|(index, item)| match (self.tuple.get(index), &self.rest) {
                    (Some(schema), _) => schema.accepts(&item),
                    (None, Some(extra)) => extra.accepts(&item),
                    (None, None) => true,
                })
            && (!self.unique || all_distinct(items))
    }
}

impl ObjectRules {
    fn accept(&self, doc: Doc<'_>) -> bool {
        let within = self.least.is_none() && self.most.is_none() || {
            let count = length(doc.count());
            self.least.is_none_or(|least| count >= least) && self.most.is_none_or(|most| count <= most)
        };
        within
            && self.required.iter().all(|path| reaches(doc, path))
            && self
                .properties
                .iter()
                .all(|(name, schema)| doc.get(name).is_none_or(|value| schema.accepts(&value)))
            && self
                .deep
                .iter()
                .all(|(path, schema)| !reaches(doc, path) || schema.accepts_any_at(doc, path))
            && self.accept_unnamed(doc)
            && self
                .dependencies
                .iter()
                .filter(|(path, _)| reaches(doc, path))
                .all(|(_, dependency)| match dependency {
                    Dependency::Fields(paths) => paths.iter().all(|path| reaches(doc, path)),
                    Dependency::Schema(schema) => schema.accepts(&Value::Document(doc)),
                })
    }

    /// Checks the fields against `patterns`, and against `additional` where nothing names them.
    fn accept_unnamed(&self, doc: Doc<'_>) -> bool {
        if self.patterns.is_empty() && self.additional.is_none() {
            return true;
        }
        doc.elements().all(|element| {
            let (name, value) = (element.name_str(), element.value());
            let mut named = self.properties.iter().any(|(own, _)| own == name)
                || self.deep.iter().any(|(own, _)| own.as_str() == name);
            for (pattern, schema) in &self.patterns {
                if pattern.is_match(name) {
                    named = true;
                    if !schema.accepts(&value) {
                        return false;
                    }
                }
            }
            named || self.additional.as_ref().is_none_or(|extra| extra.accepts(&value))
        })
    }
}

impl Extra {
    fn accepts(&self, value: &Value<'_>) -> bool {
        match self {
            Extra::Refused => false,
            Extra::Schema(schema) => schema.accepts(value),
        }
    }
}

/// Whether the path leads to anything in the document: the server asks `$exists`.
fn reaches(doc: Doc<'_>, path: &FieldPath) -> bool {
    from_value(Some(Value::Document(doc)), path.segments(), &Predicate::Exists).is_some()
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Whether the values are the same when the order of fields does not count, as `enum` and `uniqueItems` see
/// it.
pub(crate) fn same_unordered(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Document(a), Value::Document(b)) => {
            a.count() == b.count()
                && a.elements().all(|element| {
                    b.get(element.name_str())
                        .is_some_and(|other| same_unordered(&element.value(), &other))
                })
        }
        (Value::Array(a), Value::Array(b)) => {
            a.count() == b.count() && a.values().zip(b.values()).all(|(a, b)| same_unordered(&a, &b))
        }
        _ => compare(a, b) == Ordering::Equal,
    }
}

fn all_distinct(items: Doc<'_>) -> bool {
    let values: Vec<Value<'_>> = items.values().collect();
    values
        .iter()
        .enumerate()
        .all(|(index, value)| !values[..index].iter().any(|other| same_unordered(other, value)))
}
