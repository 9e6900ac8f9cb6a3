//! Reading schemas, with the server's complaints.

use super::super::super::document::number::as_decimal;
use super::super::super::document::{Doc, Kind, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::ast::TypeSet;
use super::super::integer;
use super::super::operator::with_alias;
use super::super::parse::bad;
use super::super::pattern::Pattern;
use super::{
    ArrayRules, Bound, Dependency, Extra, NumberRules, ObjectRules, Schema, TextRules, same_unordered,
};

/// Keywords of draft 4 that the server refuses.
const REFUSED: [&str; 6] = ["$ref", "$schema", "default", "definitions", "format", "id"];

/// All keywords, in the order in which they are read.
const KEYWORDS: [&str; 31] = [
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

fn mismatch(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::TYPE_MISMATCH, message)
}

fn failed(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::FAILED_TO_PARSE, message)
}

impl Schema {
    /// Parses a schema document.
    pub(crate) fn parse(schema: Doc<'_>) -> Result<Schema> {
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
        let mut parsed = Schema::default();
        for keyword in KEYWORDS {
            if let Some(value) = schema.get(keyword) {
                parsed.keyword(keyword, &value, schema)?;
            }
        }
        Ok(parsed)
    }

    fn keyword(&mut self, name: &'static str, value: &Value<'_>, schema: Doc<'_>) -> Result<()> {
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
                self.numbers().multiple_of = Some(divisor);
            }
            "maxLength" => self.texts().most = Some(integer::parse_non_negative(name, value)?),
            "minLength" => self.texts().least = Some(integer::parse_non_negative(name, value)?),
            "pattern" => {
                let text = value
                    .as_str()
                    .ok_or_else(|| mismatch("$jsonSchema keyword 'pattern' must be a string"))?;
                self.texts().pattern = Some(Pattern::parse(text, "")?);
            }
            "enum" => self.variants = Some(variants(value)?),
            "allOf" => self.all_of = schemas(name, value)?,
            "anyOf" => self.any_of = schemas(name, value)?,
            "oneOf" => self.one_of = schemas(name, value)?,
            "not" => match value {
                Value::Document(inner) => self.not = Some(Box::new(Schema::parse(*inner)?)),
                other => {
                    return Err(mismatch(format!(
                        "$jsonSchema keyword 'not' must be an object, but found an element of type {}",
                        other.kind().alias()
                    )));
                }
            },
            "required" => self.objects().required = required(value)?,
            "properties" => self.objects().properties = properties(value)?,
            "additionalProperties" => self.objects().additional = additional_properties(value)?,
            "patternProperties" => self.objects().patterns = pattern_properties(value)?,
            "minProperties" => self.objects().least = Some(integer::parse_non_negative(name, value)?),
            "maxProperties" => self.objects().most = Some(integer::parse_non_negative(name, value)?),
            "dependencies" => self.objects().dependencies = dependencies(value)?,
            "minItems" => self.arrays().least = Some(integer::parse_non_negative(name, value)?),
            "maxItems" => self.arrays().most = Some(integer::parse_non_negative(name, value)?),
            "uniqueItems" => match value {
                Value::Bool(unique) => self.arrays().unique = *unique,
                _ => return Err(mismatch("$jsonSchema keyword 'uniqueItems' must be a boolean")),
            },
            "items" => self.items(value)?,
            "additionalItems" => {
                let extra = additional_items(value)?;
                // Without a list of schemas in `items`, there are no additional items.
                if matches!(schema.get("items"), Some(Value::Array(_))) {
                    self.arrays().rest = extra;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn items(&mut self, value: &Value<'_>) -> Result<()> {
        match value {
            Value::Document(schema) => {
                self.arrays().rest = Some(Extra::Schema(Box::new(Schema::parse(*schema)?)));
            }
            Value::Array(items) => {
                self.arrays().tuple = items
                    .values()
                    .map(|item| match item {
                        Value::Document(schema) => Schema::parse(schema),
                        other => Err(mismatch(format!(
                            "$jsonSchema keyword 'items' requires that each element of the array is an \
                             object, but found a {}",
                            other.kind().alias()
                        ))),
                    })
                    .collect::<Result<_>>()?;
            }
            other => {
                return Err(mismatch(format!(
                    "$jsonSchema keyword 'items' must be an array or an object, not {}",
                    other.kind().alias()
                )));
            }
        }
        Ok(())
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
    let mut types = TypeSet::default();
    for name in names {
        types = match (keyword, name) {
            ("bsonType", name) => with_alias(types, name)?,
            (_, "integer") => {
                return Err(failed("$jsonSchema type 'integer' is not currently supported."));
            }
            (_, "boolean") => types.with(Kind::Bool),
            (_, "array" | "number" | "string" | "object" | "null") => with_alias(types, name)?,
            (_, name) => return Err(bad(format!("Unknown type name alias: {name}"))),
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
    if !value.is_number() {
        return Err(mismatch(format!("$jsonSchema keyword '{name}' must be a number")));
    }
    Ok(Bound {
        value: Owned::from(*value),
        exclusive: matches!(schema.get(exclusive), Some(Value::Bool(true))),
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

fn schemas(name: &str, value: &Value<'_>) -> Result<Vec<Schema>> {
    let Value::Array(items) = value else {
        return Err(mismatch(format!("$jsonSchema keyword '{name}' must be an array")));
    };
    if items.is_empty() {
        return Err(bad(format!(
            "$jsonSchema keyword '{name}' must be a non-empty array"
        )));
    }
    items
        .values()
        .map(|item| match item {
            Value::Document(schema) => Schema::parse(schema),
            other => Err(mismatch(format!(
                "$jsonSchema keyword '{name}' must be an array of objects, but found an element of type {}",
                other.kind().alias()
            ))),
        })
        .collect()
}

fn required(value: &Value<'_>) -> Result<Vec<String>> {
    let Value::Array(items) = value else {
        return Err(mismatch(format!(
            "$jsonSchema keyword 'required' must be an array, but found an element of type {}",
            value.kind().alias()
        )));
    };
    if items.is_empty() {
        return Err(failed("$jsonSchema keyword 'required' cannot be an empty array"));
    }
    let mut names: Vec<String> = Vec::new();
    for item in items.values() {
        let name = item.as_str().ok_or_else(|| {
            mismatch(format!(
                "$jsonSchema keyword 'required' must be an array of strings, but found an element of type: {}",
                item.kind().alias()
            ))
        })?;
        if names.iter().any(|other| other == name) {
            return Err(failed(
                "$jsonSchema keyword 'required' array cannot contain duplicate values",
            ));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn properties(value: &Value<'_>) -> Result<Vec<(String, Schema)>> {
    let Value::Document(doc) = value else {
        return Err(mismatch("$jsonSchema keyword 'properties' must be an object"));
    };
    doc.elements()
        .map(|element| match element.value() {
            Value::Document(schema) => Ok((element.name_str().to_owned(), Schema::parse(schema)?)),
            _ => Err(mismatch(format!(
                "Nested schema for $jsonSchema property '{}' must be an object",
                element.name_str()
            ))),
        })
        .collect()
}

fn additional_properties(value: &Value<'_>) -> Result<Option<Extra>> {
    extra(value).ok_or_else(|| {
        mismatch("$jsonSchema keyword 'additionalProperties' must be an object or a boolean")
    })?
}

fn additional_items(value: &Value<'_>) -> Result<Option<Extra>> {
    extra(value).ok_or_else(|| {
        mismatch(format!(
            "$jsonSchema keyword 'additionalItems' must be either an object or a boolean, but got a {}",
            value.kind().alias()
        ))
    })?
}

/// A schema or a boolean; `None` when it is neither.
fn extra(value: &Value<'_>) -> Option<Result<Option<Extra>>> {
    match value {
        Value::Bool(true) => Some(Ok(None)),
        Value::Bool(false) => Some(Ok(Some(Extra::Refused))),
        Value::Document(schema) => {
            Some(Schema::parse(*schema).map(|schema| Some(Extra::Schema(Box::new(schema)))))
        }
        _ => None,
    }
}

fn pattern_properties(value: &Value<'_>) -> Result<Vec<(Pattern, Schema)>> {
    let Value::Document(doc) = value else {
        return Err(mismatch(
            "$jsonSchema keyword 'patternProperties' must be an object",
        ));
    };
    doc.elements()
        .map(|element| {
            let name = element.name_str();
            let Value::Document(schema) = element.value() else {
                return Err(mismatch(format!(
                    "$jsonSchema keyword 'patternProperties' has property '{name}' which is not an object"
                )));
            };
            let schema = Schema::parse(schema)?;
            let pattern = Pattern::parse(name, "").map_err(|fault| {
                match fault.message().strip_prefix("Regular expression is invalid: ") {
                    Some(reason) => bad(format!("Invalid regular expression: {reason}")),
                    None => fault,
                }
            })?;
            Ok((pattern, schema))
        })
        .collect()
}

fn dependencies(value: &Value<'_>) -> Result<Vec<(String, Dependency)>> {
    let Value::Document(doc) = value else {
        return Err(mismatch("$jsonSchema keyword 'dependencies' must be an object"));
    };
    doc.elements()
        .map(|element| {
            let name = element.name_str();
            let dependency = match element.value() {
                Value::Document(schema) => Dependency::Schema(Box::new(Schema::parse(schema)?)),
                Value::Array(items) => Dependency::Fields(dependent_fields(name, items)?),
                _ => {
                    return Err(mismatch(format!(
                        "property '{name}' in $jsonSchema keyword 'dependencies' must be either an object \
                         or an array"
                    )));
                }
            };
            Ok((name.to_owned(), dependency))
        })
        .collect()
}

fn dependent_fields(name: &str, items: Doc<'_>) -> Result<Vec<String>> {
    if items.is_empty() {
        return Err(failed(format!(
            "property '{name}' in $jsonSchema keyword 'dependencies' cannot be an empty array"
        )));
    }
    let mut fields: Vec<String> = Vec::new();
    for item in items.values() {
        let field = item.as_str().ok_or_else(|| {
            mismatch(format!(
                "array '{name}' in $jsonSchema keyword 'dependencies' can only contain strings, but found \
                 element of type: {}",
                item.kind().alias()
            ))
        })?;
        if fields.iter().any(|other| other == field) {
            return Err(failed(format!(
                "array '{name}' in $jsonSchema keyword 'dependencies' contains duplicate element: {field}"
            )));
        }
        fields.push(field.to_owned());
    }
    Ok(fields)
}
