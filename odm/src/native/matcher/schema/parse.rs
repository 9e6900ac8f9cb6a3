//! Reading schemas, with the server's complaints.

use super::super::super::document::number::as_decimal;
use super::super::super::document::{Doc, Kind, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::ast::{FieldPath, TypeSet};
use super::super::integer;
use super::super::operator::{no_type, with_alias};
use super::super::parse::bad;
use super::super::pattern::Pattern;
use super::{
    ArrayRules, Bound, Dependency, Extra, NumberRules, ObjectRules, Schema, TextRules, same_unordered,
};

/// Keywords of draft 4 that the server refuses.
const REFUSED: [&str; 6] = ["$ref", "$schema", "default", "definitions", "format", "id"];

/// All keywords, in the order in which they are read.
pub(crate) const KEYWORDS: [&str; 31] = [
    "title",
    "description",
    "encryptMetadata",
    "encrypt",
    "type",
    "bsonType",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "multipleOf",
    "enum",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "required",
    "properties",
    "additionalProperties",
    "patternProperties",
    "minProperties",
    "maxProperties",
    "dependencies",
    "minItems",
    "maxItems",
    "uniqueItems",
    "items",
    "additionalItems",
];

/// The keywords that hold schemas.
const NESTING: [&str; 10] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "properties",
    "additionalProperties",
    "patternProperties",
    "dependencies",
    "items",
    "additionalItems",
];

fn mismatch(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::TYPE_MISMATCH, message)
}

fn failed(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::FAILED_TO_PARSE, message)
}

impl Schema {
    /// Parses a schema document.
    pub(crate) fn parse(schema: Doc<'_>) -> Result<Schema> {
        let mut parsed = Schema::default();
        parsed.read(schema, true)?;
        Ok(parsed)
    }

    /// Parses the schema of a value inside a document.
    pub(crate) fn parse_member(schema: Doc<'_>) -> Result<Schema> {
        let mut parsed = Schema::default();
        parsed.read(schema, false)?;
        Ok(parsed)
    }

    /// Reads a schema in place: schemas nest as deep as documents, so what a level keeps on the stack is small.
    /// `whole`: it is about the whole document.
    fn read(&mut self, schema: Doc<'_>, whole: bool) -> Result<()> {
        check_keywords(schema)?;
        for keyword in KEYWORDS {
            if let Some(value) = schema.get(keyword) {
                match NESTING.contains(&keyword) {
                    true => self.nested(keyword, &value, schema, whole)?,
                    false => self.keyword(keyword, &value, schema, whole)?,
                }
            }
        }
        Ok(())
    }

