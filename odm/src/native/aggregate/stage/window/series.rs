//! `$expMovingAvg` and `$linearFill`: functions of a document and those before and after it.

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::{as_decimal, as_f64, as_i64_exact};
use super::super::super::super::document::{Doc, Owned, Value, compare};
use super::super::super::super::fault::{Fault, Result, code};
use super::super::super::expression::{Expression, difference, product, quotient, sum};
use super::super::super::print;
use super::function::{Column, values, wrong};
use super::{Order, Partition};

/// `$expMovingAvg`.
#[derive(Clone, Debug)]
pub(super) struct MovingAverage {
    pub(super) input: Expression,
    /// How much a new value weighs.
    weight: Decimal,
}

impl MovingAverage {
    pub(super) fn parse(
        spec: Doc<'_>,
        argument: &Value<'_>,
        order: Option<&Order>,
        variables: &[String],
    ) -> Result<MovingAverage> {
        const FIELDS: &str = "$expMovingAvg sub object must have exactly two fields: An 'input' field, and either an 'N' field or an 'alpha' field";
        let fields = match *argument {
            Value::Document(fields) if spec.count() == 1 => fields,
            _ => {
                return Err(wrong(
                    "$expMovingAvg must have exactly one argument that is an object",
                ));
            }
        };
        let input = fields.get("input").filter(|_| fields.count() == 2);
        let input = input.ok_or_else(|| wrong(FIELDS))?;
        if order.is_none() {
            return Err(wrong("$expMovingAvg requires an explicit 'sortBy'"));
        }
        let input = Expression::parse_unfolded(&input, variables)?;
        let weight = match (fields.get("N"), fields.get("alpha")) {
            (Some(count), None) => weight_of(&count)?,
            (None, Some(alpha)) => {
                let number = as_decimal(&alpha)
                    .filter(|_| alpha.is_number())
                    .ok_or_else(|| wrong("'alpha' must be a number"))?;
                let one = Value::Int32(1);
                let inside = compare(&alpha, &Value::Int32(0)).is_gt() && compare(&alpha, &one).is_lt();
                if !inside {
                    return Err(wrong(format!(
                        "'alpha' must be between 0 and 1 (exclusive), found alpha: {}",
                        print::bson_value(&alpha)
                    )));
                }
                number
            }
            _ => return Err(wrong(format!("Got unrecognized field in $expMovingAvg{FIELDS}"))),
        };
        Ok(MovingAverage { input, weight })
    }

    /// Computed in decimals; given as doubles until a decimal comes, in whatever partition.
    pub(super) fn column(&self, partition: &Partition<'_>) -> Result<Column> {
        let rest = Decimal::from_i64(1).subtract(self.weight);
        let mut average: Option<Decimal> = None;
        let column = values(&self.input, partition)?.into_iter().map(|value| {
            let number = value.as_ref().map(Owned::as_value).filter(Value::is_number);
            if let Some(number) = number
                && let Some(decimal) = as_decimal(&number)
            {
                if matches!(number, Value::Decimal128(_)) {
                    partition.has_decimals.set(true);
                }
                average = Some(match average {
                    None => decimal,
                    Some(last) => decimal.multiply(self.weight).add(last.multiply(rest)),
                });
            }
            Some(match average {
                None => Owned::Null,
                Some(average) if partition.has_decimals.get() => Owned::Decimal128(average.to_bytes()),
                Some(average) => Owned::Double(average.to_f64()),
            })
        });
        Ok(column.collect())
    }
}

/// The weight of `N`: 2 / (N + 1).
fn weight_of(count: &Value<'_>) -> Result<Decimal> {
    if !count.is_number() {
        return Err(wrong(format!(
            "'N' field must be an integer, but found type {}",
            count.kind().alias()
        )));
    }
    let number = as_f64(count).unwrap_or_default();
    // Decimals are whole where they are above 0; no number is 0, and what is too large is the largest.
    let is_whole = match count {
        Value::Decimal128(_) => number.is_nan() || (number > 0.0 && number.fract() == 0.0),
        _ => !number.is_finite() || number.fract() == 0.0,
    };
    let number = as_i64_exact(count).unwrap_or(number as i64);
    if !(is_whole || number == i64::MAX) {
        return Err(wrong(format!(
            "'N' field must be an integer, but found  N: {}. To use a non-integer, use the 'alpha' argument instead",
            print::bson_value(count)
        )));
    }
    if number <= 0 {
        return Err(wrong(format!("'N' must be greater than zero. Got {number}")));
    }
    let divisor = Decimal::from_i64(number).add(Decimal::from_i64(1));
    Ok(Decimal::from_i64(2).divide(divisor))
}

/// Fills missing numbers on the line between their neighbors.
pub(super) fn filled(values: &[Option<Owned>], partition: &Partition<'_>) -> Result<Column> {
    let mut column: Column = Vec::with_capacity(values.len());
    let mut last: Option<usize> = None;
    for (at, value) in values.iter().enumerate() {
        let value = match value {
            None | Some(Owned::Null | Owned::Undefined) => {
                check_position(partition, at)?;
                column.push(Some(Owned::Null));
                continue;
            }
            Some(value) => value.as_value(),
        };
        // Behind a gap it is computed with first.
        if last.is_none_or(|last| last + 1 >= at) {
            check_value(&value)?;
        }
        check_position(partition, at)?;
        if let Some(last) = last.replace(at)
            && let (Some(Some(from)), Some(x1), Some(x2)) =
                (values.get(last), partition.position(last), partition.position(at))
        {
            let rise = difference(&value, &from.as_value())?;
            let run = difference(&x2, &x1)?;
            let slope = quotient(&rise.as_value(), &run.as_value())?;
            for (between, slot) in column.iter_mut().enumerate().skip(last + 1) {
                let Some(x) = partition.position(between) else {
                    continue;
                };
                let way = difference(&x, &x1)?;
                let step = product(&way.as_value(), &slope.as_value())?;
                *slot = Some(match (&step, from) {
                    // Of a double and a long the server adds the doubles here.
                    (Owned::Double(step), Owned::Int64(from)) => Owned::Double(*from as f64 + step),
                    _ => sum(&from.as_value(), &step.as_value())?,
                });
            }
        }
        check_value(&value)?;
        column.push(Some(Owned::from(value)));
    }
    Ok(column)
}

fn check_value(value: &Value<'_>) -> Result<()> {
    match value.is_number() {
        true => Ok(()),
        false => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "Value to be filled must be numeric or nullish, but found {}",
                value.kind().alias()
            ),
        )),
    }
}

/// Refuses positions that no line can be drawn over.
fn check_position(partition: &Partition<'_>, at: usize) -> Result<()> {
    let position = partition.position(at);
    let name = position.map_or("missing", |position| position.kind().alias());
    let is_date = matches!(position, Some(Value::DateTime(_)));
    if !is_date && !position.is_some_and(|position| position.is_number()) {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("Value of the sortBy field must be numeric or a date, but found {name}"),
        ));
    }
    let before = at.checked_sub(1).and_then(|before| partition.position(before));
    let (Some(before), Some(position)) = (before, position) else {
        return Ok(());
    };
    if matches!(before, Value::DateTime(_)) != is_date {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "Conflicting sort value types, previously received type {}, but found {name}",
                before.kind().alias()
            ),
        ));
    }
    if compare(&before, &position).is_eq() {
        return Err(Fault::new(
            6050106,
            "There can be no repeated values in the sort field",
        ));
    }
    Ok(())
}
