//! Why the values at a path do not satisfy one operator, or why they do.

use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::geo;
use super::super::super::matcher::ast::FieldPath;
use super::super::super::matcher::reach::{self, End, Gap};
use super::super::super::matcher::truthy;
use super::reason::{field, text};

/// As many values are told, and looked at for the reason.
pub(super) const MOST_VALUES: usize = 10;

/// A test of the values at a path.
pub(super) struct Leaf<'a> {
    pub(super) path: &'a str,
    pub(super) operator: &'a str,
    pub(super) operand: Value<'a>,
}

impl Leaf<'_> {
    /// Why the document fails the test; if `inverted`, why it passes.
    pub(super) fn explain(&self, doc: Doc<'_>, inverted: bool) -> Fields {
        match (self.operator, self.operand) {
            ("$exists", wanted) if truthy(&wanted) == inverted => return because("path does exist"),
            ("$exists", _) => return because("path does not exist"),
            ("$all", Value::Array(all)) if all.is_empty() => {
                return because("expression always evaluates to false");
            }
            _ => {}
        }
        let end = match self.operator {
            "$size" | "$all" | "$elemMatch" => End::Whole,
            _ => End::Items,
        };
        let mut values = self.values(doc, end);
        if values.is_empty() && !self.is_empty_array(doc) {
            return because("field was missing");
        }
        let truncated = values.len() > MOST_VALUES;
        values.truncate(MOST_VALUES);
        let negative = matches!(self.operator, "$ne" | "$nin") != inverted;
        let mut explained = match expected_types(self.operator) {
            Some(expected) if !has_type(&values, expected) => mismatch(&values, expected),
            _ if self.is_geo() && !self.has_geometry(doc, &values) => {
                because("could not find a valid geometry at the given path")
            }
            _ => because(reason(self.operator, negative)),
        };
        explained.extend(considered(&values, truncated));
        if self.operator == "$type" {
            explained.extend(considered_types(&values));
        }
        explained
    }

    /// Whether the path ends at an array without items.
    fn is_empty_array(&self, doc: Doc<'_>) -> bool {
        !self.values(doc, End::Whole).is_empty()
    }

    /// The server counts the values up to the first place where the path leads nowhere.
    fn values<'d>(&self, doc: Doc<'d>, end: End) -> Vec<Value<'d>> {
        reach::values(doc, &FieldPath::parse(self.path), end, Gap::Ends)
    }

    fn is_geo(&self) -> bool {
        matches!(self.operator, "$geoWithin" | "$within" | "$geoIntersects")
    }

    /// Whether any value is a geometry. An array can be a pair of numbers, but not below other fields.
    fn has_geometry(&self, doc: Doc<'_>, values: &[Value<'_>]) -> bool {
        let whole = doc.get(self.path);
        let mut candidates = values.iter().chain(&whole);
        candidates.any(|value| geo::stored("", value).is_ok())
    }
}

fn because(reason: &str) -> Fields {
    vec![field("reason", text(reason))]
}

fn has_type(values: &[Value<'_>], expected: &[&str]) -> bool {
    values
        .iter()
        .any(|value| expected.contains(&value.kind().alias()))
}

/// No value has a type that the operator looks at.
fn mismatch(values: &[Value<'_>], expected: &[&str]) -> Fields {
    let mut explained = because("type did not match");
    explained.extend(considered_types(values));
    explained.push(match expected {
        [single] => field("expectedType", text(single)),
        several => field(
            "expectedTypes",
            Owned::Array(several.iter().map(|name| text(name)).collect()),
        ),
    });
    explained
}

pub(super) fn considered(values: &[Value<'_>], truncated: bool) -> Fields {
    if let [only] = values {
        return vec![field("consideredValue", (*only).into())];
    }
    let all = values.iter().map(|value| (*value).into()).collect();
    let mut explained = vec![field("consideredValues", Owned::Array(all))];
    if truncated {
        explained.push(field("consideredValuesTruncated", Owned::Bool(true)));
    }
    explained
}

/// The types of the values by name, without repetition.
pub(super) fn considered_types(values: &[Value<'_>]) -> Option<(String, Owned)> {
    let mut names: Vec<&str> = values.iter().map(|value| value.kind().alias()).collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => None,
        [only] => Some(field("consideredType", text(only))),
        several => Some(field(
            "consideredTypes",
            Owned::Array(several.iter().map(|name| text(name)).collect()),
        )),
    }
}

/// The types that an operator looks at; others do not match for their type alone.
fn expected_types(operator: &str) -> Option<&'static [&'static str]> {
    match operator {
        "$regex" => Some(&["regex", "string", "symbol"]),
        "$mod" => Some(&["decimal", "double", "int", "long"]),
        "$size" | "$elemMatch" => Some(&["array"]),
        "$bitsAllSet" | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear" => {
            Some(&["binData", "decimal", "double", "int", "long"])
        }
        _ => None,
    }
}

fn reason(operator: &str, negative: bool) -> &'static str {
    match (operator, negative) {
        ("$in" | "$nin", false) => "no matching value found in array",
        ("$in" | "$nin", true) => "matching value found in array",
        ("$type", false) => "type did not match",
        ("$type", true) => "type did match",
        ("$regex", false) => "regular expression did not match",
        ("$regex", true) => "regular expression did match",
        ("$mod", false) => "$mod did not evaluate to expected remainder",
        ("$mod", true) => "$mod did evaluate to expected remainder",
        ("$size", false) => "array length was not equal to given size",
        ("$size", true) => "array length was equal to given size",
        ("$all", false) => "array did not contain all specified values",
        ("$all", true) => "array did contain all specified values",
        ("$elemMatch", false) => "array did not satisfy the child predicate",
        ("$elemMatch", true) => "array did satisfy the child predicate",
        ("$bitsAllSet" | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear", false) => {
            "bitwise operator failed to match"
        }
        ("$bitsAllSet" | "$bitsAnySet" | "$bitsAllClear" | "$bitsAnyClear", true) => {
            "bitwise operator matched successfully"
        }
        ("$geoWithin" | "$within", false) => {
            "none of the considered geometries were contained within the expression’s geometry"
        }
        ("$geoWithin" | "$within", true) => {
            "at least one of considered geometries was contained within the expression’s geometry"
        }
        ("$geoIntersects", false) => {
            "none of the considered geometries intersected the expression’s geometry"
        }
        ("$geoIntersects", true) => {
            "at least one of considered geometries intersected the expression’s geometry"
        }
        (_, false) => "comparison failed",
        (_, true) => "comparison succeeded",
    }
}