    fn keyword(&mut self, name: &'static str, value: &Value<'_>, schema: Doc<'_>, whole: bool) -> Result<()> {
        match name {
            "title" | "description" if value.as_str().is_none() => {
                return Err(mismatch(format!(
                    "$jsonSchema keyword '{name}' must be of type string"
                )));
            }
            "encrypt" | "encryptMetadata" => {
                return Err(Fault::unsupported(format!(
                    "$jsonSchema keyword '{name}' is not supported"
                )));
            }
            "type" | "bsonType" => self.types = Some(types(name, value)?),
            "maximum" => self.numbers().maximum = Some(bound(name, value, "exclusiveMaximum", schema)?),
            "minimum" => self.numbers().minimum = Some(bound(name, value, "exclusiveMinimum", schema)?),
            "exclusiveMaximum" => check_exclusive(name, "maximum", value, schema)?,
            "exclusiveMinimum" => check_exclusive(name, "minimum", value, schema)?,
            "multipleOf" => {
                let divisor = as_decimal(value)
                    .ok_or_else(|| mismatch("$jsonSchema keyword 'multipleOf' must be a number"))?;
                if divisor.is_negative() || divisor.is_zero() {
                    return Err(failed(
                        "$jsonSchema keyword 'multipleOf' must have a positive value",
                    ));
                }
                // The whole document is no number, and no text: the server leaves out what is about those.
                if whole {
                    return Ok(());
                }
                if divisor.is_nan() {
                    return Err(bad("divisor cannot be NaN"));
                }
                if divisor.is_infinite() {
                    return Err(bad("divisor cannot be infinite"));
                }
                self.numbers().multiple_of = Some(divisor);
            }
            "maxLength" => self.texts().most = Some(integer::parse_non_negative(name, value)?),
            "minLength" => self.texts().least = Some(integer::parse_non_negative(name, value)?),
            "pattern" => {
                let text = value
                    .as_str()
                    .ok_or_else(|| mismatch("$jsonSchema keyword 'pattern' must be a string"))?;
                if !whole {
                    self.texts().pattern = Some(Pattern::parse(text, "")?);
                }
            }
            "enum" => self.variants = Some(variants(value)?),
            "required" => self.objects().required = required(value)?,
            "minProperties" => self.objects().least = Some(integer::parse_non_negative(name, value)?),
            "maxProperties" => self.objects().most = Some(integer::parse_non_negative(name, value)?),
            "minItems" => self.arrays().least = Some(integer::parse_non_negative(name, value)?),
            "maxItems" => self.arrays().most = Some(integer::parse_non_negative(name, value)?),
            "uniqueItems" => match value {
                Value::Bool(unique) => self.arrays().unique = *unique,
                _ => return Err(mismatch("$jsonSchema keyword 'uniqueItems' must be a boolean")),
            },
            _ => {}
        }
        Ok(())
    }

    /// A keyword that holds schemas.
    fn nested(&mut self, name: &'static str, value: &Value<'_>, schema: Doc<'_>, whole: bool) -> Result<()> {
        match name {
            "allOf" => schemas(&mut self.all_of, name, value, whole),
            "anyOf" => schemas(&mut self.any_of, name, value, whole),
            "oneOf" => schemas(&mut self.one_of, name, value, whole),
            "not" => match value {
                Value::Document(inner) => self.not.insert(Box::default()).read(*inner, whole),
                other => Err(not_a_schema(other)),
            },
            "properties" => properties(self.objects(), value),
            "additionalProperties" => {
                let rules = self.objects();
                extra(&mut rules.additional, value).unwrap_or_else(|| Err(bad_properties()))
            }
            "patternProperties" => pattern_properties(&mut self.objects().patterns, value),
            "dependencies" => dependencies(&mut self.objects().dependencies, value, whole),
            "items" => self.items(value),
            // Without a list of schemas in `items`, there are no additional items.
            "additionalItems" if matches!(schema.get("items"), Some(Value::Array(_))) => {
                let rules = self.arrays();
                extra(&mut rules.rest, value).unwrap_or_else(|| Err(bad_items(value)))
            }
            _ => extra(&mut None, value).unwrap_or_else(|| Err(bad_items(value))),
        }
    }

    fn items(&mut self, value: &Value<'_>) -> Result<()> {
        match value {
            Value::Document(schema) => read_boxed(*schema, false, |inner| {
                self.arrays().rest = Some(Extra::Schema(inner));
            }),
            Value::Array(items) => tuple(&mut self.arrays().tuple, *items),
            other => Err(mismatch(format!(
                "$jsonSchema keyword 'items' must be an array or an object, not {}",
                other.kind().alias()
            ))),
        }
    }

    fn numbers(&mut self) -> &mut NumberRules {
        self.number.get_or_insert_default()
    }

    fn texts(&mut self) -> &mut TextRules {
        self.text.get_or_insert_default()
    }

    fn arrays(&mut self) -> &mut ArrayRules {
        self.array.get_or_insert_default()
    }

    fn objects(&mut self) -> &mut ObjectRules {
        self.object.get_or_insert_default()
    }
}

