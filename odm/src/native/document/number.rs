//! The four numeric types on one line: exact comparison, and the arithmetic of `$inc` and `$mul`.

use std::cmp::Ordering;

use super::decimal::{Decimal, Rounding, compare_with_double};
use super::owned::Owned;
use super::value::Value;

/// Compares two numbers of any of the four types without rounding. NaN is below every number and equal to
/// itself; -0 equals 0. What is not a number counts as NaN.
pub(crate) fn compare(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (Number::of(a), Number::of(b)) {
        (Number::Integer(a), Number::Integer(b)) => a.cmp(&b),
        (Number::Double(a), Number::Double(b)) => compare_doubles(a, b),
        (Number::Integer(a), Number::Double(b)) => compare_integer_with_double(a, b),
        (Number::Double(a), Number::Integer(b)) => compare_integer_with_double(b, a).reverse(),
        (Number::Decimal(a), Number::Decimal(b)) => a.compare(&b),
        (Number::Decimal(a), Number::Double(b)) => compare_with_double(&a, b),
        (Number::Double(a), Number::Decimal(b)) => compare_with_double(&b, a).reverse(),
        (Number::Decimal(a), Number::Integer(b)) => a.compare(&Decimal::from_i64(b)),
        (Number::Integer(a), Number::Decimal(b)) => Decimal::from_i64(a).compare(&b),
    }
}

enum Number {
    Integer(i64),
    Double(f64),
    Decimal(Decimal),
}

impl Number {
    #[inline]
    fn of(value: &Value<'_>) -> Number {
        match *value {
            Value::Int32(x) => Number::Integer(x.into()),
            Value::Int64(x) => Number::Integer(x),
            Value::Double(x) => Number::Double(x),
            Value::Decimal128(bytes) => Number::Decimal(Decimal::from_bytes(bytes)),
            _ => Number::Double(f64::NAN),
        }
    }
}

/// Compares doubles, NaN lowest.
fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// Compares without losing the integer's digits beyond 2^53.
fn compare_integer_with_double(integer: i64, double: f64) -> Ordering {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() || double < -LIMIT {
        return Ordering::Greater;
    }
    if double >= LIMIT {
        return Ordering::Less;
    }
    // The double's integer part is exact as an i64.
    integer
        .cmp(&(double as i64))
        .then_with(|| 0.0f64.partial_cmp(&double.fract()).unwrap_or(Ordering::Equal))
}

/// The number as an integer, if it is one exactly (1.0 and decimal 1.00 are) and fits.
pub(crate) fn as_i64_exact(value: &Value<'_>) -> Option<i64> {
    match *value {
        Value::Int32(x) => Some(x.into()),
        Value::Int64(x) => Some(x),
        Value::Double(x) => {
            let whole = x as i64;
            (compare_integer_with_double(whole, x) == Ordering::Equal).then_some(whole)
        }
        Value::Decimal128(bytes) => Decimal::from_bytes(bytes).to_i64_exact(),
        _ => None,
    }
}

/// A number without its fraction: doubles are cut, decimals rounded half to even, NaN is zero, and what is too
/// large becomes the largest.
pub(crate) fn whole(value: &Value<'_>) -> Option<i64> {
    Some(match value {
        Value::Int32(x) => i64::from(*x),
        Value::Int64(x) => *x,
        // The conversion saturates, and makes NaN zero.
        Value::Double(x) => *x as i64,
        Value::Decimal128(bytes) => {
            let decimal = Decimal::from_bytes(*bytes);
            if decimal.is_nan() {
                return Some(0);
            }
            let limit = if decimal.is_negative() { i64::MIN } else { i64::MAX };
            let near = if decimal.is_infinite() {
                decimal
            } else {
                decimal.quantize(0, Rounding::HalfEven)
            };
            near.to_i64_truncated()
                .or_else(|| decimal.to_i64_truncated())
                .unwrap_or(limit)
        }
        _ => return None,
    })
}

/// [`whole`] in 32 bits.
pub(crate) fn as_i32_whole(value: &Value<'_>) -> Option<i32> {
    let whole = whole(value)?;
    let end = if whole < 0 { i32::MIN } else { i32::MAX };
    Some(i32::try_from(whole).unwrap_or(end))
}

/// The number as the nearest double; `None` for what is not a number.
pub(crate) fn as_f64(value: &Value<'_>) -> Option<f64> {
    match *value {
        Value::Int32(x) => Some(x.into()),
        Value::Int64(x) => Some(x as f64),
        Value::Double(x) => Some(x),
        Value::Decimal128(bytes) => Some(Decimal::from_bytes(bytes).to_f64()),
        _ => None,
    }
}

/// The number as a decimal, doubles rounded to 15 digits; `None` for what is not a number.
pub(crate) fn as_decimal(value: &Value<'_>) -> Option<Decimal> {
    match *value {
        Value::Int32(x) => Some(Decimal::from_i64(x.into())),
        Value::Int64(x) => Some(Decimal::from_i64(x)),
        Value::Double(x) => Some(Decimal::from_f64(x)),
        Value::Decimal128(bytes) => Some(Decimal::from_bytes(bytes)),
        _ => None,
    }
}

