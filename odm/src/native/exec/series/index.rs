//! Which indexes a time series may have, and the keys that its documents have in them.

use super::super::super::catalog::rules::Series;
use super::super::super::collation::Collation;
use super::super::super::document::number::as_f64;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::index::{IndexDefinition, IndexKeys, Order};
use super::partial;

/// Refuses an index that a time series may not have; `own` is how its strings compare.
///
/// # Errors
/// Codes 67, 72 and 5916301, with the server's words.
pub(crate) fn check(series: &Series, own: &Collation, spec: Doc<'_>) -> Result<()> {
    let invalid = |text: &'static str| Err(Fault::new(code::INVALID_OPTIONS, text));
    let asks = |name: &str| spec.get(name).is_some_and(|value| is_true(&value));
    let keys = match spec.get("key") {
        Some(Value::Document(keys)) => keys,
        _ => Doc::empty(),
    };
    if keys.values().any(|order| order.as_str() == Some("text")) {
        return invalid("Text indexes are not supported on time-series collections");
    }
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
        if spec.get("sparse").is_some() {
            return invalid("Sparse indexes are not supported on time-series measurements");
        }
    }
    if asks("unique") {
        return invalid("Unique indexes are not supported on time-series collections");
    }
    if spec.get("expireAfterSeconds").is_some() {
        return invalid("TTL indexes are not supported on time-series collections");
    }
    // It would have a key for the least and one for the greatest of each.
    if keys
        .elements()
        .any(|key| key.name().ends_with(b"$**") && !series.is_of_meta(key.name_str()))
    {
        return Err(Fault::new(
            code::CANNOT_CREATE_INDEX,
            "wildcard indexes do not allow compounding",
        ));
    }
    if has_places(series, keys) {
        check_places(own, spec)?;
    }
    match spec.get("partialFilterExpression") {
        Some(Value::Document(filter)) => partial::check(series, filter),
        _ => Ok(()),
    }
}

/// Whether it is about places in measurements.
fn has_places(series: &Series, keys: Doc<'_>) -> bool {
    let mut keys = keys.elements();
    keys.any(|key| key.value().as_str() == Some("2dsphere") && !series.is_of_meta(key.name_str()))
}

/// Refuses what an index of places in measurements does not have.
fn check_places(own: &Collation, spec: Doc<'_>) -> Result<()> {
    let cannot = |text: String| Err(Fault::new(code::CANNOT_CREATE_INDEX, text));
    let collation = match spec.get("collation") {
        Some(Value::Document(given)) => Collation::parse(given)?.unwrap_or_else(|| own.clone()),
        _ => own.clone(),
    };
    if !collation.is_simple() {
        return cannot(format!(
            "Error in specification {spec} :: caused by :: Index type '2dsphere_bucket' does not support collation: {}",
            collation.shown()
        ));
    }
    match spec.get("2dsphereIndexVersion").map(|version| as_f64(&version)) {
        None | Some(Some(3.0)) => Ok(()),
        Some(_) => cannot(format!(
            "Error in specification {spec} :: caused by :: unsupported geo index version, only versions: [3] are supported"
        )),
    }
}

/// Reads a specification; what says no collation has been given that of the series.
pub(crate) fn define(series: &Series, spec: Doc<'_>) -> Result<IndexDefinition> {
    const VERSION: &str = "2dsphereIndexVersion";
    let definition = IndexDefinition::parse_for_series(spec)?;
    // What the server keeps as it was given has no version unless one was given.
    let is_kept =
        has_places(series, definition.key_pattern()) || spec.get("partialFilterExpression").is_some();
    Ok(match is_kept && spec.get(VERSION).is_none() {
        true => definition.without_option(VERSION),
        false => definition,
    })
}

/// The keys that a document has in an index.
///
/// # Errors
/// Code 5930501 for an array in a measurement, 183493, 183934 and 167551 for what is no point in one; and those of
/// [`IndexDefinition::keys`].
pub(crate) fn keys(series: &Series, definition: &IndexDefinition, doc: Doc<'_>) -> Result<IndexKeys> {
    let is_measured = |path: &str| path != series.time && !series.is_of_meta(path);
    let measured = definition.keys.iter().zip(definition.meet_arrays(doc));
    let mut measured = measured.filter(|(key, _)| is_measured(&key.path)).peekable();
    if measured.peek().is_none() || !partial::may_have(definition, doc)? {
        return definition.keys(doc);
    }
    for (key, meets_array) in measured {
        match key.order {
            Order::Sphere => definition.check_points(&key.path, doc)?,
            _ if meets_array => {
                return Err(Fault::new(
                    5_930_501,
                    "Indexed measurement field contains an array value",
                ));
            }
            _ => {}
        }
    }
    definition.keys(doc)
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
