//! Arithmetic, with MongoDB's promotion: int32, int64 on overflow, double, decimal.

pub(crate) mod decimals;
mod hyperbolic;
mod power;
mod round;
mod trigonometry;

use super::super::super::document::decimal::{Decimal, Rounding};
use super::super::super::document::number::{self, as_decimal, as_f64, as_i64_exact};
use super::super::super::document::{Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::print;
use super::super::sum::Sum;
use super::Answer;
use super::date::DURATION_OVERFLOW;
use super::operator::{Arguments, Operator, of_two, strict};
use super::scalar;

pub(super) use self::trigonometry::OPERATORS as TRIGONOMETRY;

pub(super) static OPERATORS: &[Operator] = &[
    of_two(strict("$add", Arguments::Any, add), scalar::add),
    of_two(
        strict("$subtract", Arguments::Exactly(2), subtract),
        scalar::subtract,
    ),
    of_two(strict("$multiply", Arguments::Any, multiply), scalar::multiply),
    of_two(strict("$divide", Arguments::Exactly(2), divide), scalar::divide),
    of_two(strict("$mod", Arguments::Exactly(2), modulo), scalar::remainder),
    strict("$abs", Arguments::Exactly(1), |operator, arguments| {
        number(operator, arguments, abs)
    }),
    strict("$ceil", Arguments::Exactly(1), |operator, arguments| {
        number(operator, arguments, |value| {
            Ok(whole(value, f64::ceil, Rounding::Ceiling))
        })
    }),
    strict("$floor", Arguments::Exactly(1), |operator, arguments| {
        number(operator, arguments, |value| {
            Ok(whole(value, f64::floor, Rounding::Floor))
        })
    }),
    strict("$exp", Arguments::Exactly(1), |operator, arguments| {
        number(operator, arguments, power::exp)
    }),
    strict("$ln", Arguments::Exactly(1), |operator, arguments| {
        number(operator, arguments, power::ln)
    }),
    strict("$log10", Arguments::Exactly(1), |operator, arguments| {
        number(operator, arguments, power::log10)
    }),
    strict("$sqrt", Arguments::Exactly(1), |operator, arguments| {
        number(operator, arguments, power::sqrt)
    }),
    strict("$log", Arguments::Exactly(2), power::log),
    strict("$pow", Arguments::Exactly(2), power::pow),
    strict("$round", Arguments::Between(1, 2), round::round),
    strict("$trunc", Arguments::Between(1, 2), round::round),
];

/// The number as an int32, if it is one exactly.
pub(crate) fn as_i32_exact(value: &Value<'_>) -> Option<i32> {
    as_i64_exact(value).and_then(|x| i32::try_from(x).ok())
}

/// The number as MongoDB forces it to an int64: doubles truncated, decimals rounded to even.
pub(crate) fn to_long(value: Option<Value<'_>>) -> Result<i64> {
    let Some(value) = value.filter(Value::is_number) else {
        return Err(Fault::new(
            16004,
            format!("can't convert from BSON type {} to long", super::type_name(value)),
        ));
    };
    let forced = match value {
        Value::Double(x) if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) => {
            Some(x as i64)
        }
        Value::Double(_) => None,
        // What no int64 holds counts as the least one.
        Value::Decimal128(bytes) => Some(Decimal::from_bytes(bytes).to_i64_rounded().unwrap_or(i64::MIN)),
        other => as_i64_exact(&other),
    };
    forced.ok_or_else(|| {
        Fault::new(
            31109,
            format!("Can't coerce out of range value {} to long", print::value(&value)),
        )
    })
}

/// Applies a function of one number; null of null.
fn number(
    operator: &'static Operator,
    arguments: &[Answer<'_>],
    function: fn(Value<'_>) -> Result<Owned>,
) -> Result<Option<Owned>> {
    let Some(argument) = arguments.first().filter(|argument| !argument.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    match argument.value() {
        Some(value) if value.is_number() => function(value).map(Some),
        _ => Err(Fault::new(
            28765,
            format!(
                "{} only supports numeric types, not {}",
                operator.name,
                argument.type_name()
            ),
        )),
    }
}

fn add(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let mut sum = Sum::default();
    let mut has_date = false;
    for argument in arguments {
        match argument.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Owned::Null)),
            Some(Value::DateTime(ms)) => {
                if std::mem::replace(&mut has_date, true) {
                    return Err(Fault::new(16612, "only one date allowed in an $add expression"));
                }
                sum.add_date(ms);
            }
            Some(value) => {
                if !sum.add(&value) {
                    return Err(Fault::new(
                        16554,
                        format!(
                            "$add only supports numeric or date types, not {}",
                            argument.type_name()
                        ),
                    ));
                }
            }
        }
    }
    if !has_date {
        return Ok(Some(sum.total()));
    }
    sum.moment()
        .map(|ms| Some(Owned::DateTime(ms)))
        .ok_or_else(|| Fault::new(code::OVERFLOW, "date overflow in $add"))
}

