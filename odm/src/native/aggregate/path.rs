//! Field paths of aggregation: dotted names, arrays mapped, never indexed.

use super::super::document::{Doc, Fields, Items, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::expression::Answer;

/// The longest path, in segments.
const MAX_SEGMENTS: usize = 200;

/// Splits a path into its segments, refusing what MongoDB refuses.
pub(crate) fn parse(path: &str) -> Result<Vec<String>> {
    check(path)?;
    Ok(path.split('.').map(str::to_owned).collect())
}

/// Refuses what is no path.
pub(crate) fn check(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(Fault::new(
            40352,
            "FieldPath cannot be constructed with empty string",
        ));
    }
    if path.ends_with('.') {
        return Err(Fault::new(40353, "FieldPath must not end with a '.'."));
    }
    check_length(path.split('.').count())?;
    path.split('.')
        .filter(|segment| !is_reserved(segment))
        .try_for_each(check_name)
}

/// Refuses so many names in a path.
pub(crate) fn check_length(names: usize) -> Result<()> {
    match names > MAX_SEGMENTS {
        true => Err(Fault::new(code::OVERFLOW, "FieldPath is too long")),
        false => Ok(()),
    }
}

/// Whether it is one of the names with a `$` that fields may have: those of a DBRef, and those under which the server
/// writes metadata into a document.
pub(crate) fn is_reserved(name: &str) -> bool {
    matches!(name, "$ref" | "$id" | "$db" | "$recordId" | "$sortKey")
}

/// Refuses what cannot be the name of one field of a path.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Fault::new(
            15998,
            "FieldPath field names may not be empty strings.",
        ));
    }
    if name.starts_with('$') {
        return Err(Fault::new(
            16410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ));
    }
    if name.contains('\0') {
        // The server's text ends before the null byte that it is about.
        return Err(Fault::new(16411, "FieldPath field names may not contain '"));
    }
    if name.contains('.') {
        return Err(Fault::new(
            16412,
            "FieldPath field names may not contain '.'. Consider using $getField or $setField.",
        ));
    }
    Ok(())
}

/// The value at `path` below `value`. An array on the way gives the array of
/// what its documents have there; arrays inside it are passed over.
pub(crate) fn walk<'a>(value: Value<'a>, path: &[String]) -> Answer<'a> {
    let Some((name, rest)) = path.split_first() else {
        return Answer::Borrowed(value);
    };
    match value {
        Value::Document(doc) => match doc.get(name) {
            Some(inner) if rest.is_empty() => Answer::Borrowed(inner),
            Some(inner) => walk(inner, rest),
            None => Answer::Missing,
        },
        Value::Array(items) => Answer::Owned(walk_items(items, path).into_owned()),
        _ => Answer::Missing,
    }
}

fn walk_items(items: Doc<'_>, path: &[String]) -> Items {
    let mut found = Items::default();
    for item in items.values().filter(|item| matches!(item, Value::Document(_))) {
        if let Some(value) = walk(item, path).value() {
            found.push(&value);
        }
    }
    found
}

/// Gives each value at `path`, arrays on the way and at its end entered once each. If it `picks`, digits behind an
/// array are the place of one element.
pub(crate) fn each<'a>(value: Value<'a>, path: &[String], picks: bool, give: &mut dyn FnMut(Value<'a>)) {
    let Some((name, rest)) = path.split_first() else {
        match value {
            Value::Array(items) => items.values().for_each(give),
            value => give(value),
        }
        return;
    };
    match value {
        Value::Document(doc) => {
            if let Some(inner) = doc.get(name) {
                each(inner, rest, picks, give);
            }
        }
        Value::Array(items) => match position(name).filter(|_| picks) {
            Some(at) => {
                if let Some(item) = items.values().nth(at) {
                    each(item, rest, picks, give);
                }
            }
            None => items
                .values()
                .filter(|item| matches!(item, Value::Document(_)))
                .for_each(|item| each(item, path, picks, give)),
        },
        _ => {}
    }
}

/// The position that a segment is, of nothing but digits.
fn position(segment: &str) -> Option<usize> {
    let digits = segment.bytes().all(|byte| byte.is_ascii_digit());
    let at: u32 = segment.parse().ok().filter(|_| digits)?;
    usize::try_from(at).ok()
}

/// Splits a path of a projection, where the positional `$` has its own error.
pub(crate) fn parse_projected(path: &str) -> Result<Vec<String>> {
    if path.ends_with(".$") {
        return Err(Fault::new(
            31324,
            "Cannot use positional projection in aggregation projection",
        ));
    }
    parse(path)
}

/// Sets (or removes) the value at a path of documents; what is no document on the way gives way to one.
pub(crate) fn set(fields: &mut Fields, path: &[String], value: Option<Owned>) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    let position = fields.iter().position(|(other, _)| other == name);
    if rest.is_empty() {
        match (position, value) {
            (Some(at), Some(value)) => fields[at].1 = value,
            (Some(at), None) => {
                fields.remove(at);
            }
            (None, Some(value)) => fields.push((name.clone(), value)),
            (None, None) => {}
        }
        return;
    }
    let at = position.unwrap_or_else(|| {
        fields.push((name.clone(), Owned::Null));
        fields.len() - 1
    });
    let inner = &mut fields[at].1;
    inner.open();
    if !matches!(inner, Owned::Document(_)) {
        *inner = Owned::Document(Vec::new());
    }
    if let Owned::Document(fields) = inner {
        set(fields, rest, value);
    }
}

/// The value at a path of documents only; arrays are not entered.
pub(crate) fn get<'a>(doc: Doc<'a>, path: &[String]) -> Option<Value<'a>> {
    let (name, rest) = path.split_first()?;
    let value = doc.get(name)?;
    if rest.is_empty() {
        return Some(value);
    }
    match value {
        Value::Document(inner) => get(inner, rest),
        _ => None,
    }
}
