//! Types and conversions.

mod hexadecimal;

use super::super::super::document::decimal::{Decimal, ParseError, Rounding};
use super::super::super::document::number::{as_decimal, as_f64, as_i64_exact};
use super::super::super::document::{Kind, Owned, Value};
use super::super::super::fault::{Fault, Result, code};
use super::super::print;
use super::arithmetic::as_i32_exact;
use super::date;
use super::operator::{Arguments, Operator, lazy, strict};
use super::parse::{Parser, required};
use super::{Answer, Env, Node, truth, type_name};

pub(super) static OPERATORS: &[Operator] = &[
    strict("$type", Arguments::Exactly(1), |_, arguments| {
        let name = type_name(arguments.first().and_then(Answer::value));
        Ok(Some(Owned::String(name.to_owned())))
    }),
    strict("$isNumber", Arguments::Exactly(1), |_, arguments| {
        let number = arguments
            .first()
            .and_then(Answer::value)
            .is_some_and(|value| value.is_number());
        Ok(Some(Owned::Bool(number)))
    }),
    lazy("$convert", Arguments::Custom(parse_convert), convert),
    strict("$toBool", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::Bool))
    }),
    strict("$toInt", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::Int32))
    }),
    strict("$toLong", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::Int64))
    }),
    strict("$toDouble", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::Double))
    }),
    strict("$toDecimal", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::Decimal128))
    }),
    strict("$toString", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::String))
    }),
    strict("$toDate", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::DateTime))
    }),
    strict("$toObjectId", Arguments::Custom(parse_one), |_, arguments| {
        to(arguments, Some(Kind::ObjectId))
    }),
];

/// The code of a failed conversion, which `onError` catches.
const FAILURE: i32 = 241;

fn failure(message: String) -> Fault {
    Fault::new(FAILURE, message)
}

fn parse_one(parser: &mut Parser<'_>, operator: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let arguments = parser.list(value)?;
    if arguments.len() != 1 {
        return Err(Fault::new(
            50723,
            format!(
                "{} requires a single argument, got {}",
                operator.name,
                arguments.len()
            ),
        ));
    }
    Ok(arguments)
}

fn to(arguments: &[Answer<'_>], target: Option<Kind>) -> Result<Option<Owned>> {
    match arguments.first().and_then(Answer::value) {
        None | Some(Value::Null | Value::Undefined) => Ok(Some(Owned::Null)),
        Some(value) => converted(&value, target).map(Some),
    }
}

/// The arguments: `input`, `to`, `onError`, `onNull`.
fn parse_convert(parser: &mut Parser<'_>, _: &'static Operator, value: &Value<'_>) -> Result<Vec<Node>> {
    let wrong = |message: String| Fault::new(code::FAILED_TO_PARSE, message);
    let Value::Document(doc) = *value else {
        return Err(wrong(format!(
            "$convert expects an object of named arguments but found: {}",
            value.kind().alias()
        )));
    };
    let arguments = parser.named(doc, &["input", "to", "onError", "onNull"], |other| {
        wrong(format!("$convert found an unknown argument: {other}"))
    })?;
    let all = [(&arguments[0], "input"), (&arguments[1], "to")];
    let all = all.map(|(node, name)| (node, name, code::FAILED_TO_PARSE));
    required(all, |argument| {
        format!("Missing '{argument}' parameter to $convert")
    })?;
    Ok(arguments)
}

fn convert<'a>(_: &'static Operator, arguments: &'a [Node], env: Env<'a>) -> Result<Answer<'a>> {
    let [input, target, on_error, on_null] = arguments else {
        return Ok(Answer::Missing);
    };
    let target = target.evaluate(env)?;
    let input = input.evaluate(env)?;
    let kind = if target.is_nullish() {
        None
    } else {
        Some(target_kind(&target)?)
    };
    let Some(value) = input.value().filter(|_| !input.is_nullish()) else {
        return on_null.evaluate_or_null(env);
    };
    let Some(kind) = kind else {
        return Ok(Answer::Owned(Owned::Null));
    };
    match converted(&value, kind) {
        Ok(result) => Ok(Answer::Owned(result)),
        Err(fault) if fault.code() == FAILURE && !matches!(on_error, Node::Absent) => on_error.evaluate(env),
        Err(fault) => Err(fault),
    }
}

