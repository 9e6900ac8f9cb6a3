//! Which indexes a time series may have.

use super::super::super::catalog::rules::Series;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};

/// Refuses an index that a time series may not have.
///
/// # Errors
/// Codes 67 and 72, with the server's words; unsupported for one on `_id` alone.
pub(crate) fn check(series: &Series, spec: Doc<'_>) -> Result<()> {
    let invalid = |text: &'static str| Err(Fault::new(code::INVALID_OPTIONS, text));
    if spec.get("unique").is_some_and(|unique| is_true(&unique)) {
        return invalid("Unique indexes are not supported on time-series collections");
    }
    if spec.get("expireAfterSeconds").is_some() {
        return invalid("TTL indexes are not supported on time-series collections");
    }
    let Some(Value::Document(keys)) = spec.get("key") else {
        return Ok(());
    };
    if keys.values().any(|order| order.as_str() == Some("text")) {
        return invalid("Text indexes are not supported on time-series collections");
    }
    let is_sparse = spec.get("sparse").is_some_and(|sparse| is_true(&sparse));
    for element in keys.elements() {
        let (path, order) = (element.name_str(), element.value());
        if series.is_of_meta(path) {
            continue;
        }
        if path == series.time {
            if !order.is_number() {
                return Err(bad_key(keys, "the time field", "(numbers only)", path, &order));
            }
            continue;
        }
        if !order.is_number() && order.as_str() != Some("2dsphere") {
            let kinds = "(numbers only), or '2dsphere'";
            return Err(bad_key(keys, "measurement fields", kinds, path, &order));
        }
        if path.ends_with("$**") {
            return Err(Fault::new(
                code::CANNOT_CREATE_INDEX,
                "wildcard indexes do not allow compounding",
            ));
        }
        if is_sparse {
            return invalid("Sparse indexes are not supported on time-series measurements");
        }
    }
    let on_id = keys.count() == 1 && keys.get("_id").is_some_and(|order| order.is_number());
    if on_id {
        return Err(Fault::unsupported(
            "the embedded engine keeps no index on the _id alone of a time series",
        ));
    }
    Ok(())
}

fn bad_key(keys: Doc<'_>, on: &str, kinds: &str, path: &str, order: &Value<'_>) -> Fault {
    Fault::new(
        code::CANNOT_CREATE_INDEX,
        format!(
            "BadValue: Invalid index spec for time-series collection: {keys}. Indexes on {on} must be ascending or descending {kinds}: {path}: {order}"
        ),
    )
}

fn is_true(value: &Value<'_>) -> bool {
    match value {
        Value::Bool(truth) => *truth,
        Value::Int32(number) => *number != 0,
        Value::Int64(number) => *number != 0,
        Value::Double(number) => *number != 0.0,
        _ => false,
    }
}
