//! `collMod` of a time series.

use super::super::super::catalog::Collection;
use super::super::super::catalog::rules::{self, series, wrong_type};
use super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::storage::Write;
use super::super::Namespace;
use super::super::alter::{self, Run};

/// Changes how long documents live and how close they are, and what is said of an index; what is said of it.
///
/// # Errors
/// MongoDB's: 72 for what a time series does not have, and a granularity that is finer than before.
pub(in super::super) fn modify(
    write: &mut dyn Write,
    ns: &Namespace,
    front: &Collection,
    changes: Doc<'_>,
    run: Run,
) -> Result<Fields> {
    let mut options = super::listed_options(front);
    let mut reply = Fields::new();
    for element in changes.elements() {
        let (name, value) = (element.name_str(), element.value());
        match name {
            "viewOn" | "pipeline" => {
                return Err(invalid(format!("option only supported on a view: {name}")));
            }
            "isTimeseriesNamespace" if changes.get("timeseries").is_some() => {
                return Err(invalid(format!(
                    "option only supported on a time-series collection: {name}"
                )));
            }
            "validator"
            | "validationLevel"
            | "validationAction"
            | "changeStreamPreAndPostImages"
            | "recordPreImages" => {
                return Err(invalid(format!(
                    "option not supported on a time-series collection: {name}"
                )));
            }
            "timeseries" => {
                if let Some(own) = &front.rules.series {
                    alter::set(&mut options, name, series::modified(own, value)?);
                }
            }
            "expireAfterSeconds" => set_life(&mut options, value)?,
            "index" => {
                let buckets = super::buckets_of(ns);
                if let Some(documents) = super::documents(write.catalog(), ns) {
                    alter::modify_index(write, &buckets, &documents, value, run, &mut reply)?;
                }
            }
            // The server takes the bounds of capped collections, and has no use for them.
            _ => {}
        }
    }
    run.check()?;
    if run == Run::Real {
        super::set_options(write, ns, options)?;
    }
    Ok(reply)
}

/// Sets how long documents live whose collection has the order of their time or `_id`; `"off"` is for ever.
///
/// # Errors
/// Codes 14 and 72.
pub(in super::super) fn set_life(options: &mut Fields, value: Value<'_>) -> Result<()> {
    const NAME: &str = "expireAfterSeconds";
    match value {
        Value::String("off") => options.retain(|(own, _)| own != NAME),
        Value::String(other) => {
            return Err(invalid(format!(
                "Invalid string value for the 'clusteredIndex::expireAfterSeconds' option. Got: '{other}'. Accepted value is 'off'"
            )));
        }
        seconds if seconds.is_number() => {
            alter::set(options, NAME, Owned::Int64(rules::expire_after(&seconds)?));
        }
        other => {
            let types = "types '[string, long']";
            return Err(wrong_type("collMod.expireAfterSeconds", other, types));
        }
    }
    Ok(())
}

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::INVALID_OPTIONS, text)
}