/// Refuses keywords that are unknown, not supported or repeated.
fn check_keywords(schema: Doc<'_>) -> Result<()> {
    let mut seen: Vec<&str> = Vec::new();
    for element in schema.elements() {
        let name = element.name_str();
        if REFUSED.contains(&name) {
            return Err(failed(format!(
                "$jsonSchema keyword '{name}' is not currently supported"
            )));
        }
        if !KEYWORDS.contains(&name) {
            return Err(failed(format!("Unknown $jsonSchema keyword: {name}")));
        }
        if seen.contains(&name) {
            return Err(failed(format!("Duplicate $jsonSchema keyword: {name}")));
        }
        seen.push(name);
    }
    if seen.contains(&"type") && seen.contains(&"bsonType") {
        return Err(failed(
            "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'",
        ));
    }
    Ok(())
}

fn types(keyword: &str, value: &Value<'_>) -> Result<TypeSet> {
    let mut names: Vec<&str> = Vec::new();
    match value {
        Value::String(name) => names.push(name),
        Value::Array(items) => {
            for item in items.values() {
                let name = item.as_str().ok_or_else(|| {
                    mismatch(format!(
                        "$jsonSchema keyword '{keyword}' array elements must be strings"
                    ))
                })?;
                if names.contains(&name) {
                    return Err(failed(format!(
                        "$jsonSchema keyword '{keyword}' has duplicate value: {name}"
                    )));
                }
                names.push(name);
            }
        }
        _ => {
            return Err(mismatch(format!(
                "$jsonSchema keyword '{keyword}' must be either a string or an array of strings"
            )));
        }
    }
    if names.contains(&"integer") {
        return Err(failed("$jsonSchema type 'integer' is not currently supported."));
    }
    let mut types = TypeSet::default();
    for name in names {
        types = match (keyword, name) {
            ("bsonType", name) => with_alias(types, name)?,
            (_, "boolean") => types.with(Kind::Bool),
            (_, "array" | "number" | "string" | "object" | "null") => with_alias(types, name)?,
            (_, name) => return Err(no_type(name)),
        };
    }
    if types.is_empty() {
        return Err(failed(format!(
            "$jsonSchema keyword '{keyword}' must name at least one type"
        )));
    }
    Ok(types)
}

fn bound(name: &str, value: &Value<'_>, exclusive: &str, schema: Doc<'_>) -> Result<Bound> {
    let is_exclusive = schema.get(exclusive);
    if is_exclusive.is_some_and(|given| !matches!(given, Value::Bool(_))) {
        return Err(mismatch(format!(
            "$jsonSchema keyword '{exclusive}' must be a boolean"
        )));
    }
    if !value.is_number() {
        return Err(mismatch(format!("$jsonSchema keyword '{name}' must be a number")));
    }
    Ok(Bound {
        value: Owned::from(*value),
        exclusive: matches!(is_exclusive, Some(Value::Bool(true))),
    })
}

fn check_exclusive(name: &str, bound: &str, value: &Value<'_>, schema: Doc<'_>) -> Result<()> {
    if schema.get(bound).is_none() {
        return Err(failed(format!(
            "$jsonSchema keyword '{bound}' must be a present if {name} is present"
        )));
    }
    match value {
        Value::Bool(_) => Ok(()),
        _ => Err(mismatch(format!(
            "$jsonSchema keyword '{name}' must be a boolean"
        ))),
    }
}

fn variants(value: &Value<'_>) -> Result<Vec<Owned>> {
    let Value::Array(items) = value else {
        return Err(mismatch(format!(
            "$jsonSchema keyword 'enum' must be an array, but found an element of type {}",
            value.kind().alias()
        )));
    };
    if items.is_empty() {
        return Err(failed("$jsonSchema keyword 'enum' cannot be an empty array"));
    }
    let mut variants: Vec<Owned> = Vec::new();
    for item in items.values() {
        if variants
            .iter()
            .any(|other| same_unordered(&other.as_value(), &item))
        {
            return Err(failed(
                "$jsonSchema keyword 'enum' array cannot contain duplicate values.",
            ));
        }
        variants.push(Owned::from(item));
    }
    Ok(variants)
}