/// The type that `to` names, by its alias or number; `None` is "missing".
fn target_kind(answer: &Answer<'_>) -> Result<Option<Kind>> {
    match answer.value() {
        Some(Value::String("missing")) => Ok(None),
        Some(Value::String(name)) => Kind::ALL
            .into_iter()
            .find(|kind| kind.alias() == name)
            .map(Some)
            .ok_or_else(|| Fault::new(code::BAD_VALUE, format!("Unknown type name: {name}"))),
        Some(number) if number.is_number() => {
            let number = as_i32_exact(&number).ok_or_else(|| {
                Fault::new(
                    code::FAILED_TO_PARSE,
                    "In $convert, numeric 'to' argument is not an integer",
                )
            })?;
            match number {
                0 => Ok(None),
                -1 => Ok(Some(Kind::MinKey)),
                _ => u8::try_from(number)
                    .ok()
                    .filter(|byte| *byte != 0xFF)
                    .and_then(Kind::from_byte)
                    .map(Some)
                    .ok_or_else(|| {
                        Fault::new(
                            code::FAILED_TO_PARSE,
                            format!(
                                "In $convert, numeric value for 'to' does not correspond to a BSON type: {number}"
                            ),
                        )
                    }),
            }
        }
        _ => Err(Fault::new(
            code::FAILED_TO_PARSE,
            format!(
                "$convert's 'to' argument must be a string or number, but is {}",
                answer.type_name()
            ),
        )),
    }
}

/// Converts a value that is not null.
fn converted(value: &Value<'_>, target: Option<Kind>) -> Result<Owned> {
    let unsupported = || {
        failure(format!(
            "Unsupported conversion from {} to {} in $convert with no onError value",
            value.kind().alias(),
            target.map_or("missing", Kind::alias)
        ))
    };
    match (target, *value) {
        (
            Some(Kind::Bool),
            Value::Double(_)
            | Value::Int32(_)
            | Value::Int64(_)
            | Value::Decimal128(_)
            | Value::Bool(_)
            | Value::String(_)
            | Value::ObjectId(_)
            | Value::DateTime(_)
            | Value::Timestamp { .. }
            | Value::Document(_)
            | Value::Array(_)
            | Value::Binary { .. }
            | Value::Regex { .. }
            | Value::Code(_)
            | Value::CodeWithScope { .. }
            | Value::Symbol(_)
            | Value::DbPointer { .. }
            | Value::MinKey
            | Value::MaxKey,
        ) => Ok(Owned::Bool(truth(value))),
        (Some(Kind::String), Value::DateTime(ms)) => date::to_text(ms).map(Owned::String),
        (Some(Kind::String), _) => to_text(value).map(Owned::String).ok_or_else(unsupported),
        (Some(Kind::ObjectId), Value::ObjectId(id)) => Ok(Owned::ObjectId(id)),
        (Some(Kind::ObjectId), Value::String(text)) => object_id(text),
        (Some(Kind::Int32), Value::Bool(b)) => Ok(Owned::Int32(b.into())),
        (Some(Kind::Int64), Value::Bool(b)) => Ok(Owned::Int64(b.into())),
        (Some(Kind::Double), Value::Bool(b)) => Ok(Owned::Double(f64::from(u8::from(b)))),
        (Some(Kind::Decimal128), Value::Bool(b)) => {
            Ok(Owned::Decimal128(Decimal::from_i64(b.into()).to_bytes()))
        }
        (Some(Kind::Int64), Value::DateTime(ms)) => Ok(Owned::Int64(ms)),
        (Some(Kind::Double), Value::DateTime(ms)) => Ok(Owned::Double(ms as f64)),
        (Some(Kind::Decimal128), Value::DateTime(ms)) => {
            Ok(Owned::Decimal128(Decimal::from_i64(ms).to_bytes()))
        }
        (Some(kind @ (Kind::Int32 | Kind::Int64)), Value::String(text)) => integer_of_text(text, kind),
        (Some(Kind::Double), Value::String(text)) => double_of_text(text),
        (Some(Kind::Decimal128), Value::String(text)) => decimal_of_text(text),
        (Some(Kind::Int32), Value::Double(x)) if x < i32::MIN.into() || x > i32::MAX.into() => {
            whole(value)?;
            Err(out_of_range(value))
        }
        (Some(kind @ (Kind::Int32 | Kind::Int64)), number) if number.is_number() => {
            let whole = whole(&number)?;
            if kind == Kind::Int64 {
                return Ok(Owned::Int64(whole));
            }
            i32::try_from(whole)
                .map(Owned::Int32)
                .map_err(|_| out_of_range(&number))
        }
        (Some(Kind::Double), Value::Decimal128(bytes)) => {
            let x = Decimal::from_bytes(bytes);
            let double = x.to_f64();
            let is_tiny = double.abs() < f64::MIN_POSITIVE && !x.is_zero();
            if is_tiny || (double.is_infinite() && !x.is_infinite()) {
                return Err(out_of_range(value));
            }
            Ok(Owned::Double(double))
        }
        (Some(Kind::Double), number) if number.is_number() => {
            Ok(Owned::Double(as_f64(&number).unwrap_or(f64::NAN)))
        }
        (Some(Kind::Decimal128), number) if number.is_number() => as_decimal(&number)
            .map(|x| Owned::Decimal128(x.to_bytes()))
            .ok_or_else(unsupported),
        (Some(Kind::DateTime), Value::DateTime(ms)) => Ok(Owned::DateTime(ms)),
        (Some(Kind::DateTime), Value::Timestamp { time, .. }) => Ok(Owned::DateTime(i64::from(time) * 1000)),
        (Some(Kind::DateTime), Value::ObjectId(id)) => {
            let seconds = i32::from_be_bytes([id[0], id[1], id[2], id[3]]);
            Ok(Owned::DateTime(i64::from(seconds) * 1000))
        }
        (Some(Kind::DateTime), Value::String(text)) => date::parse_text(text).map(Owned::DateTime),
        (Some(Kind::DateTime), Value::Double(_) | Value::Int64(_) | Value::Decimal128(_)) => {
            whole(value).map(Owned::DateTime)
        }
        _ => Err(unsupported()),
    }
}

