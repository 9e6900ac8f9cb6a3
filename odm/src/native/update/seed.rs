//! What an upsert takes from its filter: every path that must be equal to one value.

use super::super::collation::Collation;
use super::super::document::{Doc, Fields, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::is_expression;
use super::super::matcher::never::{documents, is_never};

/// The server's code for an operator in a place that does not admit it.
const QUERY_FEATURE_NOT_ALLOWED: i32 = 224;
/// The server's code for a filter that names a part of `_id`.
const NOT_EXACT: i32 = 111;
/// The server's code for a path that is too long for a filter.
const PATH_TOO_LONG: i32 = 5_729_100;
const MAX_SEGMENTS: usize = 200;

/// Paths and values in the order of the filter.
type Equalities<'a> = Vec<(&'a str, Value<'a>)>;

/// Refuses `$expr` anywhere in the filter.
pub(super) fn refuse_expressions(filter: Doc<'_>) -> Result<()> {
    for element in filter.elements() {
        match (element.name_str(), element.value()) {
            ("$expr", _) => {
                return Err(Fault::new(
                    QUERY_FEATURE_NOT_ALLOWED,
                    "$expr is not allowed in the query predicate for an upsert",
                ));
            }
            ("$and" | "$or" | "$nor", Value::Array(branches)) => {
                for branch in documents(branches) {
                    refuse_expressions(branch)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What a filter describes.
pub(super) struct Seed {
    pub(super) document: Vec<u8>,
    /// Whether `_id` is described by parts of it.
    pub(super) has_parts_of_id: bool,
}

/// The document that the filter describes, paths in order.
pub(super) fn of(filter: Doc<'_>, collation: &Collation) -> Result<Seed> {
    let mut equalities = Vec::new();
    if !is_never(filter) {
        collect(filter, collation, &mut equalities);
    }
    equalities.sort_by_key(|(path, _)| *path);
    refuse_clashes(&equalities)?;
    let has_parts_of_id = equalities.iter().any(|(path, _)| path.starts_with("_id."));
    let mut fields = Fields::new();
    for (path, value) in equalities {
        let segments: Vec<&str> = path.split('.').collect();
        if segments.len() >= MAX_SEGMENTS {
            return Err(Fault::new(PATH_TOO_LONG, "FieldPath is too long"));
        }
        if path.is_empty() {
            return Err(Fault::new(
                code::ILLEGAL_OPERATION,
                "Cannot call setValue on the root object",
            ));
        }
        set(&mut fields, &segments, value.into());
    }
    Ok(Seed {
        document: Doc::Fields(&fields).to_bytes(),
        has_parts_of_id,
    })
}

/// The `_id` that the filter describes, as a document of it alone; empty without one.
pub(super) fn identity(filter: Doc<'_>, collation: &Collation) -> Result<Vec<u8>> {
    let mut equalities = Vec::new();
    if !is_never(filter) {
        collect(filter, collation, &mut equalities);
    }
    equalities.retain(|(path, _)| *path == "_id" || path.starts_with("_id."));
    if equalities.iter().filter(|(path, _)| *path == "_id").count() > 1 {
        return Err(matched_twice("_id"));
    }
    if let Some((path, _)) = equalities
        .iter()
        .filter(|(path, _)| *path != "_id")
        .min_by_key(|(path, _)| *path)
    {
        return Err(Fault::new(
            NOT_EXACT,
            format!("field at '_id' must be exactly specified, field at sub-path '{path}'found"),
        ));
    }
    let fields: Fields = equalities
        .into_iter()
        .map(|(path, value)| (path.to_owned(), value.into()))
        .collect();
    Ok(Doc::Fields(&fields).to_bytes())
}

fn collect<'a>(filter: Doc<'a>, collation: &Collation, found: &mut Equalities<'a>) {
    for element in filter.elements() {
        let name = element.name_str();
        match (name, element.value()) {
            ("$and", Value::Array(branches)) => {
                for branch in documents(branches) {
                    collect(branch, collation, found);
                }
            }
            ("$or", Value::Array(branches)) => {
                let mut possible = documents(branches).filter(|branch| !is_never(*branch));
                if let (Some(branch), None) = (possible.next(), possible.next()) {
                    collect(branch, collation, found);
                }
            }
            ("$ref" | "$id" | "$db", value) => found.push((name, value)),
            _ if name.starts_with('$') => {}
            (_, Value::Regex { .. }) => {}
            (_, Value::Document(operators)) if is_expression(operators, false) => {
                collect_operators(name, operators, collation, found)
            }
            (_, value) => found.push((name, value)),
        }
    }
}

fn collect_operators<'a>(
    path: &'a str,
    operators: Doc<'a>,
    collation: &Collation,
    found: &mut Equalities<'a>,
) {
    for element in operators.elements() {
        match (element.name_str(), element.value()) {
            ("$eq", value) => found.push((path, value)),
            ("$in", Value::Array(items)) => {
                let mut items = items.values();
                let Some(first) = items.next() else { continue };
                if !matches!(first, Value::Regex { .. }) && items.all(|item| collation.equal(&first, &item)) {
                    found.push((path, first));
                }
            }
            ("$all", Value::Array(items)) => {
                for item in items.values() {
                    let listed = match item {
                        Value::Regex { .. } => false,
                        Value::Document(doc) => doc
                            .elements()
                            .next()
                            .is_none_or(|own| own.name() != b"$elemMatch"),
                        _ => true,
                    };
                    if listed {
                        found.push((path, item));
                    }
                }
            }
            _ => {}
        }
    }
}

/// Refuses a path that occurs twice, or a path and another inside it.
fn refuse_clashes(equalities: &Equalities<'_>) -> Result<()> {
    for (index, (path, _)) in equalities.iter().enumerate() {
        for (earlier, _) in &equalities[..index] {
            let message = if path == earlier {
                format!("cannot infer query fields to set, path '{path}' is matched twice")
            } else if is_inside(path, earlier) {
                format!("cannot infer query fields to set, both paths '{path}' and '{earlier}' are matched")
            } else if is_inside(earlier, path) {
                format!("cannot infer query fields to set, both paths '{earlier}' and '{path}' are matched")
            } else {
                continue;
            };
            return Err(Fault::new(code::NOT_SINGLE_VALUE_FIELD, message));
        }
    }
    Ok(())
}

fn matched_twice(path: &str) -> Fault {
    Fault::new(
        code::NOT_SINGLE_VALUE_FIELD,
        format!("cannot infer query fields to set, path '{path}' is matched twice"),
    )
}

fn is_inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
}

/// Sets a path that does not clash with those set before.
fn set(fields: &mut Fields, segments: &[&str], value: Owned) {
    let Some((&name, rest)) = segments.split_first() else {
        return;
    };
    if rest.is_empty() {
        fields.push((name.to_owned(), value));
        return;
    }
    let index = match fields.iter().position(|(n, _)| n == name) {
        Some(index) => index,
        None => {
            fields.push((name.to_owned(), Owned::Document(Fields::new())));
            fields.len() - 1
        }
    };
    if let Some((_, Owned::Document(inner))) = fields.get_mut(index) {
        set(inner, rest, value);
    }
}
