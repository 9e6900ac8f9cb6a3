//! `$derivative` and `$integral`.

use super::super::super::super::document::{Owned, Value, compare};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::expression::{Expression, Unit, difference, product, quotient};
use super::super::super::print;
use super::area::Area;
use super::bounds::Bounds;
use super::function::{Column, wrong};
use super::moving::slide;
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
    /// Refuses an order that is not by one field.
    pub(super) fn check_order(name: &str, order: Option<&Order>) -> Result<()> {
        match order {
            None => Err(wrong(format!("{name} requires a sortBy"))),
            Some(order) if !order.is_single() => Err(wrong(format!("{name} requires a non-compound sortBy"))),
            Some(_) => Ok(()),
        }
    }

    pub(super) fn parse(
        name: &str,
        argument: &Value<'_>,
        bounds: Option<Bounds>,
        variables: &[String],
    ) -> Result<Rate> {
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
        let millis = |unit: Unit| {
            unit.millis()
                .ok_or_else(|| Fault::new(5490710, "unit must be 'week' or smaller"))
        };
        let unit = unit.map(millis).transpose()?;
        let bounds = match bounds {
            Some(bounds) => bounds,
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
        if self.is_integral {
            let point = |at| {
                let position = partition.position(at).map_or(Owned::Null, Owned::from);
                let value = self.input.evaluate(&partition.scope(at))?;
                Ok(Some(Owned::Array(vec![position, value.unwrap_or(Owned::Null)])))
            };
            return slide(Area::new(self.unit), point, &self.bounds, partition);
        }
        let windows = self.bounds.windows(partition)?;
        windows
            .into_iter()
            .map(|(low, high)| match low < high {
                false => Ok(Some(Owned::Null)),
                true => self.derivative(partition, low, high - 1).map(Some),
            })
            .collect()
    }

    /// The slope between the ends of a window.
    fn derivative(&self, partition: &Partition<'_>, low: usize, high: usize) -> Result<Owned> {
        let (from, to) = (self.position(partition, low)?, self.position(partition, high)?);
        let value = |at: usize| match self.input.evaluate(&partition.scope(at))? {
            None | Some(Owned::Null | Owned::Undefined) => Err(Fault::new(
                5624903,
                "$derivative input must not be null or missing",
            )),
            Some(value) => Ok(value),
        };
        let rise = difference(&value(high)?.as_value(), &value(low)?.as_value())?;
        if compare(&from, &to).is_eq() {
            return Ok(Owned::Null);
        }
        let run = difference(&to, &from)?;
        let slope = quotient(&rise.as_value(), &run.as_value())?;
        match self.unit {
            Some(ms) => product(&slope.as_value(), &Value::Int64(ms)),
            None => Ok(slope),
        }
    }

    /// The place of a document in the order: a number or, with a unit, a date.
    fn position<'a>(&self, partition: &'a Partition<'_>, at: usize) -> Result<Value<'a>> {
        match (partition.position(at), self.unit) {
            (Some(Value::DateTime(ms)), Some(_)) => Ok(Value::DateTime(ms)),
            (_, Some(_)) => Err(Fault::new(
                5624900,
                "$derivative with 'unit' expects the sortBy field to be a Date",
            )),
            (Some(Value::DateTime(_)), None) => Err(Fault::new(
                5624901,
                "$derivative where the sortBy is a Date requires an 'unit'",
            )),
            (Some(position), None) if position.is_number() => Ok(position),
            _ => Err(Fault::new(
                5624902,
                "$derivative (with no 'unit') expects the sortBy field to be numeric",
            )),
        }
    }
}

fn parse_unit(value: &Value<'_>) -> Result<Unit> {
    let Value::String(name) = *value else {
        return Err(wrong(format!(
            "unit' must be a string, but got {}",
            value.kind().alias()
        )));
    };
    Unit::parse(name).ok_or_else(|| wrong(format!("unknown time unit value: {name}")))
}