fn out_of_range(value: &Value<'_>) -> Fault {
    failure(format!(
        "Conversion would overflow target type in $convert with no onError value: {}",
        match value {
            Value::Int64(_) => String::new(),
            other => print::value(other),
        }
    ))
}

/// The integer part of a number, if it fits.
fn whole(value: &Value<'_>) -> Result<i64> {
    let special = |what: &str| {
        failure(format!(
            "Attempt to convert {what} value to integer type in $convert with no onError value"
        ))
    };
    match *value {
        Value::Double(x) if x.is_nan() => Err(special("NaN")),
        Value::Double(x) if x.is_infinite() => Err(special("infinity")),
        Value::Double(x) => {
            if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&x) {
                Ok(x as i64)
            } else {
                Err(out_of_range(value))
            }
        }
        Value::Decimal128(bytes) => {
            let x = Decimal::from_bytes(bytes);
            if x.is_nan() {
                return Err(special("NaN"));
            }
            if x.is_infinite() {
                return Err(special("infinity"));
            }
            match x {
                Decimal::Finite { exponent, .. } if exponent < 0 => x.quantize(0, Rounding::Down),
                _ => x,
            }
            .to_i64_exact()
            .ok_or_else(|| out_of_range(value))
        }
        _ => as_i64_exact(value).ok_or_else(|| out_of_range(value)),
    }
}

fn to_text(value: &Value<'_>) -> Option<String> {
    Some(match *value {
        Value::Double(x) if x.is_nan() => "NaN".to_owned(),
        Value::Double(x) if x.is_infinite() => if x > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        Value::Double(x) => print::double(x),
        Value::Int32(x) => x.to_string(),
        Value::Int64(x) => x.to_string(),
        Value::Decimal128(bytes) => Decimal::from_bytes(bytes).to_string(),
        Value::String(text) => text.to_owned(),
        Value::ObjectId(id) => print::hex(&id, false),
        Value::Bool(b) => b.to_string(),
        _ => return None,
    })
}

fn object_id(text: &str) -> Result<Owned> {
    let wrong = |reason: String| {
        failure(format!(
            "Failed to parse objectId '{text}' in $convert with no onError value: {reason}"
        ))
    };
    if text.len() != 24 {
        return Err(wrong(format!(
            "Invalid string length for parsing to OID, expected 24 but found {}",
            text.len()
        )));
    }
    let mut id = [0u8; 12];
    for (index, c) in text.chars().enumerate() {
        let digit = c
            .to_digit(16)
            .ok_or_else(|| wrong(format!("Invalid character found in hex string: {c}")))?;
        if let Some(byte) = id.get_mut(index / 2) {
            *byte = *byte << 4 | digit as u8;
        }
    }
    Ok(Owned::ObjectId(id))
}

fn unparsed(text: &str, reason: &str) -> Fault {
    failure(format!(
        "Failed to parse number '{text}' in $convert with no onError value: {reason}"
    ))
}