fn subtract(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [left, right] = arguments else {
        return Ok(None);
    };
    let (Some(a), Some(b)) = (left.value(), right.value()) else {
        return Ok(Some(Owned::Null));
    };
    if left.is_nullish() || right.is_nullish() {
        return Ok(Some(Owned::Null));
    }
    Ok(Some(match (a, b) {
        (Value::DateTime(a), Value::DateTime(b)) => Owned::Int64(a.wrapping_sub(b)),
        (Value::DateTime(a), b) if b.is_number() => Owned::DateTime(earlier(a, to_long(Some(b))?)?),
        (Value::DateTime(_), _) => {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                format!("can't $subtract {} from Date", right.type_name()),
            ));
        }
        (a, b) if a.is_number() && b.is_number() => match (a, b) {
            (Value::Decimal128(_), _) | (_, Value::Decimal128(_)) => decimal_of(&a, &b, Decimal::subtract),
            (Value::Double(_), _) | (_, Value::Double(_)) => double_of(&a, &b, |a, b| a - b),
            _ => integer_of(&a, &b, |a, b| a - b).unwrap_or_else(|| double_of(&a, &b, |a, b| a - b)),
        },
        _ => {
            return Err(Fault::new(
                code::TYPE_MISMATCH,
                format!("can't $subtract {} from {}", right.type_name(), left.type_name()),
            ));
        }
    }))
}

/// The date some milliseconds before another, which MongoDB finds by adding their negative.
fn earlier(date: i64, milliseconds: i64) -> Result<i64> {
    let Some(added) = milliseconds.checked_neg() else {
        return Err(Fault::new(
            DURATION_OVERFLOW,
            "Cannot negate the minimum duration",
        ));
    };
    date.checked_add(added).ok_or_else(|| {
        let sum = date.wrapping_add(added);
        Fault::new(
            DURATION_OVERFLOW,
            format!("Overflow while adding {added}ms to {sum}ms"),
        )
    })
}

fn decimal_of(a: &Value<'_>, b: &Value<'_>, function: fn(Decimal, Decimal) -> Decimal) -> Owned {
    match (as_decimal(a), as_decimal(b)) {
        (Some(a), Some(b)) => Owned::Decimal128(function(a, b).to_bytes()),
        _ => Owned::Null,
    }
}

fn double_of(a: &Value<'_>, b: &Value<'_>, function: fn(f64, f64) -> f64) -> Owned {
    match (as_f64(a), as_f64(b)) {
        (Some(a), Some(b)) => Owned::Double(function(a, b)),
        _ => Owned::Null,
    }
}

/// Two int32 give an int32 where it fits; `None` beyond int64.
fn integer_of(a: &Value<'_>, b: &Value<'_>, function: fn(i128, i128) -> i128) -> Option<Owned> {
    let result = function(as_i64_exact(a)?.into(), as_i64_exact(b)?.into());
    let small = matches!((a, b), (Value::Int32(_), Value::Int32(_)));
    match (i32::try_from(result), i64::try_from(result)) {
        (Ok(result), _) if small => Some(Owned::Int32(result)),
        (_, result) => result.ok().map(Owned::Int64),
    }
}

fn multiply(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let mut product = Owned::Int64(1);
    // The product as a double is carried from the first factor on, beside that of integers.
    let mut rounded = 1.0;
    let mut are_small = true;
    for argument in arguments {
        let value = match argument.value() {
            None | Some(Value::Null | Value::Undefined) => return Ok(Some(Owned::Null)),
            Some(value) if value.is_number() => value,
            Some(_) => {
                return Err(Fault::new(
                    code::TYPE_MISMATCH,
                    format!(
                        "$multiply only supports numeric types, not {}",
                        argument.type_name()
                    ),
                ));
            }
        };
        let so_far = product.as_value();
        are_small &= matches!(value, Value::Int32(_));
        rounded *= as_f64(&value).unwrap_or(f64::NAN);
        product = match (so_far, value) {
            (Value::Decimal128(_), _) | (_, Value::Decimal128(_)) => {
                decimal_of(&so_far, &value, Decimal::multiply)
            }
            (Value::Double(_), _) | (_, Value::Double(_)) => Owned::Double(rounded),
            _ => integer_of(&so_far, &value, |a, b| a * b).unwrap_or(Owned::Double(rounded)),
        };
    }
    Ok(Some(match product {
        Owned::Int64(product) if are_small => {
            i32::try_from(product).map_or(Owned::Int64(product), Owned::Int32)
        }
        product => product,
    }))
}

