//! Series of preferred numbers, to which the boundaries of `$bucketAuto` are rounded.

use super::super::super::super::document::decimal::Decimal;
use super::super::super::super::document::number::{as_decimal, as_f64, is_nan};
use super::super::super::super::document::{Owned, Value, compare};
use super::super::super::super::fault::{Fault, Result, code};
use super::super::super::expression::{decimals, product, quotient};

/// A series, of which boundaries are members.
#[derive(Clone, Debug)]
pub(super) enum Granularity {
    PowersOfTwo,
    /// The members of one decade.
    Series(Vec<i32>),
}

/// As the server has them: R40 lacks 335, R80 is only what lies between the members of R40.
const R20: [i32; 20] = [
    100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710, 800, 900,
];
const R40: [i32; 39] = [
    100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212, 224, 236, 250, 265, 280, 300, 315,
    355, 375, 400, 425, 450, 475, 500, 530, 560, 600, 630, 670, 710, 750, 800, 850, 900, 950,
];
const R80: [i32; 40] = [
    103, 109, 115, 122, 128, 136, 145, 155, 165, 175, 185, 195, 206, 218, 230, 243, 258, 272, 290, 307, 325,
    345, 365, 387, 412, 437, 462, 487, 515, 545, 575, 615, 650, 690, 730, 775, 825, 875, 925, 975,
];
const E24: [i32; 24] = [
    10, 11, 12, 13, 15, 16, 18, 20, 22, 24, 27, 30, 33, 36, 39, 43, 47, 51, 56, 62, 68, 75, 82, 91,
];

impl Granularity {
    pub(super) fn parse(name: &str) -> Result<Granularity> {
        let every = |members: &[i32], step: usize| members.iter().step_by(step).copied().collect();
        Ok(Granularity::Series(match name {
            "POWERSOF2" => return Ok(Granularity::PowersOfTwo),
            "1-2-5" => vec![10, 20, 50],
            "R5" => vec![10, 16, 25, 40, 63],
            "R10" => every(&R20, 2),
            "R20" => R20.to_vec(),
            "R40" => R40.to_vec(),
            "R80" => R80.to_vec(),
            "E6" => every(&E24, 4),
            "E12" => every(&E24, 2),
            "E24" => E24.to_vec(),
            "E48" => exact(48),
            "E96" => exact(96),
            "E192" => exact(192),
            _ => {
                return Err(Fault::new(
                    40257,
                    format!("Unknown rounding granularity '{name}'"),
                ));
            }
        }))
    }

    /// Refuses a value that cannot be rounded.
    pub(super) fn check(&self, value: Option<&Owned>) -> Result<()> {
        let number = value.map(Owned::as_value).filter(Value::is_number);
        let Some(number) = number else {
            let name = value.map_or("missing", |value| value.as_value().kind().alias());
            return Err(Fault::new(
                40258,
                format!(
                    "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value with type: {name}"
                ),
            ));
        };
        if is_nan(&number) {
            return Err(Fault::new(
                40259,
                "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN",
            ));
        }
        if compare(&number, &Value::Int32(0)).is_lt() {
            return Err(Fault::new(
                40260,
                "$bucketAuto can specify a 'granularity' with non-negative numbers only, but found a negative number",
            ));
        }
        Ok(())
    }

    /// The least member above the value; zero stays zero.
    pub(super) fn up(&self, value: &Owned) -> Result<Owned> {
        if let Some(end) = self.at_an_end(value) {
            return Ok(end);
        }
        match self {
            Granularity::PowersOfTwo => Ok(power_of_two(value, |exponent| exponent.floor() + 1.0)),
            Granularity::Series(members) => {
                let mut scale = Scale::of(value);
                while scale.order(value, last(members)).is_ge() {
                    scale.grow()?;
                }
                loop {
                    let first = first(members);
                    if scale.order(value, first).is_ge() {
                        break;
                    }
                    let above = scale.times(first);
                    scale.shrink()?;
                    if scale.order(value, last(members)).is_ge() {
                        return Ok(above);
                    }
                }
                let at = members.partition_point(|member| scale.order(value, *member).is_ge());
                Ok(scale.times(members.get(at).copied().unwrap_or(last(members))))
            }
        }
    }

    /// What zero and infinity become, either way.
    fn at_an_end(&self, value: &Owned) -> Option<Owned> {
        let is = |end: Value<'_>| compare(&value.as_value(), &end).is_eq();
        match (self, is(Value::Double(f64::INFINITY))) {
            // On the server its logarithm is none.
            (Granularity::PowersOfTwo, true) => Some(match value {
                Owned::Decimal128(_) => Owned::Decimal128([0; 16]),
                _ => Owned::Double(0.0),
            }),
            (_, is_infinite) => (is_infinite || is(Value::Int32(0))).then(|| value.clone()),
        }
    }

