//! The area under the values of a window, by trapezoids: `$integral`.

use std::collections::VecDeque;

use super::super::super::super::document::number::is_nan;
use super::super::super::super::document::{Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::expression::{difference, product, quotient, sum};
use super::moving::Moving;
use super::total::Running;

/// The points in a window, and the area between them.
pub(super) struct Area {
    /// The length of the unit in milliseconds, if the order goes by dates.
    unit: Option<i64>,
    points: VecDeque<Point>,
    not_numbers: i64,
    area: Running,
}

struct Point {
    position: Owned,
    value: Owned,
}

impl Area {
    pub(super) fn new(unit: Option<i64>) -> Area {
        Area {
            unit,
            points: VecDeque::new(),
            not_numbers: 0,
            area: Running::default(),
        }
    }

    /// The point of a pair: a number, or a date where there is a unit, with a number.
    fn point(&self, pair: &Value<'_>) -> Result<Point> {
        let mut values = pair.as_array().into_iter().flat_map(|items| items.values());
        let (Some(position), Some(value)) = (values.next(), values.next()) else {
            return Err(no_point());
        };
        let is_date = matches!(position, Value::DateTime(_));
        if !value.is_number() || !(is_date || position.is_number()) {
            return Err(no_point());
        }
        match (self.unit, is_date) {
            (Some(_), false) => Err(Fault::new(
                5423901,
                "$integral with 'unit' expects the sortBy field to be a Date",
            )),
            (None, true) => Err(Fault::new(
                5423902,
                "$integral (with no 'unit') expects the sortBy field to be numeric",
            )),
            _ => Ok(Point {
                position: position.into(),
                value: value.into(),
            }),
        }
    }
}

fn no_point() -> Fault {
    Fault::new(
        5423900,
        "The input value of $integral window function must be a vector of 2 value, the first value must be numeric or date type and the second must be numeric.",
    )
}

impl Point {
    fn is_nan(&self) -> bool {
        is_nan(&self.position.as_value()) || is_nan(&self.value.as_value())
    }

    /// The area between this point and the next one.
    fn area_to(&self, next: &Point) -> Result<Owned> {
        let run = difference(&next.position.as_value(), &self.position.as_value())?;
        let both = match (self.value.as_value(), next.value.as_value()) {
            // The int64 is made a double first.
            (Value::Double(one), Value::Int64(other)) | (Value::Int64(other), Value::Double(one)) => {
                Owned::Double(one + other as f64)
            }
            (one, other) => sum(&one, &other)?,
        };
        let doubled = product(&both.as_value(), &run.as_value())?;
        quotient(&doubled.as_value(), &Value::Double(2.0))
    }
}

impl Moving for Area {
    type Entry = Owned;

    fn enter(&mut self, value: &Owned) -> Result<()> {
        let point = self.point(&value.as_value())?;
        if let Some(last) = self.points.back() {
            self.area.update(&last.area_to(&point)?.as_value(), 1);
        }
        self.not_numbers += i64::from(point.is_nan());
        self.points.push_back(point);
        Ok(())
    }

    fn leave(&mut self, _: &Owned) -> Result<()> {
        if let Some(first) = self.points.pop_front() {
            self.not_numbers -= i64::from(first.is_nan());
            if let Some(next) = self.points.front() {
                self.area.update(&first.area_to(next)?.as_value(), -1);
            }
        }
        Ok(())
    }

    fn result(&mut self) -> Result<Owned> {
        if self.points.is_empty() {
            return Ok(Owned::Null);
        }
        if self.not_numbers > 0 {
            return Ok(Owned::Double(f64::NAN));
        }
        let area = self.area.total();
        match self.unit {
            Some(ms) => quotient(&area.as_value(), &Value::Int64(ms)),
            None => Ok(area),
        }
    }
}
