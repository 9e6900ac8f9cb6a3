//! `$sort`.

use super::super::super::collation::Collation;
use super::super::super::document::number::as_f64;
use super::super::super::document::{Doc, Value};
use super::super::super::fault::{Fault, Result};
use super::super::super::heap::First;
use super::super::super::matcher::Changes;
use super::super::super::metadata::Kind;
use super::super::super::needs::Needs;
use super::super::super::sort::{self, SortSpec};
use super::super::expression::to_long;
use super::super::pipeline::{OVER_MEMORY, SORT_OVER_MEMORY};
use super::{Context, Row, Rows, Shown, path, print};

/// An order of documents.
#[derive(Clone, Debug)]
pub(crate) struct Sort {
    spec: SortSpec,
    /// How many of the first documents are wanted; all of them if `None`.
    pub(crate) limit: Option<u64>,
    /// Whether what it sorts by is known of the documents from then on: the server has it of an order that the read of
    /// the collection gives.
    pub(crate) is_first: bool,
}

impl Sort {
    pub(super) fn parse(value: &Value<'_>) -> Result<Sort> {
        let Value::Document(spec) = *value else {
            return Err(Fault::new(15973, "the $sort key specification must be an object"));
        };
        if spec.is_empty() {
            return Err(Fault::new(15976, "$sort stage must have at least one sort key"));
        }
        for element in spec.elements() {
            match element.value() {
                meta @ Value::Document(_) => {
                    sort::parse_meta(&meta)?;
                    continue;
                }
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
        SortSpec::parse(spec).map(Sort::by)
    }

    pub(in super::super) fn by(spec: SortSpec) -> Sort {
        Sort {
            spec,
            limit: None,
            is_first: false,
        }
    }

    /// Says what is left of the documents before they are ordered.
    pub(in super::super) fn keep(&mut self, needs: &Needs) {
        self.spec = self.spec.clone().of_left(needs);
    }

    /// Whether it is by one of these fields, or by something in one.
    pub(in super::super) fn is_by_any(&self, names: &[String]) -> bool {
        let first = |path: &str| path.split('.').next().map(str::to_owned);
        let mut by_value = self.spec.fields.iter().filter(|field| field.by.is_none());
        by_value.any(|field| first(&field.path).is_some_and(|name| names.contains(&name)))
    }

    /// Whether it is the same order before the changes.
    pub(in super::super) fn is_before(&self, changes: &Changes) -> bool {
        let mut by_value = self.spec.fields.iter().filter(|field| field.by.is_none());
        by_value.all(|field| changes.before(&field.path).as_ref() == Some(&field.path))
    }

    /// The order.
    pub(crate) fn spec(&self) -> &SortSpec {
        &self.spec
    }

    /// As `explain` shows it.
    pub(super) fn shown(&self) -> Shown {
        Shown::order(Value::Document(self.spec.spec()).into()).of_first(self.limit)
    }

    pub(super) fn collate(&mut self, collation: &Collation) {
        self.spec = self.spec.clone().collated(collation);
    }

    pub(super) fn run<'a>(&'a self, input: Rows<'a>, context: &'a Context<'a>) -> Result<Rows<'a>> {
        let limit = self
            .limit
            .map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let shows = self.is_first && context.wanted.has(Kind::SortKey);
        let compare = |one: &(Vec<u8>, Row), another: &(Vec<u8>, Row)| one.0.cmp(&another.0);
        let mut first: First<(Vec<u8>, Row)> = First::of(limit);
        let mut held = 0usize;
        for row in input {
            let mut row = row?;
            let key = self.spec.key_with(Doc::Raw(&row), row.metadata())?;
            if shows {
                let parts = self.spec.parts(Doc::Raw(&row), row.metadata())?;
                row.know(|metadata| metadata.sort_key = Some(parts));
            }
            let size = key.len() + row.len();
            let displaced = match first.worst() {
                Some((worst, _)) if key >= *worst => continue,
                Some((worst, other)) => Some(worst.len() + other.len()),
                None => None,
            };
            match displaced {
                Some(_) => first.replace(|worst| *worst = (key, row), &compare),
                None => first.push((key, row), &compare),
            }
            held = held + size - displaced.unwrap_or(0);
            context.memory.hold(held, OVER_MEMORY, SORT_OVER_MEMORY)?;
        }
        let rows = first.into_sorted(&compare).into_iter();
        Ok(Box::new(rows.map(|(_, row)| Ok(row))))
    }
}

fn bad_direction() -> Fault {
    Fault::new(
        15975,
        "$sort key ordering must be 1 (for ascending) or -1 (for descending)",
    )
}
