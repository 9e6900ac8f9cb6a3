//! The parts that commands with a filter share.

use super::super::aggregate::expression::{Expression, Scope};
use super::super::document::{Doc, Owned, Value};
use super::super::exec::query::Query;
use super::super::fault::{Fault, Result, code};
use super::super::projection::Projection;
use super::Call;

/// The variables of an operation, by name.
pub(super) type Variables = Vec<(String, Option<Owned>)>;

/// Computes the constants of a command's `let`.
pub(super) fn variables(given: Option<Doc<'_>>, call: &Call<'_>) -> Result<Variables> {
    let mut variables = Variables::new();
    for element in given.into_iter().flat_map(Doc::elements) {
        let name = element.name_str();
        check_name(name)?;
        let names: Vec<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        let expression = Expression::parse(&element.value(), &names)?;
        let mut scope = Scope::new(Doc::empty(), call.now.millis);
        scope.variables = variables.clone();
        variables.push((name.to_owned(), expression.evaluate(&scope)?));
    }
    Ok(variables)
}

fn check_name(name: &str) -> Result<()> {
    let bad = |why: String| Err(Fault::new(code::FAILED_TO_PARSE, why));
    match name.chars().next() {
        _ if name == "CLUSTER_TIME" => Err(Fault::new(
            4_738_901,
            format!("Attempt to set internal constant: {name}"),
        )),
        None => bad("empty variable names are not allowed".to_owned()),
        Some(first) if first.is_ascii() && !first.is_ascii_lowercase() => bad(format!(
            "'{name}' starts with an invalid character for a user variable name"
        )),
        Some(_) => match name
            .chars()
            .find(|own| own.is_ascii() && !own.is_ascii_alphanumeric() && *own != '_')
        {
            Some(own) => bad(format!(
                "'{name}' contains an invalid character for a variable name: '{own}'"
            )),
            None => Ok(()),
        },
    }
}

/// The variables as a document of constants, for update pipelines.
pub(super) fn constants(variables: &Variables) -> Vec<(String, Owned)> {
    variables
        .iter()
        .filter_map(|(name, value)| value.clone().map(|value| (name.clone(), value)))
        .collect()
}

/// A hint, which is a name or a key pattern.
pub(super) fn hint<'a>(given: Option<Value<'a>>) -> Result<Option<Value<'a>>> {
    match given {
        None => Ok(None),
        Some(value @ (Value::String(_) | Value::Document(_))) => Ok(Some(value)),
        Some(_) => Err(Fault::new(
            code::FAILED_TO_PARSE,
            "Hint must be a string or an object",
        )),
    }
}

/// Parses filter, order and hint.
pub(super) fn query(
    filter: Option<Doc<'_>>,
    sort: Option<Doc<'_>>,
    given: Option<Value<'_>>,
    variables: &Variables,
) -> Result<Query> {
    Query::parse_with(
        filter.unwrap_or(Doc::empty()),
        sort,
        hint(given)?,
        variables.clone(),
    )
}

/// Parses a projection; an empty one is none.
pub(super) fn projection(spec: Option<Doc<'_>>, query: &Query) -> Result<Option<Projection>> {
    match spec {
        Some(spec) if !spec.is_empty() => Projection::parse(spec, Some(&query.matcher)).map(Some),
        _ => Ok(None),
    }
}