/// Whether the value is a NaN of either type.
pub(crate) fn is_nan(value: &Value<'_>) -> bool {
    match *value {
        Value::Double(x) => x.is_nan(),
        Value::Decimal128(bytes) => Decimal::from_bytes(bytes).is_nan(),
        _ => false,
    }
}

/// `a + b` as `$inc` adds: int32 grows to int64, any double makes a double, any decimal a decimal. `None`
/// when an int64 overflows or an operand is not a number.
pub(crate) fn add(a: &Value<'_>, b: &Value<'_>) -> Option<Owned> {
    combine(a, b, i64::checked_add, |a, b| a + b, Decimal::add)
}

/// `a * b` as `$mul` multiplies, with the types of [`add`].
pub(crate) fn multiply(a: &Value<'_>, b: &Value<'_>) -> Option<Owned> {
    combine(a, b, i64::checked_mul, |a, b| a * b, Decimal::multiply)
}

fn combine(
    a: &Value<'_>,
    b: &Value<'_>,
    integers: fn(i64, i64) -> Option<i64>,
    doubles: fn(f64, f64) -> f64,
    decimals: fn(Decimal, Decimal) -> Decimal,
) -> Option<Owned> {
    match (a, b) {
        (Value::Decimal128(_), _) | (_, Value::Decimal128(_)) => {
            // As on the server: of two that are no numbers the second is the result.
            let result = decimals(as_decimal(b)?, as_decimal(a)?);
            Some(Owned::Decimal128(result.to_bytes()))
        }
        (Value::Double(_), _) | (_, Value::Double(_)) => Some(Owned::Double(doubles(as_f64(a)?, as_f64(b)?))),
        (Value::Int32(x), Value::Int32(y)) => {
            let result = integers((*x).into(), (*y).into())?;
            Some(i32::try_from(result).map_or(Owned::Int64(result), Owned::Int32))
        }
        _ => Some(Owned::Int64(integers(as_i64_exact(a)?, as_i64_exact(b)?)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Owned {
        Owned::Decimal128(Decimal::parse(text).unwrap().to_bytes())
    }

    #[test]
    fn mixed_numbers_compare_exactly() {
        let ascending = [
            vec![Owned::Double(f64::NAN), decimal("NaN")],
            vec![Owned::Double(f64::NEG_INFINITY), decimal("-Infinity")],
            vec![decimal("-1E+400")],
            vec![
                Owned::Int64(i64::MIN),
                Owned::Double(-9_223_372_036_854_775_808.0),
            ],
            vec![decimal("-1.5"), Owned::Double(-1.5)],
            vec![
                Owned::Int32(0),
                Owned::Double(-0.0),
                decimal("-0E+5"),
                Owned::Int64(0),
            ],
            vec![decimal("0.1")],
            vec![Owned::Double(0.1)],
            vec![
                Owned::Int32(1),
                Owned::Int64(1),
                Owned::Double(1.0),
                decimal("1.00"),
            ],
            vec![
                Owned::Int64(9_007_199_254_740_992),
                Owned::Double(9_007_199_254_740_992.0),
            ],
            vec![Owned::Int64(9_007_199_254_740_993), decimal("9007199254740993")],
            vec![decimal("9007199254740993.5")],
            vec![Owned::Int64(i64::MAX)],
            vec![
                Owned::Double(9_223_372_036_854_775_808.0),
                decimal("9223372036854775808"),
            ],
            vec![Owned::Double(f64::INFINITY), decimal("Infinity")],
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                for a in left {
                    for b in right {
                        assert_eq!(compare(&a.as_value(), &b.as_value()), i.cmp(&j), "{a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn arithmetic_promotes_types() {
        let show = |value: Option<Owned>| value.map(|value| format!("{value:?}"));
        for (a, b, sum, product) in [
            (
                Owned::Int32(i32::MAX),
                Owned::Int32(2),
                Some(Owned::Int64(2_147_483_649)),
                Some(Owned::Int64(4_294_967_294)),
            ),
            (
                Owned::Int32(1),
                Owned::Int64(1),
                Some(Owned::Int64(2)),
                Some(Owned::Int64(1)),
            ),
            (Owned::Int64(i64::MAX), Owned::Int32(2), None, None),
            (
                Owned::Int64(1),
                Owned::Double(0.5),
                Some(Owned::Double(1.5)),
                Some(Owned::Double(0.5)),
            ),
            (
                Owned::Double(0.1),
                decimal("1"),
                Some(decimal("1.100000000000000")),
                Some(decimal("0.100000000000000")),
            ),
            (Owned::Int32(1), Owned::Null, None, None),
        ] {
            assert_eq!(
                show(add(&a.as_value(), &b.as_value())),
                show(sum),
                "{a:?} + {b:?}"
            );
            assert_eq!(
                show(multiply(&a.as_value(), &b.as_value())),
                show(product),
                "{a:?} * {b:?}"
            );
        }
    }

    #[test]
    fn integers_are_recognised_in_every_type() {
        for (value, expected) in [
            (Owned::Double(3.0), Some(3)),
            (Owned::Double(3.5), None),
            (Owned::Double(f64::NAN), None),
            (Owned::Double(1e19), None),
            (Owned::Double(9_223_372_036_854_775_808.0), None),
            (decimal("3.00"), Some(3)),
            (Owned::String("3".into()), None),
        ] {
            assert_eq!(as_i64_exact(&value.as_value()), expected, "{value:?}");
        }
    }
}
