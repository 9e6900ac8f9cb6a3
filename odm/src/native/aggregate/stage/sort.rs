//! `$sort`.

use super::super::super::collation::Collation;
use super::super::super::document::number::as_f64;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::sort::SortSpec;
use super::super::expression::{random, to_long};
use super::super::pipeline::{OVER_MEMORY, SORT_OVER_MEMORY};
use super::{Context, Rows, path, print};

/// An order of documents.
#[derive(Clone, Debug)]
pub(crate) struct Sort {
    order: Order,
    /// How many of the first documents are wanted; all of them if `None`.
    pub(crate) limit: Option<u64>,
}

#[derive(Clone, Debug)]
enum Order {
    Keys(SortSpec),
    /// `{$meta: "randVal"}`.
    Random,
}

impl Sort {
    pub(super) fn parse(value: &Value<'_>) -> Result<Sort> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(15973, "the $sort key specification must be an object"));
        };
        if spec.is_empty() {
            return Err(Fault::new(15976, "$sort stage must have at least one sort key"));
        }
        let mut random = false;
        for element in spec.elements() {
            match element.value() {
                Value::Document(meta) => random |= check_meta(meta)?,
                decimal @ Value::Decimal128(_) => {
                    let rounded = as_f64(&decimal).map(f64::round_ties_even);
                    if !matches!(rounded, Some(1.0 | -1.0)) {
                        return Err(bad_direction());
                    }
                }
                number if number.is_number() => {
                    if !matches!(to_long(Some(number)), Ok(1 | -1)) {
                        return Err(bad_direction());
                    }
                }
                other => {
                    return Err(Fault::new(
                        15974,
                        format!(
                            "Illegal key in $sort specification: {}: {}",
                            element.name_str(),
                            print::bson_value(&other)
                        ),
                    ));
                }
            }
            path::parse(element.name_str())?;
        }
        Ok(Sort {
            order: if random {
                Order::Random
            } else {
                Order::Keys(SortSpec::parse(spec)?)
            },
            limit: None,
        })
    }

    /// Whether it is by one of these fields, or by something in one.
    pub(in super::super) fn is_by_any(&self, names: &[String]) -> bool {
        let first = |path: &str| path.split('.').next().map(str::to_owned);
        let mut fields = self.spec().into_iter().flat_map(|spec| &spec.fields);
        fields.any(|field| first(&field.path).is_some_and(|name| names.contains(&name)))
    }

    /// The order by fields, if it is one.
    pub(crate) fn spec(&self) -> Option<&SortSpec> {
        match &self.order {
            Order::Keys(spec) => Some(spec),
            Order::Random => None,
        }
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        if let Order::Keys(spec) = &mut self.order {
            *spec = spec.clone().collated(collation);
        }
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let limit = self
            .limit
            .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let mut rows: Vec<(Vec<u8>, Vec<u8>, Option<f64>)> = Vec::new();
        let mut held = 0usize;
        for row in input {
            let row = row?;
            let key = match &self.order {
                Order::Keys(spec) => spec.key_with(Doc::Raw(&row), context.score.get())?,
                Order::Random => random().to_be_bytes().to_vec(),
            };
            held += row.len() + key.len();
            rows.push((key, row, context.score.get()));
            // Twice the limit is sorted and cut at once, so that a row costs the logarithm of the limit.
            if rows.len() >= limit.saturating_mul(2).max(64) {
                rows.sort_by(|a, b| a.0.cmp(&b.0));
                rows.truncate(limit);
                held = rows.iter().map(|(key, row, _)| key.len() + row.len()).sum();
            }
            context.memory.hold(held, OVER_MEMORY, SORT_OVER_MEMORY)?;
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows.truncate(limit);
        let rows = rows.into_iter().map(|(_, row, score)| {
            context.score.set(score);
            Ok(row)
        });
        Ok(Box::new(rows))
    }
}

/// Whether the order is random; other metadata is never there.
fn check_meta(meta: Doc<'_>) -> Result<bool> {
    let mut elements = meta.elements();
    match (elements.next(), elements.next()) {
        (Some(only), None) if only.name_str() == "$meta" => match only.value() {
            Value::String("randVal") => Ok(true),
            Value::String("textScore") => Ok(false),
            Value::String("geoNearDistance") => Err(Fault::new(
                40218,
                "query requires $geoNear distance metadata, but it is not available",
            )),
            other => Err(Fault::new(
                31138,
                format!("Illegal $meta sort: $meta: {}", print::bson_value(&other)),
            )),
        },
        _ => Err(Fault::new(
            17312,
            "$meta is the only expression supported by $sort right now",
        )),
    }
}

fn bad_direction() -> Fault {
    Fault::new(
        15975,
        "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
    )
}