fn not_a_schema(value: &Value<'_>) -> Fault {
    mismatch(format!(
        "$jsonSchema keyword 'not' must be an object, but found an element of type {}",
        value.kind().alias()
    ))
}

/// Reads a schema into a box of its own and hands it over.
fn read_boxed(schema: Doc<'_>, whole: bool, keep: impl FnOnce(Box<Schema>)) -> Result<()> {
    let mut inner = Box::<Schema>::default();
    inner.read(schema, whole)?;
    keep(inner);
    Ok(())
}

/// Reads a schema behind those that are there.
fn read_next(list: &mut Vec<Schema>, schema: Doc<'_>, whole: bool) -> Result<()> {
    list.push(Schema::default());
    list.last_mut().map_or(Ok(()), |last| last.read(schema, whole))
}

fn tuple(list: &mut Vec<Schema>, items: Doc<'_>) -> Result<()> {
    for item in items.values() {
        match item {
            Value::Document(schema) => read_next(list, schema, false)?,
            other => {
                return Err(mismatch(format!(
                    "$jsonSchema keyword 'items' requires that each element of the array is an object, but \
                     found a {}",
                    other.kind().alias()
                )));
            }
        }
    }
    Ok(())
}

fn schemas(list: &mut Vec<Schema>, name: &str, value: &Value<'_>, whole: bool) -> Result<()> {
    let Value::Array(items) = value else {
        return Err(mismatch(format!("$jsonSchema keyword '{name}' must be an array")));
    };
    if items.is_empty() {
        return Err(bad(format!(
            "$jsonSchema keyword '{name}' must be a non-empty array"
        )));
    }
    for item in items.values() {
        match item {
            Value::Document(schema) => read_next(list, schema, whole)?,
            other => return Err(not_an_object(name, &other)),
        }
    }
    Ok(())
}

fn not_an_object(name: &str, value: &Value<'_>) -> Fault {
    mismatch(format!(
        "$jsonSchema keyword '{name}' must be an array of objects, but found an element of type {}",
        value.kind().alias()
    ))
}

fn required(value: &Value<'_>) -> Result<Vec<FieldPath>> {
    let Value::Array(items) = value else {
        return Err(mismatch(format!(
            "$jsonSchema keyword 'required' must be an array, but found an element of type {}",
            value.kind().alias()
        )));
    };
    if items.is_empty() {
        return Err(failed("$jsonSchema keyword 'required' cannot be an empty array"));
    }
    let mut names: Vec<FieldPath> = Vec::new();
    for item in items.values() {
        let name = item.as_str().ok_or_else(|| {
            mismatch(format!(
                "$jsonSchema keyword 'required' must be an array of strings, but found an element of type: {}",
                item.kind().alias()
            ))
        })?;
        if names.iter().any(|other| other.as_str() == name) {
            return Err(failed(
                "$jsonSchema keyword 'required' array cannot contain duplicate values",
            ));
        }
        names.push(FieldPath::parse(name));
    }
    Ok(names)
}

fn properties(rules: &mut ObjectRules, value: &Value<'_>) -> Result<()> {
    let Value::Document(doc) = value else {
        return Err(mismatch("$jsonSchema keyword 'properties' must be an object"));
    };
    for element in doc.elements() {
        let Value::Document(schema) = element.value() else {
            return Err(mismatch(format!(
                "Nested schema for $jsonSchema property '{}' must be an object",
                element.name_str()
            )));
        };
        let name = element.name_str();
        if name.contains('.') {
            let deep = &mut rules.deep;
            read_boxed(schema, false, |mut inner| {
                inner.take_apart();
                deep.push((FieldPath::parse(name), *inner));
            })?;
            continue;
        }
        rules.properties.push((name.to_owned(), Schema::default()));
        if let Some((_, last)) = rules.properties.last_mut() {
            last.read(schema, false)?;
        }
    }
    Ok(())
}

