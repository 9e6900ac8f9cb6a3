//! Components as text, for `explain`. Numbers lose their type, and what is rare is given in hexadecimal.

use super::super::document::Value;
use super::super::document::compare::rank;
use super::super::document::decimal::{DIGITS, Decimal, MIN_EXPONENT};
use super::{NAN, NEGATIVE, POSITIVE, complement, length, unescape};

/// An ascending component's value; of a string under a collation its sort key.
pub(crate) fn component(bytes: &[u8], is_collated: bool) -> String {
    match bytes {
        [rank::STRING, body @ .., 0] if is_collated => {
            format!("CollationKey(0x{})", hexadecimal(&unescape(body)))
        }
        _ => value(bytes).unwrap_or_else(|| hexadecimal(bytes)),
    }
}

/// The text that a range of strings starts or ends with.
pub(crate) fn prefix(bytes: &[u8]) -> String {
    match bytes.split_first() {
        Some((&rank::STRING, body)) => format!("\"{}\"", String::from_utf8_lossy(&unescape(body))),
        Some((&rank::REGEX, body)) => {
            let end = body.iter().position(|byte| *byte < 2).unwrap_or(body.len());
            format!("/{}/", String::from_utf8_lossy(&body[..end]))
        }
        _ => hexadecimal(bytes),
    }
}

/// The value at the edge before all components that start with this byte, and whether it is inside: for the
/// edge below a range (`low`) or above it.
///
/// A rank that has a last value ends with it inside, the others end before the next rank's first value.
pub(crate) fn rank_edge(first: u8, low: bool) -> (bool, String) {
    /// First bytes, the first value at or after them, and the last value before them if there is one.
    const EDGES: [(u8, &str, Option<&str>); 16] = [
        (rank::UNDEFINED, "undefined", Some("MinKey")),
        (rank::NULL, "null", Some("undefined")),
        (NAN, "nan.0", Some("null")),
        (NEGATIVE, "-inf.0", None),
        (rank::STRING, "\"\"", Some("inf.0")),
        (rank::DOCUMENT, "{}", None),
        (rank::ARRAY, "[]", None),
        (rank::BINARY, "BinData(0, )", None),
        (rank::OBJECT_ID, "ObjectId('000000000000000000000000')", None),
        (rank::BOOL, "false", Some("ObjectId('ffffffffffffffffffffffff')")),
        (rank::DATE_TIME, "new Date(-9223372036854775808)", Some("true")),
        (
            rank::TIMESTAMP,
            "Timestamp(0, 0)",
            Some("new Date(9223372036854775807)"),
        ),
        (rank::REGEX, "//", Some("Timestamp(4294967295, 4294967295)")),
        (rank::DB_POINTER, "DBRef('',000000000000000000000000)", None),
        (rank::CODE, "", None),
        (rank::MAX_KEY, "MaxKey", None),
    ];
    let Some((start, next, last)) = EDGES.iter().find(|(start, _, _)| *start >= first) else {
        return (true, "MaxKey".to_owned());
    };
    match last {
        Some(last) if !low => (true, (*last).to_owned()),
        // An edge that is no rank's start is another's end.
        Some(last) if *start != first => (false, (*last).to_owned()),
        _ => (low, (*next).to_owned()),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn value(bytes: &[u8]) -> Option<String> {
    let (&first, body) = bytes.split_first()?;
    let text = match first {
        rank::MIN_KEY => "MinKey".to_owned(),
        rank::UNDEFINED => "undefined".to_owned(),
        rank::NULL => "null".to_owned(),
        rank::MAX_KEY => "MaxKey".to_owned(),
        NAN => "nan.0".to_owned(),
        NEGATIVE => {
            let mut body = body.to_vec();
            complement(&mut body);
            number(&body, true)?
        }
        POSITIVE => number(body, false)?,
        rank::STRING => {
            let text = unescape(body.strip_suffix(&[0])?);
            Value::String(std::str::from_utf8(&text).ok()?).to_string()
        }
        rank::OBJECT_ID => Value::ObjectId(body.try_into().ok()?).to_string(),
        rank::BOOL => "false".to_owned(),
        first if first == rank::BOOL + 1 => "true".to_owned(),
        rank::DATE_TIME => Value::DateTime(i64::from_be_bytes(body.try_into().ok()?) ^ i64::MIN).to_string(),
        rank::TIMESTAMP => Value::Timestamp {
            time: u32::from_be_bytes(body.get(..4)?.try_into().ok()?),
            increment: u32::from_be_bytes(body.get(4..)?.try_into().ok()?),
        }
        .to_string(),
        rank::REGEX => {
            let (pattern, options) = std::str::from_utf8(body)
                .ok()?
                .strip_suffix('\0')?
                .split_once('\0')?;
            format!("/{pattern}/{options}")
        }
        rank::DOCUMENT => {
            let mut fields = Vec::new();
            let mut rest = body;
            while let [_, inside @ ..] = rest
                && !inside.is_empty()
            {
                let end = inside.iter().position(|byte| *byte == 0)?;
                let name = std::str::from_utf8(&inside[..end]).ok()?;
                let (own, behind) = first_of(&inside[end + 1..])?;
                fields.push(format!("{name}: {own}"));
                rest = behind;
            }
            match fields.is_empty() {
                true => "{}".to_owned(),
                false => format!("{{ {} }}", fields.join(", ")),
            }
        }
        rank::ARRAY => {
            let mut items = Vec::new();
            let mut rest = body;
            while !matches!(rest, [0]) {
                let (own, behind) = first_of(rest)?;
                items.push(own);
                rest = behind;
            }
            match items.is_empty() {
                true => "[]".to_owned(),
                false => format!("[ {} ]", items.join(", ")),
            }
        }
        _ => return None,
    };
    Some(text)
}

/// The value that the bytes begin with, and what is behind it.
fn first_of(bytes: &[u8]) -> Option<(String, &[u8])> {
    let (own, behind) = bytes.split_at_checked(length(bytes, false)?)?;
    Some((value(own)?, behind))
}

fn number(body: &[u8], negative: bool) -> Option<String> {
    let magnitude = f64::from_bits(u64::from_be_bytes(body.get(..8)?.try_into().ok()?));
    if body.get(8) == Some(&0) {
        let signed = if negative { -magnitude } else { magnitude };
        return Some(if signed.fract() == 0.0 && magnitude < 9.0e15 {
            Value::Int64(signed as i64).to_string()
        } else {
            Value::Double(signed).to_string()
        });
    }
    let exponent = u16::from_be_bytes(body.get(9..11)?.try_into().ok()?);
    let mut coefficient = [0; 16];
    coefficient[1..].copy_from_slice(body.get(11..26)?);
    let mut coefficient = u128::from_be_bytes(coefficient);
    let mut exponent = i32::from(exponent) + MIN_EXPONENT - DIGITS as i32;
    while exponent < 0 && coefficient % 10 == 0 && coefficient != 0 {
        coefficient /= 10;
        exponent += 1;
    }
    let decimal = Decimal::Finite {
        negative,
        coefficient,
        exponent,
    };
    Some(decimal.to_string())
}
