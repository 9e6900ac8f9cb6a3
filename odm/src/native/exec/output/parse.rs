//! The stages that write, from BSON.

use super::super::super::aggregate::expression::{Expression, check_variable_name};
use super::super::super::aggregate::path;
use super::super::super::aggregate::pipeline::Output;
use super::super::super::aggregate::transform::Transform;
use super::super::super::catalog::rules;
use super::super::super::document::{Doc, Once, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::{Namespace, check_database};
use super::{Matched, Merge, NotMatched, Target};

/// Reads the stage that writes.
///
/// # Errors
/// MongoDB's for each option.
pub(crate) fn parse(output: &Output, database: &str, names: &[String]) -> Result<Target> {
    match output {
        Output::Out {
            database: other,
            collection,
        } => {
            let ns = Namespace {
                database: other.clone().unwrap_or_else(|| database.to_owned()),
                collection: collection.clone(),
            };
            check_target("$out", &ns)?;
            if collection.starts_with("system.") {
                return Err(Fault::new(
                    17385,
                    format!("Can't $out to special collection: {collection}"),
                ));
            }
            if is_internal(&ns.database) {
                return Err(Fault::new(
                    31321,
                    format!("Can't $out to internal database: {}", ns.database),
                ));
            }
            Ok(Target::Out(ns))
        }
        Output::Merge(stage) => match Doc::Raw(stage).get("$merge") {
            Some(value) => parse_merge(&value, database, names).map(|merge| Target::Merge(Box::new(merge))),
            None => Err(Fault::new(code::INTERNAL, "$merge has no value")),
        },
    }
}

fn parse_merge(value: &Value<'_>, database: &str, names: &[String]) -> Result<Merge> {
    let mut merge = Merge {
        into: Namespace {
            database: database.to_owned(),
            collection: String::new(),
        },
        is_by_id: true,
        on: vec!["_id".to_owned()],
        variables: Vec::new(),
        matched: Matched::Merge,
        not_matched: NotMatched::Insert,
        refused: None,
    };
    let spec = match *value {
        Value::Document(spec) => spec,
        _ => {
            parse_into(value, &mut merge.into)?;
            merge.refused = check_special(&merge.into).err();
            return Ok(merge);
        }
    };
    let mut bound = None;
    let mut stages = None;
    let mut has_into = false;
    let mut mode = "merge";
    let mut once = Once::within("$merge");
    for element in spec.elements() {
        let value = element.value();
        match element.name_str() {
            "into" => {
                has_into = true;
                if value.as_str() == Some("") {
                    return Err(Fault::new(
                        5_786_800,
                        "$merge 'into' field cannot be an empty string",
                    ));
                }
                parse_into(&value, &mut merge.into)?;
            }
            "on" => {
                merge.is_by_id = false;
                merge.on = parse_on(&value)?;
            }
            "let" => match value {
                Value::Document(doc) => bound = Some(doc),
                Value::Null | Value::Undefined => {}
                other => {
                    return Err(rules::wrong_type("$merge.let", other, "type 'object'"));
                }
            },
            "whenMatched" => match value {
                Value::Array(items) => {
                    stages = Some(parse_stages(items)?);
                    mode = "pipeline";
                }
                other => {
                    (merge.matched, mode) = parse_matched(&other)?;
                    stages = None;
                }
            },
            "whenNotMatched" if matches!(value, Value::Null | Value::Undefined) => {}
            "whenNotMatched" => {
                merge.not_matched = match value.as_str() {
                    Some("insert") => NotMatched::Insert,
                    Some("discard") => NotMatched::Discard,
                    Some("fail") => NotMatched::Fail,
                    None => return Err(rules::wrong_type("$merge.whenNotMatched", value, "type 'string'")),
                    other => {
                        return Err(Fault::new(
                            code::BAD_VALUE,
                            format!(
                                "Enumeration value '{}' for field '$merge.whenNotMatched' is not a valid value.",
                                other.unwrap_or_default()
                            ),
                        ));
                    }
                }
            }
            "targetCollectionVersion" | "allowMergeOnNullishValues" => {}
            other => return Err(Fault::unknown_field("$merge", other)),
        }
        once.see(&element)?;
    }
    if !has_into {
        return Err(Fault::new(
            40414,
            "BSON field '$merge.into' is missing but a required field",
        ));
    }
    if let (mode @ ("keepExisting" | "fail"), NotMatched::Discard | NotMatched::Fail) =
        (mode, merge.not_matched)
    {
        let other = match merge.not_matched {
            NotMatched::Discard => "discard",
            _ => "fail",
        };
        return Err(Fault::new(
            51181,
            format!(
                "Combination of $merge modes 'whenMatched: {mode}' and 'whenNotMatched: {other}' is not supported"
            ),
        ));
    }
    if let Some(stages) = &stages {
        Transform::check_names(stages)?;
    }
    check_on(&merge.on)?;
    if let Some(stages) = &stages {
        merge.matched = Matched::Pipeline(stages.iter().map(|stage| stage.to_bytes()).collect());
    }
    merge.refused = check_special(&merge.into)
        .and_then(|()| parse_variables(bound, mode, names, &mut merge))
        .err();
    Ok(merge)
}

fn parse_variables(bound: Option<Doc<'_>>, mode: &str, names: &[String], merge: &mut Merge) -> Result<()> {
    if bound.is_some() && mode != "pipeline" {
        return Err(Fault::new(
            51199,
            format!("Cannot use 'let' variables with 'whenMatched: {mode}' mode"),
        ));
    }
    // The server hands the new document over where it may insert it, and else in a `let` of its own making.
    if bound.is_none() || matches!(merge.not_matched, NotMatched::Insert) {
        merge.variables.push((
            "new".to_owned(),
            Expression::parse(&Value::String("$$ROOT"), &[])?,
        ));
    }
    for element in bound.into_iter().flat_map(Doc::elements) {
        if element.name_str() == "new" && element.value().as_str() != Some("$$ROOT") {
            return Err(Fault::new(
                51273,
                "'let' may not define a value for the reserved 'new' variable other than '$$ROOT'",
            ));
        }
        check_variable_name(element.name_str(), true)?;
        merge.variables.retain(|(name, _)| name != element.name_str());
        merge.variables.push((
            element.name_str().to_owned(),
            Expression::parse_unfolded(&element.value(), names)?,
        ));
    }
    Ok(())
}

fn parse_into(value: &Value<'_>, into: &mut Namespace) -> Result<()> {
    match *value {
        Value::String(collection) => into.collection = collection.to_owned(),
        Value::Document(doc) => {
            let mut once = Once::within("into");
            for element in doc.elements() {
                let (name, value) = (element.name_str(), element.value());
                let part = match name {
                    "db" => &mut into.database,
                    "coll" => &mut into.collection,
                    other => return Err(Fault::unknown_field("into", other)),
                };
                match value {
                    Value::String("") if name == "db" => {}
                    Value::String(text) => *part = text.to_owned(),
                    Value::Null | Value::Undefined => {}
                    other => {
                        let path = format!("into.{name}");
                        return Err(rules::wrong_type(&path, other, "type 'string'"));
                    }
                }
                once.see(&element)?;
            }
            if into.collection.is_empty() {
                return Err(Fault::new(
                    5_786_801,
                    "$merge 'into' field must specify a 'coll' that is not empty, null or undefined",
                ));
            }
        }
        other => {
            return Err(Fault::new(
                51178,
                format!(
                    "$merge 'into' field  must be either a string or an object, but found {}",
                    other.kind().alias()
                ),
            ));
        }
    }
    check_target("$merge", into)
}

/// Refuses what is the server's own.
fn check_special(into: &Namespace) -> Result<()> {
    if into.collection.starts_with("system.") {
        return Err(Fault::new(
            31319,
            format!("Cannot $merge to special collection: {}", into.collection),
        ));
    }
    if is_internal(&into.database) {
        return Err(Fault::new(
            31320,
            format!("Cannot $merge to internal database: {}", into.database),
        ));
    }
    Ok(())
}

/// Whether a database is the server's own.
fn is_internal(database: &str) -> bool {
    matches!(database, "admin" | "local" | "config")
}

/// Refuses a target that no collection can be.
fn check_target(stage: &str, target: &Namespace) -> Result<()> {
    if target.database.contains('\0') || target.collection.contains('\0') {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            "namespaces cannot have embedded null characters",
        ));
    }
    if target.collection.is_empty() || check_database(&target.database).is_err() {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Invalid {stage} target namespace, {target}"),
        ));
    }
    if target.collection.starts_with('.') {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Collection names cannot start with '.': {}", target.collection),
        ));
    }
    Ok(())
}

