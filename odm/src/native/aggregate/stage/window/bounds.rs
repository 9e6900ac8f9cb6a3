//! The bounds of windows, and the documents between them.

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::{as_decimal, as_i64_exact};
use super::super::super::super::document::{Doc, Owned, Value, compare};
use super::super::super::super::fault::{Fault, Result, code};
use super::super::super::expression::{Expression, Unit};
use super::super::super::print;
use super::{Order, Partition};

/// Which documents around one belong to its window.
#[derive(Clone, Debug)]
pub(super) enum Bounds {
    Documents(Bound<i64>, Bound<i64>),
    /// By the distance of the position, in this unit if it is a date.
    Range {
        lower: Bound<Owned>,
        upper: Bound<Owned>,
        unit: Option<Unit>,
        is_ascending: bool,
    },
}

/// One end of a window.
#[derive(Clone, Debug)]
pub(super) enum Bound<T> {
    Unbounded,
    Current,
    By(T),
}

fn wrong(message: impl Into<String>) -> Fault {
    Fault::new(code::FAILED_TO_PARSE, message.into())
}

impl Bounds {
    /// The whole partition.
    pub(super) const ALL: Bounds = Bounds::Documents(Bound::Unbounded, Bound::Unbounded);

    /// Parses the value of `window`.
    pub(super) fn parse(value: &Value<'_>, order: Option<&Order>) -> Result<Bounds> {
        let Value::Document(spec) = *value else {
            return Err(wrong("'window' field must be an object"));
        };
        let (documents, range, unit) = (spec.get("documents"), spec.get("range"), spec.get("unit"));
        match (documents, range) {
            (Some(_), Some(_)) => Err(wrong(
                "Window bounds can specify either 'documents' or 'unit', not both.",
            )),
            (_, None) if unit.is_some() => Err(wrong(
                "Window bounds can only specify 'unit' with range-based bounds.",
            )),
            (Some(documents), None) => {
                refuse_others(spec, &["documents"], "documents cannot have other fields")?;
                Bounds::parse_documents(&documents, order)
            }
            (None, Some(range)) => {
                let which = match unit {
                    Some(_) => "unit cannot have other fields besides 'range'",
                    None => "range cannot have other fields besides 'unit'",
                };
                refuse_others(spec, &["range", "unit"], which)?;
                Bounds::parse_range(&range, unit, order)
            }
            (None, None) if spec.is_empty() => Ok(Bounds::ALL),
            (None, None) => Err(wrong(
                "'window' field can only contain 'documents' as the only argument or 'range' with an optional 'unit' field",
            )),
        }
    }