fn check_hexadecimal(text: &str) -> Result<()> {
    if text.starts_with("0x") {
        return Err(failure(format!(
            "Illegal hexadecimal input in $convert with no onError value: {text}"
        )));
    }
    Ok(())
}

fn integer_of_text(text: &str, kind: Kind) -> Result<Owned> {
    check_hexadecimal(text)?;
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() {
        return Err(unparsed(text, "No digits"));
    }
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    if rest == digits {
        return Err(unparsed(text, "Did not consume whole string."));
    }
    // What is behind the number is looked at when it is read.
    let number = text[..text.len() - rest.len()]
        .parse::<i64>()
        .map_err(|_| unparsed(text, "Overflow"))?;
    if !rest.is_empty() {
        return Err(unparsed(text, "Did not consume whole string."));
    }
    if kind == Kind::Int64 {
        return Ok(Owned::Int64(number));
    }
    i32::try_from(number)
        .map(Owned::Int32)
        .map_err(|_| unparsed(text, "Overflow"))
}

/// Whether it is NaN with a mark of its own, as `nan(1)`.
fn is_marked_nan(text: &str) -> bool {
    let Some((name, mark)) = text.split_once('(') else {
        return false;
    };
    let name = name.strip_prefix(['+', '-']).unwrap_or(name);
    let is_mark = |mark: &str| {
        mark.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    name.eq_ignore_ascii_case("nan") && mark.strip_suffix(')').is_some_and(is_mark)
}

fn double_of_text(text: &str) -> Result<Owned> {
    check_hexadecimal(text)?;
    if text.is_empty() {
        return Err(unparsed(text, "Empty string"));
    }
    if text.starts_with(|c: char| c.is_ascii_whitespace() || c == '\x0b') {
        return Err(unparsed(text, "Leading whitespace"));
    }
    if let Some(read) = hexadecimal::read(text) {
        return read
            .map(Owned::Double)
            .ok_or_else(|| unparsed(text, "Out of range"));
    }
    if is_marked_nan(text) {
        return Ok(Owned::Double(f64::NAN));
    }
    // What is behind the number is looked at when it is read.
    if is_out_of_range(leading_number(text)) {
        return Err(unparsed(text, "Out of range"));
    }
    text.parse().map(Owned::Double).map_err(|_| {
        unparsed(
            text,
            match starts_with_double(text) {
                true => "Did not consume whole string.",
                false => "Did not consume any digits",
            },
        )
    })
}

/// The decimal number that the text begins with, up to all of it; nothing where it begins with none.
fn leading_number(text: &str) -> &str {
    let digits = |from: usize| {
        let rest = text.get(from..).unwrap_or_default();
        rest.bytes().take_while(u8::is_ascii_digit).count()
    };
    let is_at = |at: usize, any: &[char]| text.get(at..).is_some_and(|rest| rest.starts_with(any));
    let start = usize::from(is_at(0, &['+', '-']));
    let whole = digits(start);
    let mut end = start + whole;
    if is_at(end, &['.']) {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return "";
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return "";
    }
    if is_at(end, &['e', 'E']) {
        let power = end + 1 + usize::from(is_at(end + 1, &['+', '-']));
        if digits(power) > 0 {
            end = power + digits(power);
        }
    }
    text.get(..end).unwrap_or_default()
}

/// Whether a number's text is beyond all doubles, or below the normal ones and not zero.
fn is_out_of_range(number: &str) -> bool {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    let is_zero = !mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    number
        .parse::<f64>()
        .is_ok_and(|x| x.is_infinite() || (x.abs() < f64::MIN_POSITIVE && !is_zero))
}

/// Whether a number comes first, whatever is behind it.
fn starts_with_double(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.strip_prefix('.').unwrap_or(unsigned);
    let name = unsigned.get(..3).unwrap_or_default();
    digits.starts_with(|c: char| c.is_ascii_digit())
        || name.eq_ignore_ascii_case("inf")
        || name.eq_ignore_ascii_case("nan")
}

fn decimal_of_text(text: &str) -> Result<Owned> {
    check_hexadecimal(text)?;
    if text.is_empty() {
        return Err(unparsed(text, "Empty string"));
    }
    match Decimal::parse(text) {
        Ok(x) => Ok(Owned::Decimal128(x.to_bytes())),
        Err(ParseError::Overflow) => Err(unparsed(text, "Conversion from string to decimal would overflow")),
        Err(ParseError::Underflow) => Err(unparsed(
            text,
            "Conversion from string to decimal would underflow",
        )),
        Err(ParseError::Syntax) => Err(unparsed(text, "Failed to parse string to decimal")),
    }
}
