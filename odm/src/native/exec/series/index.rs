//! Which indexes a time series may have, and the keys that its documents have in them.

use super::super::super::catalog::rules::Series;
use super::super::super::collation::Collation;
use super::super::super::document::number::as_f64;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::index::{IndexDefinition, IndexKeys, Order, Proposal};
use super::partial;

/// Refuses an index that a time series may not have; `own` is how its strings compare.
///
/// # Errors
/// Codes 67, 72 and 5916301, with the server's words.
pub(crate) fn check(series: &Series, own: &Collation, spec: Doc<'_>) -> Result<()> {
    let invalid = |text: &'static str| Err(Fault::new(code::INVALID_OPTIONS, text));
    let keys = match spec.get("key") {
        Some(Value::Document(keys)) => keys,
        _ => Doc::empty(),
    };
    // In the order in which they are written.
    for element in spec.elements() {
        match element.name_str() {
            "key" => check_keys(series, keys)?,
            "sparse" if is_measured(series, keys) => {
                return invalid("Sparse indexes are not supported on time-series measurements");
            }
            "unique" if is_true(&element.value()) => {
                return invalid("Unique indexes are not supported on time-series collections");
            }
            "expireAfterSeconds" => {
                return invalid("TTL indexes are not supported on time-series collections");
            }
            "partialFilterExpression" => check_filter(series, spec, &element.value())?,
            _ => {}
        }
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
    match has_places(series, keys) {
        true => check_places(own, spec),
        false => Ok(()),
    }
}

/// Refuses what a time series is not indexed by.
fn check_keys(series: &Series, keys: Doc<'_>) -> Result<()> {
    if keys.values().any(|order| order.as_str() == Some("text")) {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            "Text indexes are not supported on time-series collections",
        ));
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
    }
    Ok(())
}

/// Refuses a filter that a time series does not have, or not with a collation.
fn check_filter(series: &Series, spec: Doc<'_>, filter: &Value<'_>) -> Result<()> {
    let filter = match filter {
        Value::Document(filter) => *filter,
        // As an array it is read as a document.
        Value::Array(_) => return Ok(()),
        _ => {
            return Err(Fault::new(
                10_065,
                "invalid parameter: expected an object (partialFilterExpression)",
            ));
        }
    };
    if spec.get("collation").is_some() {
        return Err(Fault::new(
            code::INDEX_OPTIONS_CONFLICT,
            "On a time-series collection, partialFilterExpression and collation arguments are incompatible",
        ));
    }
    partial::check(series, filter)
}

/// Whether it has something of measurements. What the server keeps of such an index is the specification as it was given.
pub(crate) fn is_measured(series: &Series, keys: Doc<'_>) -> bool {
    let mut names = keys.elements();
    names.any(|key| key.name_str() != series.time && !series.is_of_meta(key.name_str()))
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
pub(crate) fn define(series: &Series, spec: Doc<'_>) -> Result<Proposal> {
    const VERSION: &str = "2dsphereIndexVersion";
    let Proposal { definition, builder } = IndexDefinition::for_series(spec)?;
    // What the server keeps as it was given has no version unless one was given.
    let is_kept =
        has_places(series, definition.key_pattern()) || spec.get("partialFilterExpression").is_some();
    let definition = match is_kept && spec.get(VERSION).is_none() {
        true => definition.without_option(VERSION),
        false => definition,
    };
    // Of another index the server leaves out what is false.
    let definition = match is_measured(series, definition.key_pattern()) {
        true => definition,
        false => definition.without_false(&["hidden", "unique"]),
    };
    Ok(Proposal { definition, builder })
}

/// The keys of an index as the server has them, of buckets.
pub(crate) fn shown_keys(series: &Series, keys: Doc<'_>) -> String {
    let mut shown = Vec::new();
    for key in keys.elements() {
        let (path, order) = (key.name_str(), Owned::from(key.value()));
        if let Some(meta) = &series.meta
            && series.is_of_meta(path)
        {
            shown.push((format!("meta{}", path.get(meta.len()..).unwrap_or("")), order));
            continue;
        }
        let bounds = match order.as_value().is_number() && as_f64(&order.as_value()) < Some(0.0) {
            true => ["max", "min"],
            false => ["min", "max"],
        };
        shown.extend(bounds.map(|bound| (format!("control.{bound}.{path}"), order.clone())));
    }
    Owned::Document(shown).as_value().to_string()
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