fn parse_on(value: &Value<'_>) -> Result<Vec<String>> {
    let fields: Vec<String> = match *value {
        Value::String(field) => vec![field.to_owned()],
        Value::Array(items) => items
            .values()
            .map(|item| match item {
                Value::String(field) => Ok(field.to_owned()),
                other => Err(Fault::new(
                    51134,
                    format!(
                        "$merge 'on' array elements must be strings, but found {}",
                        other.kind().alias()
                    ),
                )),
            })
            .collect::<Result<_>>()?,
        other => {
            return Err(Fault::new(
                51186,
                format!(
                    "$merge 'on' field  must be either a string or an array of strings, but found {}",
                    other.kind().alias()
                ),
            ));
        }
    };
    if fields.is_empty() {
        return Err(Fault::new(
            51187,
            "If explicitly specifying $merge 'on', must include at least one field",
        ));
    }
    Ok(fields)
}

fn check_on(fields: &[String]) -> Result<()> {
    for (at, field) in fields.iter().enumerate() {
        path::parse(field)?;
        if fields[..at].contains(field) {
            return Err(Fault::new(31465, format!("Found a duplicate field '{field}'")));
        }
    }
    Ok(())
}

fn parse_stages(stages: Doc<'_>) -> Result<Vec<Doc<'_>>> {
    let stages = stages.values().map(|stage| {
        stage.as_document().ok_or_else(|| {
            Fault::new(
                code::TYPE_MISMATCH,
                "Each element of the 'pipeline' array must be an object",
            )
        })
    });
    stages.collect()
}

fn parse_matched<'a>(value: &Value<'a>) -> Result<(Matched, &'a str)> {
    Ok(match *value {
        Value::String("replace") => (Matched::Replace, "replace"),
        Value::String("keepExisting") => (Matched::KeepExisting, "keepExisting"),
        Value::String("merge") => (Matched::Merge, "merge"),
        Value::String("fail") => (Matched::Fail, "fail"),
        Value::String(other) => {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("Enumeration value '{other}' for field 'whenMatched' is not a valid value."),
            ));
        }
        other => {
            return Err(Fault::new(
                51191,
                format!(
                    "$merge 'whenMatched' field  must be either a string or an array, but found {}",
                    other.kind().alias()
                ),
            ));
        }
    })
}
