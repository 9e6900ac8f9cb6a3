//! The order of values, as MongoDB sorts them: for the elements of arrays, of which the least counts, or the greatest.

use std::cmp::Ordering;

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::class::Class;

/// The order of two values. Malformed ones are equal: who reads them says so.
pub(super) fn compare(left: RawBsonRef<'_>, right: RawBsonRef<'_>) -> Ordering {
    let class = Class::of(left);
    class.cmp(&Class::of(right)).then_with(|| match (left, right) {
        (
            RawBsonRef::String(left) | RawBsonRef::Symbol(left),
            RawBsonRef::String(right) | RawBsonRef::Symbol(right),
        ) => left.as_bytes().cmp(right.as_bytes()),
        (RawBsonRef::Document(left), RawBsonRef::Document(right)) => documents(left, right, true),
        (RawBsonRef::Array(left), RawBsonRef::Array(right)) => {
            match (bytes(left.as_bytes()), bytes(right.as_bytes())) {
                (Some(left), Some(right)) => documents(left, right, false),
                _ => Ordering::Equal,
            }
        }
        (RawBsonRef::Binary(left), RawBsonRef::Binary(right)) => {
            let key = |binary: bson::raw::RawBinaryRef<'_>| (binary.bytes.len(), u8::from(binary.subtype));
            key(left)
                .cmp(&key(right))
                .then_with(|| left.bytes.cmp(right.bytes))
        }
        (RawBsonRef::ObjectId(left), RawBsonRef::ObjectId(right)) => left.bytes().cmp(&right.bytes()),
        (RawBsonRef::Boolean(left), RawBsonRef::Boolean(right)) => left.cmp(&right),
        (RawBsonRef::DateTime(left), RawBsonRef::DateTime(right)) => left.cmp(&right),
        (RawBsonRef::Timestamp(left), RawBsonRef::Timestamp(right)) => {
            (left.time, left.increment).cmp(&(right.time, right.increment))
        }
        (RawBsonRef::RegularExpression(left), RawBsonRef::RegularExpression(right)) => {
            (left.pattern, left.options).cmp(&(right.pattern, right.options))
        }
        (RawBsonRef::JavaScriptCode(left), RawBsonRef::JavaScriptCode(right)) => left.cmp(right),
        (RawBsonRef::JavaScriptCodeWithScope(left), RawBsonRef::JavaScriptCodeWithScope(right)) => left
            .code
            .cmp(right.code)
            .then_with(|| documents(left.scope, right.scope, true)),
        (RawBsonRef::DbPointer(_), RawBsonRef::DbPointer(_)) => {
            lone(left).as_bytes().cmp(lone(right).as_bytes())
        }
        (left, right) if class == Class::Number => numbers(left, right),
        _ => Ordering::Equal,
    })
}

/// The order of two numbers, whatever their types; none where one is no number.
pub(crate) fn compare_numbers(left: RawBsonRef<'_>, right: RawBsonRef<'_>) -> Option<Ordering> {
    let is_number = |value| Class::of(value) == Class::Number && !is_nan_ref(value);
    (is_number(left) && is_number(right)).then(|| numbers(left, right))
}

pub(super) fn is_nan(value: &RawBson) -> bool {
    is_nan_ref(value.as_raw_bson_ref())
}

fn is_nan_ref(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::Double(value) => value.is_nan(),
        // The combination field of decimal128 that means NaN is in the highest byte.
        RawBsonRef::Decimal128(value) => value.bytes()[15] & 0x7C == 0x7C,
        _ => false,
    }
}

/// Element by element: by class, by name, by value; what is shorter is less.
fn documents(left: &RawDocument, right: &RawDocument, named: bool) -> Ordering {
    let (mut left, mut right) = (left.iter(), right.iter());
    loop {
        let ((left_name, left), (right_name, right)) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(Ok(left)), Some(Ok(right))) => (left, right),
            _ => return Ordering::Equal,
        };
        let names = match named {
            true => left_name.as_str().cmp(right_name.as_str()),
            false => Ordering::Equal,
        };
        let order = Class::of(left).cmp(&Class::of(right)).then(names);
        match order.then_with(|| compare(left, right)) {
            Ordering::Equal => {}
            order => return order,
        }
    }
}

fn numbers(left: RawBsonRef<'_>, right: RawBsonRef<'_>) -> Ordering {
    match (is_nan_ref(left), is_nan_ref(right)) {
        (true, right) => return if right { Ordering::Equal } else { Ordering::Less },
        (false, true) => return Ordering::Greater,
        (false, false) => {}
    }
    if let (Some(left), Some(right)) = (whole(left), whole(right)) {
        return left.cmp(&right);
    }
    if let (RawBsonRef::Double(left), RawBsonRef::Double(right)) = (left, right) {
        return left.partial_cmp(&right).unwrap_or(Ordering::Equal);
    }
    Exact::of(left).cmp(&Exact::of(right))
}

fn whole(value: RawBsonRef<'_>) -> Option<i64> {
    match value {
        RawBsonRef::Int32(value) => Some(value.into()),
        RawBsonRef::Int64(value) => Some(value),
        _ => None,
    }
}

/// A number as its decimal digits, which every number of the four types has finitely many of.
#[derive(Debug, PartialEq, Eq)]
struct Exact {
    negative: bool,
    /// How many digits stand before the point; below all for zero, above all for infinity.
    magnitude: i64,
    /// Without leading and trailing zeros.
    digits: Vec<u8>,
}

impl Exact {
    fn of(value: RawBsonRef<'_>) -> Exact {
        let text = match value {
            RawBsonRef::Int32(value) => value.to_string(),
            RawBsonRef::Int64(value) => value.to_string(),
            // As many places as the least double has.
            RawBsonRef::Double(value) => format!("{value:.1074}"),
            RawBsonRef::Decimal128(value) => value.to_string(),
            _ => String::new(),
        };
        Exact::read(&text)
    }

    fn read(text: &str) -> Exact {
        let (negative, text) = match text.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, text),
        };
        if text.to_ascii_lowercase().starts_with("inf") {
            return Exact {
                negative,
                magnitude: i64::MAX,
                digits: Vec::new(),
            };
        }
        let (text, exponent) = match text.split_once(['E', 'e']) {
            Some((text, exponent)) => (text, exponent.trim_start_matches('+').parse().unwrap_or(0)),
            None => (text, 0_i64),
        };
        let (before, behind) = text.split_once('.').unwrap_or((text, ""));
        let all = before.bytes().chain(behind.bytes());
        let mut digits: Vec<u8> = all.skip_while(|digit| *digit == b'0').collect();
        let point = before.len() as i64;
        let skipped = (before.len() + behind.len() - digits.len()) as i64;
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        match digits.is_empty() {
            true => Exact {
                negative: false,
                magnitude: i64::MIN,
                digits,
            },
            false => Exact {
                negative,
                magnitude: point - skipped + exponent,
                digits,
            },
        }
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Exact) -> Ordering {
        let sizes = || (self.magnitude, &self.digits).cmp(&(other.magnitude, &other.digits));
        match (self.negative, other.negative) {
            (false, false) => sizes(),
            (true, true) => sizes().reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Exact) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn bytes(array: &[u8]) -> Option<&RawDocument> {
    RawDocument::from_bytes(array).ok()
}

fn lone(value: RawBsonRef<'_>) -> RawDocumentBuf {
    let mut document = RawDocumentBuf::new();
    document.append(bson::cstr!(""), RawBson::from(value));
    document
}
