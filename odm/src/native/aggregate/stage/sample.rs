//! `$sample`.

use super::super::super::document::Value;
use super::super::super::document::number::as_f64;
use super::super::super::fault::{Fault, Result};
use super::super::super::metadata::Kind;
use super::super::expression::{random, to_long};
use super::{Context, Row, Rows};

/// Reads `{size: n}`.
pub(super) fn size(value: &Value<'_>) -> Result<u64> {
    let Value::Document(doc) = *value else {
        return Err(Fault::new(
            28745,
            "the $sample stage specification must be an object",
        ));
    };
    let mut size = None;
    for element in doc.elements() {
        if element.name_str() != "size" {
            return Err(Fault::new(
                28748,
                format!("unrecognized option to $sample: {}", element.name_str()),
            ));
        }
        let number = as_f64(&element.value())
            .ok_or_else(|| Fault::new(28746, "size argument to $sample must be a number"))?;
        // Decimals are rounded to even, and what is too large is all there is.
        size = Some(if number >= 9.0e18 {
            u64::MAX
        } else if number.is_nan() {
            0
        } else {
            let whole = to_long(Some(element.value())).unwrap_or(-1);
            u64::try_from(whole)
                .map_err(|_| Fault::new(28747, "size argument to $sample must not be negative"))?
        });
    }
    size.ok_or_else(|| Fault::new(28749, "$sample stage must specify a size"))
}

/// A random choice of the documents, each set of `size` equally likely, in random order.
pub(super) fn run<'a>(input: Rows<'a>, size: u64, context: &Context<'_>) -> Result<Rows<'a>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let mut chosen: Vec<Row> = Vec::new();
    for (index, row) in input.enumerate() {
        let mut row = row?;
        if context.wanted.has(Kind::RandVal) {
            row.know(|metadata| metadata.random = Some(random()));
        }
        if chosen.len() < size {
            chosen.push(row);
            let last = chosen.len() - 1;
            chosen.swap(last, below(last + 1));
        } else {
            let at = below(index + 1);
            if at < size {
                chosen[at] = row;
            }
        }
    }
    Ok(Box::new(chosen.into_iter().map(Ok)))
}

/// A random number below `end`.
fn below(end: usize) -> usize {
    ((random() * end as f64) as usize).min(end.saturating_sub(1))
}
