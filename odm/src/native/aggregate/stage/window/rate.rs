//! `$derivative` and `$integral`.

use super::super::super::super::document::{Owned, Value, compare};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::expression::{Expression, Unit, difference, product, quotient, sum};
use super::super::super::print;
use super::bounds::Bounds;
use super::function::{Column, values, wrong};
use super::{Order, Partition};

/// How a value changes over the order, or what it adds up to.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    is_integral: bool,
    pub(super) input: Expression,
    /// The length of the unit in milliseconds, if the order goes by dates.
    unit: Option<i64>,
    bounds: Bounds,
}

impl Rate {
    pub(super) fn parse(
        name: &str,
        argument: &Value<'_>,
        window: Option<Value<'_>>,
        order: Option<&Order>,
        variables: &[String],
    ) -> Result<Rate> {
        match order {
            None => return Err(wrong(format!("{name} requires a sortBy"))),
            Some(order) if !order.is_single() => {
                return Err(wrong(format!("{name} requires a non-compound sortBy")));
            }
            Some(_) => {}
        }
        let Value::Document(spec) = *argument else {
            return Err(wrong(format!(
                "{name} expects an object, but got a {}: {name}: {}",
                argument.kind().alias(),
                print::bson_value(argument)
            )));
        };
        let (mut input, mut unit) = (None, None);
        for element in spec.elements() {
            match element.name_str() {
                "input" => input = Some(Expression::parse_unfolded(&element.value(), variables)?),
                "unit" => unit = Some(parse_unit(&element.value())?),
                other => return Err(wrong(format!("{name} got unexpected argument: {other}"))),
            }
        }
        let input = input.ok_or_else(|| wrong(format!("{name} requires an 'input' expression")))?;
        let is_integral = name == "$integral";
        let bounds = match window {
            Some(window) => Bounds::parse(&window, order)?,
            None if is_integral => Bounds::ALL,
            None => return Err(wrong(format!("{name} requires explicit window bounds"))),
        };
        Ok(Rate {
            is_integral,
            input,
            unit,
            bounds,
        })
    }

    pub(super) fn column(&self, partition: &Partition<'_>) -> Result<Column> {
        let values = values(&self.input, partition)?;
        let windows = self.bounds.windows(partition)?;
        let areas = match self.is_integral {
            true => self.areas(&values, partition)?,
            false => Vec::new(),
        };
        windows
            .into_iter()
            .map(|(low, high)| {
                if low >= high {
                    return Ok(Some(Owned::Null));
                }
                let result = match self.is_integral {
                    true => self.integral(areas.get(low + 1..high).unwrap_or_default()),
                    false => self.derivative(&values, partition, low, high - 1),
                };
                result.map(Some)
            })
            .collect()
    }

    /// The slope between the ends of a window.
    fn derivative(
        &self,
        values: &[Option<Owned>],
        partition: &Partition<'_>,
        low: usize,
        high: usize,
    ) -> Result<Owned> {
        let (from, to) = (self.position(partition, low)?, self.position(partition, high)?);
        if compare(&from, &to).is_eq() {
            return Ok(Owned::Null);
        }
        let value = |at: usize| match values.get(at) {
            Some(Some(value)) if !matches!(value, Owned::Null | Owned::Undefined) => Ok(value.as_value()),
            _ => Err(Fault::new(
                5624903,
                "$derivative input must not be null or missing",
            )),
        };
        let rise = difference(&value(high)?, &value(low)?)?;
        let run = difference(&to, &from)?;
        let slope = quotient(&rise.as_value(), &run.as_value())?;
        match self.unit {
            Some(ms) => product(&slope.as_value(), &Value::Int64(ms)),
            None => Ok(slope),
        }
    }

    /// The area between each document and the one before it.
    fn areas(&self, values: &[Option<Owned>], partition: &Partition<'_>) -> Result<Vec<Owned>> {
        let mut areas = Vec::with_capacity(values.len());
        for at in 0..values.len() {
            let wrong = || {
                Fault::new(
                    5423900,
                    "The input value of $integral window function must be a vector of 2 value, the first value must be numeric or date type and the second must be numeric.",
                )
            };
            let number = |at: usize| {
                let value = values.get(at).and_then(Option::as_ref).map(Owned::as_value);
                value.filter(Value::is_number).ok_or_else(wrong)
            };
            if partition.position(at).is_none() {
                return Err(wrong());
            }
            let to = self.position(partition, at)?;
            let value = number(at)?;
            let Some(before) = at.checked_sub(1) else {
                areas.push(Owned::Int32(0));
                continue;
            };
            let run = difference(&to, &self.position(partition, before)?)?;
            let both = sum(&number(before)?, &value)?;
            let doubled = product(&both.as_value(), &run.as_value())?;
            areas.push(quotient(&doubled.as_value(), &Value::Int32(2))?);
        }
        Ok(areas)
    }

    fn integral(&self, areas: &[Owned]) -> Result<Owned> {
        let mut total = Owned::Int32(0);
        for area in areas {
            total = sum(&total.as_value(), &area.as_value())?;
        }
        match self.unit {
            Some(ms) => quotient(&total.as_value(), &Value::Int64(ms)),
            None => Ok(total),
        }
    }

    /// The place of a document in the order, as a number or, with a unit, a date.
    fn position<'a>(&self, partition: &'a Partition<'_>, at: usize) -> Result<Value<'a>> {
        let position = partition.position(at);
        let (name, with_unit, date, number) = match self.is_integral {
            true => ("$integral", 5423901, 5423902, 5423902),
            false => ("$derivative", 5624900, 5624901, 5624902),
        };
        match (position, self.unit) {
            (Some(Value::DateTime(ms)), Some(_)) => Ok(Value::DateTime(ms)),
            (_, Some(_)) => Err(Fault::new(
                with_unit,
                format!("{name} with 'unit' expects the sortBy field to be a Date"),
            )),
            (Some(Value::DateTime(_)), None) if !self.is_integral => Err(Fault::new(
                date,
                format!("{name} where the sortBy is a Date requires an 'unit'"),
            )),
            (Some(position), None) if position.is_number() => Ok(position),
            _ => Err(Fault::new(
                number,
                format!("{name} (with no 'unit') expects the sortBy field to be numeric"),
            )),
        }
    }
}

fn parse_unit(value: &Value<'_>) -> Result<i64> {
    let Value::String(name) = *value else {
        return Err(wrong(format!(
            "unit' must be a string, but got {}",
            value.kind().alias()
        )));
    };
    let unit = Unit::parse(name).ok_or_else(|| wrong(format!("unknown time unit value: {name}")))?;
    unit.millis()
        .ok_or_else(|| Fault::new(5490710, "unit must be 'week' or smaller"))
}
