//! Key patterns.

use super::super::super::document::{Doc, Value, number};
use super::super::super::fault::{Fault, Result, code};
use super::super::super::geo::Grid;
use super::super::super::text::WILDCARD;
use super::super::text;
use super::super::wildcard::is_wildcard;
use super::super::{IndexField, Order};
use super::cannot;

/// How many fields an index may have.
const MAX_FIELDS: usize = 32;

pub(super) fn parse_key(pattern: Doc<'_>) -> Result<Vec<IndexField>> {
    let mut keys: Vec<IndexField> = Vec::new();
    let compounds_wildcard = pattern.count() > 1 && is_of_wildcard(pattern);
    for (position, element) in pattern.elements().enumerate() {
        let mut before = pattern.elements().take(position);
        if before.any(|other| other.name() == element.name()) {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!(
                    "The field '{}' appears multiple times in the index key pattern {pattern}",
                    element.name_str()
                ),
            ));
        }
    }
    check_plugin(pattern)?;
    check_plugins(pattern)?;
    for element in pattern.elements() {
        let path = element.name_str();
        if is_wildcard(path) && matches!(element.value(), Value::String("wildcard")) {
            return Err(cannot(
                "The key pattern value for an 'wildcard' index must be a non-zero number, not a string.",
            ));
        }
        let order = parse_order(&element.value())?;
        if order == Order::Descending && is_wildcard(path) {
            return Err(cannot(
                "A numeric value in a $** index key pattern must be positive.",
            ));
        }
        if compounds_wildcard {
            return Err(cannot("wildcard indexes do not allow compounding"));
        }
        if order != Order::Text || path != WILDCARD {
            let all_below = order == Order::Ascending && is_wildcard(path);
            check_path(
                path.strip_suffix("$**").filter(|_| all_below).unwrap_or(path),
                all_below,
            )?;
        }
        keys.push(IndexField {
            path: path.to_owned(),
            order,
        });
    }
    if keys.is_empty() {
        return Err(cannot("Index keys cannot be empty."));
    }
    let text = keys.iter().any(|key| key.order == Order::Text);
    if !text && let Some(reserved) = keys.iter().find(|key| key.path == text::TERM) {
        return Err(cannot(format!(
            "Index key contains an illegal field name: '{}'",
            reserved.path
        )));
    }
    Ok(keys)
}

/// Whether a wildcard is the first field of a pattern that is kept in a way of its own.
fn is_of_wildcard(pattern: Doc<'_>) -> bool {
    let mut fields = pattern.elements();
    let kept =
        fields.find(|field| is_wildcard(field.name_str()) || matches!(field.value(), Value::String(_)));
    kept.is_some_and(|field| !matches!(field.value(), Value::String(_)))
}

/// The first way of keeping fields that is named is known.
fn check_plugin(pattern: Doc<'_>) -> Result<()> {
    let mut fields = pattern.elements();
    let kept =
        fields.find(|field| is_wildcard(field.name_str()) || matches!(field.value(), Value::String(_)));
    match kept.map(|field| field.value()) {
        Some(Value::String(plugin)) if !plugin.is_empty() && !PLUGINS.contains(&plugin) => {
            Err(unknown(plugin))
        }
        _ => Ok(()),
    }
}

fn unknown(plugin: &str) -> Fault {
    cannot(format!("Unknown index plugin '{plugin}'"))
}

/// The ways of keeping fields that the server knows.
const PLUGINS: &[&str] = &[
    "2d",
    "2dsphere",
    "2dsphere_bucket",
    "geoHaystack",
    "hashed",
    "text",
    "wildcard",
];

/// All fields that are kept in a way of their own are kept in the same way.
fn check_plugins(pattern: Doc<'_>) -> Result<()> {
    let mut plugins = pattern.values().filter_map(|value| match value {
        Value::String(plugin) => Some(plugin),
        _ => None,
    });
    let first = plugins.next();
    if plugins.any(|other| Some(other) != first) {
        return Err(cannot("Can't use more than one index plugin for a single index."));
    }
    Ok(())
}

fn parse_order(value: &Value<'_>) -> Result<Order> {
    match *value {
        ref number if number.is_number() => {
            if number::is_nan(number) {
                return Err(cannot("Values in the index key pattern cannot be NaN."));
            }
            match number::compare(number, &Value::Int32(0)) {
                std::cmp::Ordering::Greater => Ok(Order::Ascending),
                std::cmp::Ordering::Less => Ok(Order::Descending),
                std::cmp::Ordering::Equal => Err(cannot("Values in the index key pattern cannot be 0.")),
            }
        }
        Value::String("hashed") => Ok(Order::Hashed),
        Value::String("text") => Ok(Order::Text),
        Value::String("") => Err(cannot("Values in the index key pattern cannot be empty strings")),
        Value::String("geoHaystack") => Err(cannot(
            "GeoHaystack indexes cannot be created in version 5.0 and above",
        )),
        Value::String("2d") => Ok(Order::Flat(Grid::default())),
        Value::String("2dsphere") => Ok(Order::Sphere),
        Value::String(plugin) => Err(unknown(plugin)),
        ref other => Err(cannot(format!(
            "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers < 0, and strings \
             are allowed.",
            other.kind().alias()
        ))),
    }
}

/// `prefix`: what stands before a wildcard, with the dot behind it, and may be nothing.
fn check_path(path: &str, prefix: bool) -> Result<()> {
    let path = match prefix {
        true if path.is_empty() => return Ok(()),
        true => path.strip_suffix('.').unwrap_or(path),
        false => path,
    };
    if path.is_empty() {
        return Err(cannot("Index keys cannot be an empty field."));
    }
    for (position, name) in path.split('.').enumerate() {
        if name.is_empty() {
            return Err(cannot("Index keys cannot contain an empty field."));
        }
        let reference = position > 0 && matches!(name, "$id" | "$ref" | "$db");
        if name.starts_with('$') && !reference {
            return Err(cannot(
                "Index key contains an illegal field name: field name starts with '$'.",
            ));
        }
    }
    Ok(())
}

pub(super) fn check_count(key: Doc<'_>, keys: &[IndexField], unique: bool) -> Result<()> {
    let hashed = keys.iter().filter(|key| key.order == Order::Hashed).count();
    if hashed > 0 && unique {
        return Err(Fault::new(
            16764,
            "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.",
        ));
    }
    if hashed > 1 {
        return Err(Fault::new(
            31303,
            format!(
                "A maximum of one index field is allowed to be hashed but found {hashed} for 'key' {key}"
            ),
        ));
    }
    if keys.len() > MAX_FIELDS {
        return Err(Fault::new(13103, "too many compound keys"));
    }
    Ok(())
}