fn divide(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [left, right] = arguments else {
        return Ok(None);
    };
    match (left.value(), right.value()) {
        (Some(a), Some(b)) if a.is_number() && b.is_number() => {
            if is_zero(&b) {
                return Err(Fault::new(code::BAD_VALUE, "can't $divide by zero"));
            }
            Ok(Some(match (a, b) {
                (Value::Decimal128(_), _) | (_, Value::Decimal128(_)) => decimal_of(&a, &b, Decimal::divide),
                _ => double_of(&a, &b, |a, b| a / b),
            }))
        }
        _ if left.is_nullish() || right.is_nullish() => Ok(Some(Owned::Null)),
        _ => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "$divide only supports numeric types, not {} and {}",
                left.type_name(),
                right.type_name()
            ),
        )),
    }
}

/// Evaluates one of the operators on two values.
fn of_both(
    function: fn(&'static Operator, &[Answer<'_>]) -> Result<Option<Owned>>,
    a: &Value<'_>,
    b: &Value<'_>,
) -> Result<Owned> {
    // None of them looks at the operator.
    let operator = &OPERATORS[0];
    let answer = function(operator, &[Answer::Borrowed(*a), Answer::Borrowed(*b)])?;
    Ok(answer.unwrap_or(Owned::Null))
}

/// `$add` of two values, as windows have it: a double beside a decimal counts with 15 digits.
pub(crate) fn sum(a: &Value<'_>, b: &Value<'_>) -> Result<Owned> {
    match (a, b) {
        (Value::Decimal128(_), other) | (other, Value::Decimal128(_)) if other.is_number() => {
            Ok(decimal_of(a, b, Decimal::add))
        }
        _ => of_both(add, a, b),
    }
}

/// `$subtract`.
pub(crate) fn difference(a: &Value<'_>, b: &Value<'_>) -> Result<Owned> {
    of_both(subtract, a, b)
}

/// `$multiply` of two values.
pub(crate) fn product(a: &Value<'_>, b: &Value<'_>) -> Result<Owned> {
    of_both(multiply, a, b)
}

/// `$divide`.
pub(crate) fn quotient(a: &Value<'_>, b: &Value<'_>) -> Result<Owned> {
    of_both(divide, a, b)
}

pub(crate) fn is_zero(value: &Value<'_>) -> bool {
    match *value {
        Value::Decimal128(bytes) => Decimal::from_bytes(bytes).is_zero(),
        _ => as_f64(value) == Some(0.0),
    }
}

fn modulo(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let [left, right] = arguments else {
        return Ok(None);
    };
    let (a, b) = match (left.value(), right.value()) {
        (Some(a), Some(b)) if a.is_number() && b.is_number() => (a, b),
        _ if left.is_nullish() || right.is_nullish() => return Ok(Some(Owned::Null)),
        _ => {
            return Err(Fault::new(
                16611,
                format!(
                    "$mod only supports numeric types, not {} and {}",
                    left.type_name(),
                    right.type_name()
                ),
            ));
        }
    };
    remainder(a, b).map(Some)
}

/// `$mod` of two numbers.
pub(crate) fn remainder(a: Value<'_>, b: Value<'_>) -> Result<Owned> {
    let decimal = matches!(a, Value::Decimal128(_)) || matches!(b, Value::Decimal128(_));
    if is_zero(&b) {
        let code = if decimal { 5733415 } else { 16610 };
        return Err(Fault::new(code, "can't $mod by zero"));
    }
    if decimal {
        return Ok(decimal_of(&a, &b, Decimal::remainder));
    }
    // A double divisor that is an int32 in value counts as an int32.
    let b = match (a, b) {
        (Value::Int32(_) | Value::Int64(_), Value::Double(_)) => as_i32_exact(&b).map_or(b, Value::Int32),
        _ => b,
    };
    Ok(match (a, b) {
        (Value::Double(_), _) | (_, Value::Double(_)) => double_of(&a, &b, |a, b| a % b),
        _ => integer_of(&a, &b, |a, b| a % b).unwrap_or(Owned::Null),
    })
}

fn abs(value: Value<'_>) -> Result<Owned> {
    Ok(match value {
        Value::Double(x) => Owned::Double(x.abs()),
        Value::Decimal128(bytes) => Owned::Decimal128(Decimal::from_bytes(bytes).abs().to_bytes()),
        Value::Int32(x) => x
            .checked_abs()
            .map_or(Owned::Int64(i64::from(x).abs()), Owned::Int32),
        Value::Int64(x) => match x.checked_abs() {
            Some(x) => Owned::Int64(x),
            None => return Err(Fault::new(28680, "can't take $abs of long long min")),
        },
        other => other.into(),
    })
}

fn whole(value: Value<'_>, double: fn(f64) -> f64, rounding: Rounding) -> Owned {
    match value {
        Value::Double(x) => Owned::Double(double(x)),
        Value::Decimal128(bytes) => {
            Owned::Decimal128(decimals::whole(Decimal::from_bytes(bytes), rounding).to_bytes())
        }
        other => other.into(),
    }
}
