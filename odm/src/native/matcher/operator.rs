//! The operators of one field: `{ $gt: 1, $lt: 5 }` into predicates.

use std::sync::Arc;

use super::super::document::display::significant;
use super::super::document::number::{as_f64, as_i64_exact};
use super::super::document::{Doc, Kind, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::geo::{GeoQuery, is_near};
use super::ast::{BitRule, BitTest, Predicate, TypeSet};
use super::evaluate::{inner_length, truthy};
use super::integer;
use super::parse::{Level, Parser, bad, is_expression, is_pathless, operand};
use super::pattern::Pattern;

/// The operators of fields. `$where` is here to be refused with other words.
pub(crate) const OPERATORS: &[&str] = &[
    "$eq",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$ne",
    "$in",
    "$nin",
    "$exists",
    "$type",
    "$all",
    "$elemMatch",
    "$not",
    "$size",
    "$mod",
    "$regex",
    "$options",
    "$bitsAllSet",
    "$bitsAllClear",
    "$bitsAnySet",
    "$bitsAnyClear",
    "$geoWithin",
    "$within",
    "$geoIntersects",
    "$near",
    "$nearSphere",
    "$geoNear",
    "$where",
];

/// The field whose operators are parsed.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) parser: Parser<'a>,
    pub(super) name: &'a str,
}