    fn parse_documents(value: &Value<'_>, order: Option<&Order>) -> Result<Bounds> {
        let (lower, upper) = ends("documents", value)?;
        let integer = |value: &Value<'_>| {
            let number = Some(constant(value)?).filter(|value| value.as_value().is_number());
            number
                .and_then(|number| as_i64_exact(&number.as_value()))
                .filter(|number| i32::try_from(*number).is_ok())
                .ok_or_else(|| wrong("Numeric document-based bounds must be an integer"))
        };
        let (lower, upper) = (end(&lower, &integer)?, end(&upper, &integer)?);
        if let (Some(low), Some(high)) = (lower.distance(&0), upper.distance(&0))
            && low > high
        {
            return Err(Fault::new(
                5339900,
                format!("Lower bound must not exceed upper bound: [{low}, {high}]"),
            ));
        }
        let whole = matches!((&lower, &upper), (Bound::Unbounded, Bound::Unbounded));
        if order.is_none() && !whole {
            return Err(Fault::new(5339901, "Document-based bounds require a sortBy"));
        }
        Ok(Bounds::Documents(lower, upper))
    }

    fn parse_range(value: &Value<'_>, unit: Option<Value<'_>>, order: Option<&Order>) -> Result<Bounds> {
        let (lower, upper) = ends("range", value)?;
        let unit = match unit {
            None => None,
            Some(Value::String(name)) => {
                Some(Unit::parse(name).ok_or_else(|| wrong(format!("unknown time unit value: {name}")))?)
            }
            Some(_) => return Err(wrong("'unit' must be a string")),
        };
        let number = |value: &Value<'_>| {
            let number = constant(value)?;
            let is_whole =
                || as_i64_exact(&number.as_value()).is_some_and(|whole| i32::try_from(whole).is_ok());
            match number.as_value().is_number() {
                _ if unit.is_some() && !is_whole() => {
                    Err(wrong("With 'unit', range-based bounds must be an integer"))
                }
                true => Ok(number),
                false => Err(wrong("Range-based bounds expression must be a number")),
            }
        };
        let (lower, upper) = (end(&lower, &number)?, end(&upper, &number)?);
        let zero = Owned::Int32(0);
        if let (Some(low), Some(high)) = (lower.distance(&zero), upper.distance(&zero))
            && compare(&low.as_value(), &high.as_value()).is_gt()
        {
            return Err(Fault::new(
                5339900,
                format!(
                    "Lower bound must not exceed upper bound: [{}, {}]",
                    print::value(&low.as_value()),
                    print::value(&high.as_value())
                ),
            ));
        }
        let Some(order) = order.filter(|order| order.is_single()) else {
            return Err(Fault::new(
                5339902,
                "Range-based bounds require sortBy a single field",
            ));
        };
        Ok(Bounds::Range {
            lower,
            upper,
            unit,
            is_ascending: order.is_ascending(),
        })
    }

    /// Whether a window begins with its partition, so that it only grows.
    pub(super) fn only_grows(&self) -> bool {
        matches!(
            self,
            Bounds::Documents(Bound::Unbounded, _)
                | Bounds::Range {
                    lower: Bound::Unbounded,
                    ..
                }
        )
    }

    /// Whether every window is the whole partition.
    pub(super) fn is_all(&self) -> bool {
        matches!(self, Bounds::Documents(Bound::Unbounded, Bound::Unbounded))
    }

    /// The windows of all documents of a partition, as half-open ranges of their places: neither end ever goes
    /// back.
    pub(super) fn windows(&self, partition: &Partition<'_>) -> Result<Vec<(usize, usize)>> {
        let count = partition.rows.len();
        match self {
            Bounds::Documents(lower, upper) => Ok((0..count)
                .map(|at| {
                    let low = match lower {
                        Bound::Unbounded => 0,
                        Bound::Current => at,
                        Bound::By(by) => shifted(at, *by, count),
                    };
                    let high = match upper {
                        Bound::Unbounded => count,
                        Bound::Current => at + 1,
                        Bound::By(by) => shifted(at, by.saturating_add(1), count),
                    };
                    (low, high.max(low))
                })
                .collect()),
            Bounds::Range {
                lower,
                upper,
                unit,
                is_ascending,
            } => {
                if !is_ascending {
                    return Err(Fault::new(5429404, "Missing _sortExpr with range-based bounds"));
                }
                let mut windows = Vec::with_capacity(count);
                let (mut low, mut high) = (0, 0);
                for at in 0..count {
                    let position = range_position(partition.position(at), *unit)?;
                    match lower {
                        Bound::Unbounded => {}
                        Bound::Current => low = at,
                        Bound::By(by) => {
                            let least = moved(&position, by, *unit)?;
                            low = first(partition, low, |other| compare(&other, &least.as_value()).is_ge());
                        }
                    }
                    match upper {
                        Bound::Unbounded => high = count,
                        Bound::Current => high = at + 1,
                        Bound::By(by) => {
                            let most = moved(&position, by, *unit)?;
                            high = first(partition, high, |other| compare(&other, &most.as_value()).is_gt());
                        }
                    }
                    windows.push((low, high.max(low)));
                }
                Ok(windows)
            }
        }
    }
}

