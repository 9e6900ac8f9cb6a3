//! Where a string occurs in another.

use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::Answer;
use super::super::array::search_bound;
use super::super::operator::Operator;

struct Search<'a> {
    text: &'a str,
    wanted: &'a str,
    start: usize,
    end: usize,
}

/// Reads the arguments; `None` when there is no text to search.
fn search<'a>(name: &str, arguments: &'a [Answer<'a>], codes: (i32, i32)) -> Result<Option<Search<'a>>> {
    let [text, wanted, bounds @ ..] = arguments else {
        return Ok(None);
    };
    if text.is_nullish() {
        return Ok(None);
    }
    let wrong = |code, which: &str, argument: &Answer<'_>| {
        Fault::new(
            code,
            format!(
                "{name} requires a string as the {which} argument, found: {}",
                argument.type_name()
            ),
        )
    };
    let Some(Value::String(input)) = text.value() else {
        return Err(wrong(codes.0, "first", text));
    };
    let Some(Value::String(needle)) = wanted.value() else {
        return Err(wrong(codes.1, "second", wanted));
    };
    Ok(Some(Search {
        text: input,
        wanted: needle,
        start: bounds
            .first()
            .map_or(Ok(0), |bound| search_bound(name, "starting", bound))?,
        end: bounds
            .get(1)
            .map_or(Ok(usize::MAX), |bound| search_bound(name, "ending", bound))?,
    }))
}

fn position(found: Option<usize>) -> Result<Option<Owned>> {
    Ok(Some(Owned::Int32(found.map_or(-1, |at| at as i32))))
}

pub(super) fn bytes(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some(search) = search(operator.name, arguments, (40091, 40092))? else {
        return Ok(Some(Owned::Null));
    };
    let text = search.text.as_bytes();
    let end = search.end.min(text.len());
    let Some(part) = text.get(search.start..end) else {
        return position(None);
    };
    let wanted = search.wanted.as_bytes();
    let found = if wanted.is_empty() {
        Some(0)
    } else {
        part.windows(wanted.len()).position(|window| window == wanted)
    };
    position(found.map(|at| at + search.start))
}

pub(super) fn characters(operator: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some(search) = search(operator.name, arguments, (40093, 40094))? else {
        return Ok(Some(Owned::Null));
    };
    // Nothing is found in nothing, at its start alone.
    if search.text.is_empty() && search.wanted.is_empty() && search.start == 0 {
        return position(Some(0));
    }
    let found = search
        .text
        .char_indices()
        .enumerate()
        .take(search.end)
        .skip(search.start)
        .find(|(_, (at, _))| search.text[*at..].starts_with(search.wanted))
        .map(|(index, _)| index);
    position(found)
}