impl Field<'_> {
    /// Parses an operator document; the predicates hold together.
    pub(super) fn predicates(self, operators: Doc<'_>) -> Result<Vec<Predicate>> {
        let mut predicates = Vec::new();
        for element in operators.elements() {
            let (name, value) = (element.name_str(), element.value());
            if !OPERATORS.contains(&name) {
                return Err(bad(format!("unknown operator: {name}")));
            }
            // These hold conditions in turn: kept apart, so that a level of nesting takes little of the stack.
            match name {
                "$all" => predicates.push(self.all(&value)?),
                "$elemMatch" => predicates.push(self.element(&value)?),
                "$not" => predicates.push(self.complement(&value)?),
                // The first of its field is no predicate but a part of the query.
                _ if is_near(name) => return Err(self.near_not_here(predicates.is_empty(), operators)),
                _ => predicates.extend(self.leaf(name, &value, operators)?),
            }
        }
        Ok(predicates)
    }

    /// An operator that compares; `None` for what another operator has taken into account.
    fn leaf(self, name: &str, value: &Value<'_>, operators: Doc<'_>) -> Result<Option<Predicate>> {
        Ok(Some(match name {
            "$eq" => Predicate::Equal(operand(value)?),
            "$ne" if matches!(value, Value::Regex { .. }) => {
                return Err(bad("Can't have regex as arg to $ne."));
            }
            "$ne" => not(Predicate::Equal(operand(value)?)),
            "$lt" => Predicate::Less(self.bound(value)?),
            "$lte" => Predicate::LessOrEqual(self.bound(value)?),
            "$gt" => Predicate::Greater(self.bound(value)?),
            "$gte" => Predicate::GreaterOrEqual(self.bound(value)?),
            "$in" => membership("$in", value)?,
            "$nin" => not(membership("$nin", value)?),
            "$exists" if truthy(value) => Predicate::Exists,
            "$exists" => not(Predicate::Exists),
            "$type" => self.types(value)?,
            "$regex" => regex(operators)?,
            "$options" => match operators.get("$regex") {
                Some(_) => return Ok(None),
                None => return Err(bad("$options needs a $regex")),
            },
            "$mod" => modulo(value)?,
            "$size" => size(value)?,
            "$bitsAllSet" => self.bits(name, BitRule::AllSet, value)?,
            "$bitsAllClear" => self.bits(name, BitRule::AllClear, value)?,
            "$bitsAnySet" => self.bits(name, BitRule::AnySet, value)?,
            "$bitsAnyClear" => self.bits(name, BitRule::AnyClear, value)?,
            "$where" => return Err(bad("$where cannot be applied to a field")),
            "$geoWithin" | "$within" | "$geoIntersects" => {
                // It stands alone.
                if let Some(extra) = operators.elements().nth(1) {
                    return Err(bad(format!(
                        "can't parse extra field: {}: {}",
                        extra.name_str(),
                        extra.value()
                    )));
                }
                Predicate::Geo(Arc::new(GeoQuery::parse(operators)?))
            }
            _ => return Err(bad(format!("unknown operator: {name}"))),
        }))
    }

    /// What is wrong with asking for nearness here.
    fn near_not_here(self, first: bool, operators: Doc<'_>) -> Fault {
        if !self.parser.ordered {
            return super::near::not_allowed();
        }
        if first {
            return super::near::not_on_top();
        }
        bad(format!("near must be first in: {operators}"))
    }

    fn bound(self, value: &Value<'_>) -> Result<Owned> {
        match value {
            Value::Regex { .. } => Err(bad(format!(
                "Can't have RegEx as arg to predicate over field '{}'.",
                self.name
            ))),
            value => operand(value),
        }
    }

    fn types(self, value: &Value<'_>) -> Result<Predicate> {
        let mut types = TypeSet::default();
        match value {
            Value::Array(items) => {
                for item in items.values() {
                    types = type_set(types, &item)?;
                }
            }
            value => types = type_set(types, value)?,
        }
        if types.is_empty() {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!("{} must match at least one type", self.name),
            ));
        }
        Ok(Predicate::Type(types))
    }

    fn all(self, value: &Value<'_>) -> Result<Predicate> {
        let Value::Array(items) = value else {
            return Err(bad("$all needs an array"));
        };
        let Some(first) = items.values().next() else {
            // No value satisfies an empty `$all`.
            return Ok(Predicate::In {
                values: Vec::new(),
                patterns: Vec::new(),
            });
        };
        let matches_elements = element_match(&first).is_some();
        let predicates = items
            .values()
            .map(|item| match (matches_elements, element_match(&item)) {
                (true, Some(inner)) => self.element(&inner),
                (true, None) => Err(bad("$all/$elemMatch has to be consistent")),
                (false, _) => match item {
                    Value::Regex { pattern, options } => {
                        Pattern::parse(pattern, options).map(Predicate::Regex)
                    }
                    Value::Document(doc) if has_operator(doc) => Err(bad("no $ expressions in $all")),
                    item => operand(&item).map(Predicate::Equal),
                },
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(together(predicates))
    }

    fn element(self, value: &Value<'_>) -> Result<Predicate> {
        let Value::Document(doc) = value else {
            return Err(bad("$elemMatch needs an Object"));
        };
        element(self.parser, *doc)
    }

    fn complement(self, value: &Value<'_>) -> Result<Predicate> {
        match value {
            Value::Document(operators) if operators.is_empty() => Err(bad("$not cannot be empty")),
            Value::Document(operators) => self.predicates(*operators).map(complement_of),
            Value::Regex { pattern, options } => {
                Pattern::parse(pattern, options).map(Predicate::Regex).map(not)
            }
            _ => Err(bad("$not needs a regex or a document")),
        }
    }

    fn bits(self, operator: &str, rule: BitRule, value: &Value<'_>) -> Result<Predicate> {
        let mut positions = Vec::new();
        match value {
            Value::Array(items) => {
                for (index, item) in items.values().enumerate() {
                    let position = integer::parse_non_negative_int(&index.to_string(), &item)
                        .map_err(|fault| bad(format!("Failed to parse bit position. {}", fault.message())))?;
                    positions.push(position.unsigned_abs());
                }
            }
            Value::Binary { subtype, bytes } => {
                let prefix = inner_length(*subtype, bytes);
                for (at, byte) in prefix.iter().flatten().chain(bytes.iter()).enumerate() {
                    let set = (0..8).filter(|bit| byte >> bit & 1 == 1);
                    positions.extend(set.filter_map(|bit| u32::try_from(at * 8 + bit).ok()));
                }
            }
            value if value.is_number() => {
                let mask = integer::parse_non_negative(operator, value)?;
                positions.extend((0..63).filter(|bit| mask >> bit & 1 == 1));
            }
            value => {
                return Err(bad(format!(
                    "{} takes an Array, a number, or a BinData but received: {operator}: {value}",
                    self.name
                )));
            }
        }
        positions.sort_unstable();
        positions.dedup();
        Ok(Predicate::Bits(BitTest { rule, positions }))
    }
}

/// Whether a member of `$all` is an operator rather than a literal. That of another `$` name is a literal.
fn has_operator(doc: Doc<'_>) -> bool {
    is_expression(doc, false)
        && doc.elements().next().is_some_and(|first| {
            let name = first.name_str();
            let known = OPERATORS.contains(&name) || name.starts_with("$_internal");
            known && !matches!(name, "$not" | "$where")
        })
}

/// What a member of `$all` asks of elements, if it is an `$elemMatch`.
fn element_match<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    let first = value.as_document()?.elements().next()?;
    (first.name() == b"$elemMatch").then(|| first.value())
}

