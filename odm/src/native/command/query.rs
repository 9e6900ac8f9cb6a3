//! The parts that commands with a filter share.

use super::super::aggregate::constants;
pub(super) use super::super::aggregate::constants::{Variables, with_own};
use super::super::collation::Collation;
use super::super::document::{Doc, Kind, Value};
use super::super::exec::query::Query;
use super::super::fault::Result;
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

/// Parses filter and hint; the order, of which a part is looked at here, is read by
/// [`sort_by`](Query::sort_by).
pub(super) fn query(
    filter: Option<Doc<'_>>,
    sort: Option<Doc<'_>>,
    given: Option<Value<'_>>,
    variables: &Variables,
) -> Result<Query> {
    let filter = filter.unwrap_or(Doc::empty());
    Query::before_sort(filter, sort, hint(given)?, variables.clone())
}
