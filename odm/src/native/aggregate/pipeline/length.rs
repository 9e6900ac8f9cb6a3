//! How many stages a pipeline may have.

use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};

/// The most stages of one pipeline.
const MOST: usize = 1000;

/// Refuses more stages than a pipeline may have.
///
/// # Errors
/// Code 9.
pub(in super::super) fn check(stages: &[Doc<'_>]) -> Result<()> {
    // No stage is more than four.
    if stages.len() * 4 <= MOST || stages.iter().map(|stage| length_of(*stage)).sum::<usize>() <= MOST {
        return Ok(());
    }
    Err(Fault::new(
        code::FAILED_TO_PARSE,
        format!("Pipeline length must be no longer than {MOST} stages"),
    ))
}

/// Of how many stages the server makes this one.
fn length_of(stage: Doc<'_>) -> usize {
    let Some(element) = stage.elements().next() else {
        return 1;
    };
    match (element.name_str(), element.value()) {
        ("$count" | "$sortByCount" | "$bucket" | "$densify", _) => 2,
        ("$setWindowFields", Value::Document(spec)) => match spec.get("partitionBy") {
            // What a document computes is set, sorted by and taken away again.
            Some(Value::Document(_)) => 4,
            Some(Value::String(_)) => 2,
            _ => 1 + usize::from(spec.get("sortBy").is_some()),
        },
        ("$fill", Value::Document(spec)) => {
            let outputs = spec.get("output").and_then(|own| own.as_document());
            let has = |kind: &str| {
                let mut all = outputs.into_iter().flat_map(Doc::values);
                all.any(|own| own.as_document().is_some_and(|own| own.get(kind).is_some()))
            };
            2 * usize::from(has("method")) + usize::from(has("value"))
        }
        _ => 1,
    }
}