impl<T> Bound<T> {
    fn distance<'a>(&'a self, current: &'a T) -> Option<&'a T> {
        match self {
            Bound::Unbounded => None,
            Bound::Current => Some(current),
            Bound::By(by) => Some(by),
        }
    }
}

/// The first place from `start` on whose position passes the test.
fn first(partition: &Partition<'_>, start: usize, test: impl Fn(Value<'_>) -> bool) -> usize {
    (start..partition.rows.len())
        .find(|at| partition.position(*at).is_some_and(&test))
        .unwrap_or(partition.rows.len())
}

fn shifted(at: usize, by: i64, count: usize) -> usize {
    let at = i64::try_from(at).unwrap_or(i64::MAX).saturating_add(by).max(0);
    usize::try_from(at).unwrap_or(usize::MAX).min(count)
}

/// The position, if ranges can be measured from it.
fn range_position(position: Option<Value<'_>>, unit: Option<Unit>) -> Result<Owned> {
    let name = position.map_or("missing", |position| position.kind().alias());
    match (position, unit) {
        (Some(Value::DateTime(ms)), Some(_)) => Ok(Owned::DateTime(ms)),
        (_, Some(_)) => Err(Fault::new(
            5429513,
            format!("Invalid range: Expected the sortBy field to be a Date, but it was {name}"),
        )),
        (Some(Value::DateTime(_)), None) => Err(Fault::new(
            5429413,
            "Invalid range: For windows that involve date or time ranges, a unit must be provided.",
        )),
        (Some(number), None) if number.is_number() => Ok(number.into()),
        (_, None) => Err(Fault::new(
            5429414,
            format!("Invalid range: Expected the sortBy field to be a number, but it was {name}"),
        )),
    }
}

/// The end of a range; that of numbers is added up in decimals, as on the server.
fn moved(position: &Owned, by: &Owned, unit: Option<Unit>) -> Result<Owned> {
    let amount = by.as_value();
    if let (Owned::DateTime(ms), Some(unit)) = (position, unit) {
        let amount = as_i64_exact(&amount).unwrap_or(0);
        return unit.later(*ms, amount).map(Owned::DateTime);
    }
    let decimal = |value: &Value<'_>| as_decimal(value).unwrap_or(Decimal::ZERO);
    let end = decimal(&position.as_value()).add(decimal(&amount));
    Ok(Owned::Decimal128(end.to_bytes()))
}

fn refuse_others(spec: Doc<'_>, names: &[&str], which: &str) -> Result<()> {
    match spec
        .elements()
        .any(|element| !names.contains(&element.name_str()))
    {
        true => Err(wrong(format!("'window' field that specifies {which}"))),
        false => Ok(()),
    }
}

/// The two ends of a window as given.
fn ends<'a>(name: &str, value: &Value<'a>) -> Result<(Value<'a>, Value<'a>)> {
    if let Value::Array(items) = *value {
        let mut items = items.values();
        if let (Some(lower), Some(upper), None) = (items.next(), items.next(), items.next()) {
            return Ok((lower, upper));
        }
    }
    Err(wrong(format!(
        "Window bounds must be a 2-element array: {name}: {}",
        print::bson_value(value)
    )))
}

fn end<T>(value: &Value<'_>, number: &impl Fn(&Value<'_>) -> Result<T>) -> Result<Bound<T>> {
    match value {
        Value::String("unbounded") => Ok(Bound::Unbounded),
        Value::String("current") => Ok(Bound::Current),
        Value::String(_) => Err(wrong(
            "Window bounds must be 'unbounded', 'current', or a number.",
        )),
        other => number(other).map(Bound::By),
    }
}

fn constant(value: &Value<'_>) -> Result<Owned> {
    let mut expression = Expression::parse_unfolded(value, &[])?;
    expression.fold(None)?;
    let constant = expression.as_constant().cloned();
    constant.ok_or_else(|| wrong("Window bounds expression must be a constant."))
}