/// An `$elemMatch`: on values when it begins with an operator of fields, otherwise on documents.
pub(super) fn element(parser: Parser<'_>, condition: Doc<'_>) -> Result<Predicate> {
    let on_values = is_expression(condition, true)
        && condition.elements().next().is_some_and(|first| {
            first
                .name_str()
                .strip_prefix('$')
                .is_some_and(|name| !is_pathless(name))
        });
    if on_values {
        let predicates = Field { parser, name: "" }.predicates(condition)?;
        return Ok(Predicate::ElementValue(predicates));
    }
    let node = parser.document(condition, Level::Element)?;
    Ok(Predicate::ElementObject(Box::new(node)))
}

fn not(predicate: Predicate) -> Predicate {
    Predicate::Not(Box::new(predicate))
}

fn complement_of(predicates: Vec<Predicate>) -> Predicate {
    not(together(predicates))
}

/// One predicate for all of them.
fn together(mut predicates: Vec<Predicate>) -> Predicate {
    match predicates.len() {
        1 => predicates.swap_remove(0),
        _ => Predicate::And(predicates),
    }
}

fn membership(name: &str, value: &Value<'_>) -> Result<Predicate> {
    let Value::Array(items) = value else {
        return Err(bad(format!("{name} needs an array")));
    };
    let mut values = Vec::new();
    let mut patterns = Vec::new();
    for item in items.values() {
        match item {
            Value::Document(doc) if is_expression(doc, false) => {
                return Err(bad("cannot nest $ under $in"));
            }
            Value::Regex { pattern, options } => patterns.push(Pattern::parse(pattern, options)?),
            Value::Undefined => return Err(bad("InMatchExpression equality cannot be undefined")),
            item => values.push(Owned::from(item)),
        }
    }
    Ok(Predicate::any_of(values, patterns))
}

/// Adds a type given by alias or number.
fn type_set(types: TypeSet, value: &Value<'_>) -> Result<TypeSet> {
    match value {
        Value::String(alias) => with_alias(types, alias),
        value if value.is_number() => {
            let number = as_i64_exact(value);
            match number {
                Some(0) => Err(bad(
                    "Invalid numerical type code: 0. Instead use {$exists:false}.",
                )),
                Some(-1) => Ok(types.with(Kind::MinKey)),
                Some(number) => u8::try_from(number)
                    .ok()
                    .filter(|byte| *byte != 0xFF)
                    .and_then(Kind::from_byte)
                    .map(|kind| types.with(kind))
                    .ok_or_else(|| invalid_type_code(value)),
                None => Err(invalid_type_code(value)),
            }
        }
        _ => Err(Fault::new(
            code::TYPE_MISMATCH,
            "type must be represented as a number or a string",
        )),
    }
}

