//! What the server finds as it looks through all stages of a pipeline, before it reads them one after the other.

use super::super::super::aggregate::stage::{self, CHANGE_STREAM, ChangeStream, Stage};
use super::super::super::aggregate::transform::{stage_parts, unknown_stage};
use super::super::super::aggregate::{Names, path};
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::output::parse;

/// The codes of what is wrong with a stage that writes as far as it is looked at here.
const EARLY: [i32; 17] = [
    code::BAD_VALUE,
    code::TYPE_MISMATCH,
    code::INVALID_NAMESPACE,
    13111,
    16990,
    16994,
    40324,
    40414,
    40415,
    51134,
    51178,
    51181,
    51186,
    51187,
    51191,
    5_786_800,
    5_786_801,
];

/// Refuses what is no stage, and a stage that writes, joins or has pipelines in the wrong form.
///
/// # Errors
/// That stage's.
pub(crate) fn look_through(stages: &[Doc<'_>], database: &str) -> Result<()> {
    Look { database }.through(stages).map(|_| ())
}

/// Where the stages are looked at. What it gives says whether it goes on behind a stage.
struct Look<'a> {
    database: &'a str,
}

impl Look<'_> {
    fn through(&self, stages: &[Doc<'_>]) -> Result<bool> {
        for stage in stages {
            let (name, value) = stage_parts(*stage)?;
            let goes_on = match name {
                "$out" | "$merge" => match parse(&stage::parse_output(name, &value)?, self.database, &[]) {
                    Err(fault) if EARLY.contains(&fault.code()) => return Err(fault),
                    result => result.is_ok(),
                },
                name if !stage::is_known(name) => return Err(unknown_stage(name)),
                "$facet" => self.look_at_facets(&value)?,
                "$lookup" | "$graphLookup" => self.look_at_lookup(name, &value)?,
                "$unionWith" => self.look_at_union(&value)?,
                "$collStats" if value.as_document().is_none() => {
                    return Err(wrong_form(name, &value, 5_447_000));
                }
                CHANGE_STREAM => ChangeStream::document(&value).map(|_| true)?,
                _ => true,
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn look_at_facets(&self, value: &Value<'_>) -> Result<bool> {
        let wrong = |code| Err(wrong_form("$facet", value, code));
        let Value::Document(facets) = *value else {
            return wrong(40_169);
        };
        if facets.is_empty() {
            return wrong(40_169);
        }
        let mut pipelines = Vec::new();
        for facet in facets.elements() {
            path::check_name(facet.name_str())?;
            let Value::Array(items) = facet.value() else {
                return wrong(40_170);
            };
            let Some(stages) = documents(items) else {
                return wrong(40_171);
            };
            pipelines.push(stages);
        }
        for stages in pipelines {
            if !self.through(&stages)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn look_at_lookup(&self, name: &str, value: &Value<'_>) -> Result<bool> {
        let wrong = |code| Err(wrong_form(name, value, code));
        let Value::Document(spec) = *value else {
            return wrong(code::FAILED_TO_PARSE);
        };
        let pipeline = spec.get("pipeline").filter(|_| name == "$lookup");
        match spec.get("from") {
            Some(Value::String("")) => {
                return Err(Fault::new(
                    code::INVALID_NAMESPACE,
                    format!("invalid {name} namespace: {}.", self.database),
                ));
            }
            Some(Value::String(_)) => {}
            Some(Value::Document(from)) => return Err(stage::other_database(name, from)),
            Some(other) => {
                return Err(Fault::new(
                    code::FAILED_TO_PARSE,
                    format!(
                        "{name} 'from' field must be a string, but found {}",
                        other.kind().alias()
                    ),
                ));
            }
            None if pipeline.as_ref().is_some_and(makes_documents) => {}
            None if name == "$lookup" => {
                return Err(match pipeline {
                    None => Fault::new(
                        code::FAILED_TO_PARSE,
                        "must specify 'pipeline' when 'from' is empty",
                    ),
                    Some(pipeline) => {
                        stages_of(pipeline)?;
                        stage::without_collection(name)
                    }
                });
            }
            None => return wrong(code::FAILED_TO_PARSE),
        }
        match pipeline {
            None => Ok(true),
            Some(pipeline) => self.through(&stages_of(pipeline)?),
        }
    }

    fn look_at_union(&self, value: &Value<'_>) -> Result<bool> {
        let wrong = |code| Err(wrong_form("$unionWith", value, code));
        let spec = match *value {
            Value::String(_) => return Ok(true),
            Value::Document(spec) => spec,
            _ => return wrong(code::FAILED_TO_PARSE),
        };
        for element in spec.elements() {
            match (element.name_str(), element.value()) {
                ("coll", Value::String(_) | Value::Null | Value::Undefined)
                | ("pipeline", Value::Array(_)) => {}
                ("pipeline", Value::Null | Value::Undefined) => return wrong(10_065),
                ("coll" | "pipeline", _) => return wrong(code::TYPE_MISMATCH),
                _ => return wrong(40_415),
            }
        }
        let pipeline = spec.get("pipeline");
        match spec.get("coll") {
            Some(Value::String(_)) => {}
            _ if pipeline.as_ref().is_some_and(makes_documents) => {}
            _ => return wrong(code::FAILED_TO_PARSE),
        }
        self.look_at_united(value, pipeline)
    }

    fn look_at_united(&self, value: &Value<'_>, pipeline: Option<Value<'_>>) -> Result<bool> {
        let stages = match pipeline {
            None => return Ok(true),
            Some(Value::Array(items)) => present(items),
            Some(_) => None,
        };
        match stages {
            Some(stages) => self.through(&stages),
            None => Err(wrong_form("$unionWith", value, code::TYPE_MISMATCH)),
        }
    }
}

/// The stages of a pipeline.
fn stages_of(pipeline: Value<'_>) -> Result<Vec<Doc<'_>>> {
    let Value::Array(items) = pipeline else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            "'pipeline' option must be specified as an array",
        ));
    };
    documents(items).ok_or_else(|| {
        Fault::new(
            code::TYPE_MISMATCH,
            "Each element of the 'pipeline' array must be an object",
        )
    })
}

/// Whether a pipeline begins with documents of its own.
fn makes_documents(pipeline: &Value<'_>) -> bool {
    match pipeline {
        Value::Array(items) => match items.values().next() {
            Some(Value::Document(first)) => first.get("$documents").is_some(),
            _ => false,
        },
        _ => false,
    }
}

/// The documents among the items, if all others are null.
fn present(items: Doc<'_>) -> Option<Vec<Doc<'_>>> {
    let given = items
        .values()
        .filter(|item| !matches!(item, Value::Null | Value::Undefined));
    given.map(|item| item.as_document()).collect()
}

/// The items, if all are documents.
fn documents(items: Doc<'_>) -> Option<Vec<Doc<'_>>> {
    items.values().map(|item| item.as_document()).collect()
}

/// The fault of a stage with this code, as it is told where the stage is read.
fn wrong_form(name: &str, value: &Value<'_>, code: i32) -> Fault {
    match Stage::parse(name, value, &Names::of(&[])) {
        Err(fault) if fault.code() == code => fault,
        _ => Fault::new(code, format!("{name} has not the form of such a stage")),
    }
}
