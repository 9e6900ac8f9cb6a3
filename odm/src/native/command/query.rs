//! The parts that commands with a filter share.

use super::super::aggregate::constants;
pub(super) use super::super::aggregate::constants::{Variables, with_own};
use super::super::collation::Collation;
use super::super::document::{Doc, Kind, Value};
use super::super::exec::query::Query;
use super::super::fault::Result;
use super::super::plan::check_natural;
use super::super::sort::SortSpec;
use super::Call;
use super::shape::no_hint;

/// Computes the constants of a command's `let`, with strings compared by the collation.
pub(super) fn variables(
    given: Option<Doc<'_>>,
    collation: Option<&Collation>,
    call: &Call<'_>,
) -> Result<Variables> {
    let collation = collation.unwrap_or(Collation::simple());
    constants::of(given.unwrap_or(Doc::empty()), call.now.millis, collation)
}

/// A hint, which is a name or a key pattern.
pub(super) fn hint<'a>(given: Option<Value<'a>>) -> Result<Option<Value<'a>>> {
    match given {
        None => Ok(None),
        Some(value @ Value::String(_)) => Ok(Some(value)),
        Some(Value::Document(keys)) => Ok(Some(match keys.elements().next() {
            // As clients wrote it that sent hints among the conditions.
            Some(first) if first.name() == b"$hint" && first.kind() == Kind::String => first.value(),
            _ => Value::Document(keys),
        })),
        Some(_) => Err(no_hint()),
    }
}

/// Parses a filter and a hint; what is wrong with the `$natural` of that, and of an order, comes before all else that may be
/// wrong with one.
pub(super) fn query(
    filter: Option<Doc<'_>>,
    sort: Option<Doc<'_>>,
    given: Option<Value<'_>>,
    variables: &Variables,
) -> Result<Query> {
    let hint = hint(given)?;
    let query = Query::of_filter(filter.unwrap_or(Doc::empty()), hint, variables.clone())?;
    SortSpec::check_natural(sort.unwrap_or(Doc::empty()))?;
    check_natural(hint, sort)?;
    Ok(query)
}