fn invalid_type_code(value: &Value<'_>) -> Fault {
    let number = as_f64(value).unwrap_or(f64::NAN);
    let shown = if number.is_finite() {
        significant(number, 6)
    } else {
        number.to_string().to_lowercase()
    };
    bad(format!("Invalid numerical type code: {shown}"))
}

/// Adds the type with this alias ("int", "objectId", ...; "number" is all four numeric types).
pub(super) fn with_alias(types: TypeSet, alias: &str) -> Result<TypeSet> {
    if alias == "number" {
        return Ok(types.with_numbers());
    }
    (0..=u8::MAX)
        .filter_map(Kind::from_byte)
        .find(|kind| kind.alias() == alias)
        .map(|kind| types.with(kind))
        .ok_or_else(|| no_type(alias))
}

/// The fault of a name that no type has.
pub(super) fn no_type(name: &str) -> Fault {
    bad(match name {
        "missing" => {
            "'missing' is not a legal type name. To query for non-existence of a field, use {$exists:false}."
                .to_owned()
        }
        name => format!("Unknown type name alias: {name}"),
    })
}

/// `$regex` with its `$options`, wherever among the operators they stand.
fn regex(operators: Doc<'_>) -> Result<Predicate> {
    let conflict = |number| Fault::new(number, "options set in both $regex and $options");
    let mut pattern = "";
    let mut options = "";
    for element in operators.elements() {
        match (element.name_str(), element.value()) {
            ("$regex", Value::String(text)) => pattern = text,
            (
                "$regex",
                Value::Regex {
                    pattern: text,
                    options: own,
                },
            ) => {
                pattern = text;
                if !own.is_empty() {
                    if !options.is_empty() {
                        return Err(conflict(51074));
                    }
                    options = own;
                }
            }
            ("$regex", _) => return Err(bad("$regex has to be a string")),
            ("$options", Value::String(text)) => {
                if !options.is_empty() {
                    return Err(conflict(51075));
                }
                options = text;
            }
            ("$options", _) => return Err(bad("$options has to be a string")),
            _ => {}
        }
    }
    Pattern::parse(pattern, options).map(Predicate::Regex)
}

fn modulo(value: &Value<'_>) -> Result<Predicate> {
    let Value::Array(items) = value else {
        return Err(bad("malformed mod, needs to be an array"));
    };
    let number = |index: usize, what: &str| match items.at(index) {
        None => Err(bad("malformed mod, not enough elements")),
        Some(value) if !value.is_number() => Err(bad(format!("malformed mod, {what} not a number"))),
        Some(value) => Ok(value),
    };
    let divisor = number(0, "divisor")?;
    let remainder = number(1, "remainder")?;
    if items.at(2).is_some() {
        return Err(bad("malformed mod, too many elements"));
    }
    let coerced = |value: &Value<'_>, what: &str| {
        integer::truncated(value).ok_or_else(|| {
            let finite = as_f64(value).is_some_and(f64::is_finite);
            let reason = if finite {
                "Out of bounds coercing to integral value"
            } else {
                "Unable to coerce NaN/Inf to integral type"
            };
            bad(format!(
                "malformed mod, {what} value is invalid :: caused by :: {reason}"
            ))
        })
    };
    let divisor = coerced(&divisor, "divisor")?;
    let remainder = coerced(&remainder, "remainder")?;
    if divisor == 0 {
        return Err(bad("divisor cannot be 0"));
    }
    Ok(Predicate::Mod { divisor, remainder })
}

fn size(value: &Value<'_>) -> Result<Predicate> {
    integer::parse_non_negative_int("$size", value)
        .map(|size| Predicate::Size(i64::from(size)))
        .map_err(|fault| bad(format!("Failed to parse $size. {}", fault.message())))
}