    /// The greatest member below the value; zero stays zero.
    pub(super) fn down(&self, value: &Owned) -> Result<Owned> {
        if let Some(end) = self.at_an_end(value) {
            return Ok(end);
        }
        match self {
            Granularity::PowersOfTwo => Ok(power_of_two(value, |exponent| exponent.ceil() - 1.0)),
            Granularity::Series(members) => {
                let mut scale = Scale::of(value);
                while scale.order(value, first(members)).is_le() {
                    scale.shrink()?;
                }
                loop {
                    let last = last(members);
                    if scale.order(value, last).is_le() {
                        break;
                    }
                    let below = scale.times(last);
                    scale.grow()?;
                    if scale.order(value, first(members)).is_le() {
                        return Ok(below);
                    }
                }
                let at = members.partition_point(|member| scale.order(value, *member).is_gt());
                let below = at.checked_sub(1).and_then(|below| members.get(below));
                Ok(scale.times(below.copied().unwrap_or(first(members))))
            }
        }
    }
}

fn first(members: &[i32]) -> i32 {
    members.first().copied().unwrap_or(1)
}

fn last(members: &[i32]) -> i32 {
    members.last().copied().unwrap_or(1)
}

/// The series of so many members that are as even as three digits let them be, but for one of E192.
fn exact(count: u32) -> Vec<i32> {
    (0..count)
        .map(|at| {
            let member = (100.0 * 10f64.powf(f64::from(at) / f64::from(count))).round() as i32;
            if member == 919 { 920 } else { member }
        })
        .collect()
}

fn decimal(number: &Value<'_>) -> Owned {
    as_decimal(number).map_or(Owned::Null, |number| Owned::Decimal128(number.to_bytes()))
}

/// A power of ten, decimal for decimals.
struct Scale(Owned);

impl Scale {
    fn of(value: &Owned) -> Scale {
        Scale(match value {
            Owned::Decimal128(_) => decimal(&Value::Int32(1)),
            _ => Owned::Double(1.0),
        })
    }

    /// The member at this scale. For decimals it is a decimal made of a double, with the digits that those have.
    fn times(&self, member: i32) -> Owned {
        let member = match &self.0 {
            Owned::Decimal128(_) => decimal(&Value::Double(member.into())),
            _ => Owned::Int32(member),
        };
        product(&member.as_value(), &self.0.as_value()).unwrap_or(Owned::Null)
    }

    fn order(&self, value: &Owned, member: i32) -> std::cmp::Ordering {
        compare(&value.as_value(), &self.times(member).as_value())
    }

    fn grow(&mut self) -> Result<()> {
        self.0 = product(&self.0.as_value(), &Value::Int32(10))?;
        match compare(&self.0.as_value(), &Value::Double(f64::INFINITY)).is_lt() {
            true => Ok(()),
            // The server looks for a member above it for ever.
            false => Err(Fault::new(
                code::BAD_VALUE,
                "$bucketAuto finds no member of a 'granularity' above Infinity",
            )),
        }
    }

    fn shrink(&mut self) -> Result<()> {
        self.0 = quotient(&self.0.as_value(), &Value::Int32(10))?;
        Ok(())
    }
}

/// Two to the power that `exponent` makes of the value's own.
fn power_of_two(value: &Owned, exponent: fn(f64) -> f64) -> Owned {
    if let Owned::Decimal128(bytes) = value
        && let Some(power) = logarithm(Decimal::from_bytes(*bytes))
    {
        let power = Decimal::from_i64(exponent(power) as i64);
        return Owned::Decimal128(decimals::pow(TWO, power).to_bytes());
    }
    let number = as_f64(&value.as_value()).unwrap_or(1.0);
    let power = exponent(number.log2());
    let result = power.exp2();
    match value {
        _ if (0.0..31.0).contains(&power) => Owned::Int32(result as i32),
        _ if (0.0..63.0).contains(&power) => Owned::Int64(result as i64),
        _ => Owned::Double(result),
    }
}

const TWO: Decimal = Decimal::Finite {
    negative: false,
    coefficient: 2,
    exponent: 0,
};

/// The power of two that the number is, as a server has it: by a double, where that holds the number; `None` for what has
/// none.
fn logarithm(x: Decimal) -> Option<f64> {
    let Decimal::Finite {
        coefficient: coefficient @ 1..,
        exponent,
        ..
    } = x
    else {
        return None;
    };
    let number = x.to_f64();
    Some(match number.is_normal() {
        true => number.log2(),
        false => (coefficient as f64).log2() + f64::from(exponent) * std::f64::consts::LOG2_10,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinity_stays_what_it_is() {
        let granularity = Granularity::parse("E24").unwrap();
        for infinity in [
            Owned::Double(f64::INFINITY),
            Owned::Decimal128(as_decimal(&Value::Double(f64::INFINITY)).unwrap().to_bytes()),
        ] {
            for end in [granularity.up(&infinity), granularity.down(&infinity)] {
                assert!(compare(&end.unwrap().as_value(), &infinity.as_value()).is_eq());
            }
        }
        let above = granularity.up(&Owned::Double(f64::MAX)).unwrap();
        assert!(compare(&above.as_value(), &Value::Double(f64::MAX)).is_gt());
    }
}