fn bad_properties() -> Fault {
    mismatch("$jsonSchema keyword 'additionalProperties' must be an object or a boolean")
}

fn bad_items(value: &Value<'_>) -> Fault {
    mismatch(format!(
        "$jsonSchema keyword 'additionalItems' must be either an object or a boolean, but got a {}",
        value.kind().alias()
    ))
}

/// Reads a schema or a boolean; `None` when it is neither.
fn extra(place: &mut Option<Extra>, value: &Value<'_>) -> Option<Result<()>> {
    match value {
        Value::Bool(true) => Some(Ok(())),
        Value::Bool(false) => {
            *place = Some(Extra::Refused);
            Some(Ok(()))
        }
        Value::Document(schema) => Some(read_boxed(*schema, false, |inner| {
            *place = Some(Extra::Schema(inner));
        })),
        _ => None,
    }
}

fn pattern_properties(list: &mut Vec<(Pattern, Schema)>, value: &Value<'_>) -> Result<()> {
    let Value::Document(doc) = value else {
        return Err(mismatch(
            "$jsonSchema keyword 'patternProperties' must be an object",
        ));
    };
    for element in doc.elements() {
        let name = element.name_str();
        let Value::Document(schema) = element.value() else {
            return Err(mismatch(format!(
                "$jsonSchema keyword 'patternProperties' has property '{name}' which is not an object"
            )));
        };
        let mut inner = Box::<Schema>::default();
        inner.read(schema, false)?;
        push_pattern(list, name, inner)?;
    }
    Ok(())
}

fn push_pattern(list: &mut Vec<(Pattern, Schema)>, name: &str, schema: Box<Schema>) -> Result<()> {
    let pattern = Pattern::parse_for_names(name).map_err(|fault| {
        match fault.message().strip_prefix("Regular expression is invalid: ") {
            Some(reason) => bad(format!("Invalid regular expression: {reason}")),
            None => fault,
        }
    })?;
    list.push((pattern, *schema));
    Ok(())
}

fn dependencies(list: &mut Vec<(FieldPath, Dependency)>, value: &Value<'_>, whole: bool) -> Result<()> {
    let Value::Document(doc) = value else {
        return Err(mismatch("$jsonSchema keyword 'dependencies' must be an object"));
    };
    for element in doc.elements() {
        let name = element.name_str();
        match element.value() {
            Value::Document(schema) => read_boxed(schema, whole, |inner| {
                list.push((FieldPath::parse(name), Dependency::Schema(inner)));
            })?,
            Value::Array(items) => {
                list.push((
                    FieldPath::parse(name),
                    Dependency::Fields(dependent_fields(name, items)?),
                ));
            }
            _ => {
                return Err(mismatch(format!(
                    "property '{name}' in $jsonSchema keyword 'dependencies' must be either an object or an \
                     array"
                )));
            }
        }
    }
    Ok(())
}

fn dependent_fields(name: &str, items: Doc<'_>) -> Result<Vec<FieldPath>> {
    if items.is_empty() {
        return Err(failed(format!(
            "property '{name}' in $jsonSchema keyword 'dependencies' cannot be an empty array"
        )));
    }
    let mut fields: Vec<FieldPath> = Vec::new();
    for item in items.values() {
        let field = item.as_str().ok_or_else(|| {
            mismatch(format!(
                "array '{name}' in $jsonSchema keyword 'dependencies' can only contain strings, but found \
                 element of type: {}",
                item.kind().alias()
            ))
        })?;
        if fields.iter().any(|other| other.as_str() == field) {
            return Err(failed(format!(
                "array '{name}' in $jsonSchema keyword 'dependencies' contains duplicate element: {field}"
            )));
        }
        fields.push(FieldPath::parse(field));
    }
    Ok(fields)
}
