//! MongoDB's order of values: one comparator for matching, sorting, grouping and updating.

use std::cmp::Ordering;

use super::doc::{Doc, Element};
use super::number;
use super::value::{Kind, Value};

/// The ranks of types in the order of types. Types that share one compare by value. The numbers leave room
/// on both sides: index keys start with them.
pub(crate) mod rank {
    pub(crate) const MIN_KEY: u8 = 10;
    pub(crate) const UNDEFINED: u8 = 15;
    pub(crate) const NULL: u8 = 20;
    pub(crate) const NUMBER: u8 = 30;
    pub(crate) const STRING: u8 = 60;
    pub(crate) const DOCUMENT: u8 = 70;
    pub(crate) const ARRAY: u8 = 80;
    pub(crate) const BINARY: u8 = 90;
    pub(crate) const OBJECT_ID: u8 = 100;
    pub(crate) const BOOL: u8 = 110;
    pub(crate) const DATE_TIME: u8 = 120;
    pub(crate) const TIMESTAMP: u8 = 130;
    pub(crate) const REGEX: u8 = 140;
    pub(crate) const DB_POINTER: u8 = 150;
    pub(crate) const CODE: u8 = 160;
    pub(crate) const CODE_WITH_SCOPE: u8 = 170;
    pub(crate) const MAX_KEY: u8 = 240;
}

/// Compares two values of any types as MongoDB sorts them. Never allocates.
pub(crate) fn compare(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::String(a) | Value::Symbol(a), Value::String(b) | Value::Symbol(b)) => a.cmp(b),
        (Value::Document(a), Value::Document(b)) => compare_documents(*a, *b),
        (Value::Array(a), Value::Array(b)) => compare_arrays(*a, *b),
        (
            Value::Binary {
                subtype: subtype_a,
                bytes: bytes_a,
            },
            Value::Binary {
                subtype: subtype_b,
                bytes: bytes_b,
            },
        ) => binary_length(*subtype_a, bytes_a)
            .cmp(&binary_length(*subtype_b, bytes_b))
            .then_with(|| subtype_a.cmp(subtype_b))
            .then_with(|| bytes_a.cmp(bytes_b)),
        (Value::ObjectId(a), Value::ObjectId(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (
            Value::Timestamp {
                time: time_a,
                increment: increment_a,
            },
            Value::Timestamp {
                time: time_b,
                increment: increment_b,
            },
        ) => (time_a, increment_a).cmp(&(time_b, increment_b)),
        (
            Value::Regex {
                pattern: pattern_a,
                options: options_a,
            },
            Value::Regex {
                pattern: pattern_b,
                options: options_b,
            },
        ) => (pattern_a, options_a).cmp(&(pattern_b, options_b)),
        (
            Value::DbPointer {
                namespace: namespace_a,
                id: id_a,
            },
            Value::DbPointer {
                namespace: namespace_b,
                id: id_b,
            },
        ) => (namespace_a.len(), namespace_a, id_a).cmp(&(namespace_b.len(), namespace_b, id_b)),
        (Value::Code(a), Value::Code(b)) => a.cmp(b),
        (
            Value::CodeWithScope {
                code: code_a,
                scope: scope_a,
            },
            Value::CodeWithScope {
                code: code_b,
                scope: scope_b,
            },
        ) => code_a
            .cmp(code_b)
            .then_with(|| compare_documents(*scope_a, *scope_b)),
        (a, b) => {
            let (left, right) = (type_rank(a), type_rank(b));
            if left == rank::NUMBER && right == rank::NUMBER {
                number::compare(a, b)
            } else {
                left.cmp(&right)
            }
        }
    }
}

/// The same order with strings compared as `strings` says, those inside of documents and arrays too.
pub(crate) fn compare_by(a: &Value<'_>, b: &Value<'_>, strings: &dyn Fn(&str, &str) -> Ordering) -> Ordering {
    match (a, b) {
        (Value::String(a) | Value::Symbol(a), Value::String(b) | Value::Symbol(b)) => strings(a, b),
        (Value::Document(a), Value::Document(b)) if !same_bytes(*a, *b) => {
            compare_elements(*a, *b, by_kind_and_name, |a, b| compare_by(a, b, strings))
        }
        (Value::Array(a), Value::Array(b)) if !same_bytes(*a, *b) => {
            compare_elements(*a, *b, |_, _| Ordering::Equal, |a, b| compare_by(a, b, strings))
        }
        (a, b) => compare(a, b),
    }
}

/// The rank of the value's type in the order of types: equal ranks are compared by value.
pub(crate) fn type_rank(value: &Value<'_>) -> u8 {
    kind_rank(value.kind())
}

/// The rank of a type in the order of types.
pub(crate) fn kind_rank(kind: Kind) -> u8 {
    match kind {
        Kind::MinKey => rank::MIN_KEY,
        Kind::Undefined => rank::UNDEFINED,
        Kind::Null => rank::NULL,
        Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128 => rank::NUMBER,
        Kind::String | Kind::Symbol => rank::STRING,
        Kind::Document => rank::DOCUMENT,
        Kind::Array => rank::ARRAY,
        Kind::Binary => rank::BINARY,
        Kind::ObjectId => rank::OBJECT_ID,
        Kind::Bool => rank::BOOL,
        Kind::DateTime => rank::DATE_TIME,
        Kind::Timestamp => rank::TIMESTAMP,
        Kind::Regex => rank::REGEX,
        Kind::DbPointer => rank::DB_POINTER,
        Kind::Code => rank::CODE,
        Kind::CodeWithScope => rank::CODE_WITH_SCOPE,
        Kind::MaxKey => rank::MAX_KEY,
    }
}

/// Whether MongoDB takes the two for the same value (1 and 1.0 are).
pub(crate) fn equal(a: &Value<'_>, b: &Value<'_>) -> bool {
    compare(a, b) == Ordering::Equal
}

/// The length that binary data is ordered by: subtype 2 counts its inner length prefix.
pub(crate) fn binary_length(subtype: u8, bytes: &[u8]) -> u32 {
    bytes.len() as u32 + if subtype == 2 { 4 } else { 0 }
}

/// Documents compare element by element: type first, then name, then value; a prefix comes first.
pub(crate) fn compare_documents(a: Doc<'_>, b: Doc<'_>) -> Ordering {
    if same_bytes(a, b) {
        return Ordering::Equal;
    }
    compare_elements(a, b, by_kind_and_name, compare)
}

fn by_kind_and_name(a: &Element<'_>, b: &Element<'_>) -> Ordering {
    kind_rank(a.kind())
        .cmp(&kind_rank(b.kind()))
        .then_with(|| a.name().cmp(b.name()))
}

fn compare_arrays(a: Doc<'_>, b: Doc<'_>) -> Ordering {
    if same_bytes(a, b) {
        return Ordering::Equal;
    }
    compare_elements(a, b, |_, _| Ordering::Equal, compare)
}

fn same_bytes(a: Doc<'_>, b: Doc<'_>) -> bool {
    matches!((a, b), (Doc::Raw(a), Doc::Raw(b)) if a == b)
}

fn compare_elements(
    a: Doc<'_>,
    b: Doc<'_>,
    before_values: impl Fn(&Element<'_>, &Element<'_>) -> Ordering,
    values: impl Fn(&Value<'_>, &Value<'_>) -> Ordering,
) -> Ordering {
    let (mut left, mut right) = (a.elements(), b.elements());
    loop {
        let (a, b) = match (left.next(), right.next()) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return a.is_some().cmp(&b.is_some()),
        };
        let order = before_values(&a, &b).then_with(|| values(&a.value(), &b.value()));
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::owned::Owned;
    use super::super::sample::Sample;
    use super::*;

    fn text(text: &str) -> Owned {
        Owned::String(text.into())
    }

    fn document(name: &str, value: Owned) -> Owned {
        Owned::Document(vec![(name.into(), value)])
    }

    fn binary(subtype: u8, bytes: &[u8]) -> Owned {
        Owned::Binary {
            subtype,
            bytes: bytes.to_vec(),
        }
    }

    #[test]
    fn types_come_in_mongodbs_order() {
        let ascending = [
            Owned::MinKey,
            Owned::Undefined,
            Owned::Null,
            Owned::Double(f64::NAN),
            Owned::Int32(-1),
            Owned::Double(0.5),
            text(""),
            text("a"),
            text("a\0"),
            text("a\0b"),
            text("a\u{1}"),
            Owned::Document(vec![]),
            document("b", Owned::Int32(1)),
            Owned::Document(vec![("b".into(), Owned::Int32(1)), ("a".into(), Owned::Null)]),
            document("a", text("x")),
            Owned::Array(vec![]),
            Owned::Array(vec![Owned::Int32(1)]),
            Owned::Array(vec![Owned::Int32(1), Owned::MinKey]),
            Owned::Array(vec![Owned::Int32(2)]),
            binary(0, b""),
            binary(0, b"zz"),
            binary(5, b"aa"),
            binary(0, b"zzzzz"),
            binary(2, b"a"),
            binary(0, b"zzzzzz"),
            Owned::ObjectId([0; 12]),
            Owned::Bool(false),
            Owned::Bool(true),
            Owned::DateTime(-1),
            Owned::DateTime(0),
            Owned::Timestamp {
                time: 1,
                increment: u32::MAX,
            },
            Owned::Timestamp {
                time: u32::MAX,
                increment: 0,
            },
            Owned::regex("a", "i"),
            Owned::Code("a".into()),
            Owned::CodeWithScope(Box::new(("a".into(), vec![]))),
            Owned::MaxKey,
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(&a.as_value(), &b.as_value()), i.cmp(&j), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn the_order_does_not_depend_on_how_a_value_is_held() {
        let mut sample = Sample::new(7);
        for _ in 0..2000 {
            let (a, b) = (sample.value(3), sample.value(3));
            let (mut raw_a, mut raw_b) = (Vec::new(), Vec::new());
            Doc::Items(std::slice::from_ref(&a)).write(&mut raw_a);
            Doc::Items(std::slice::from_ref(&b)).write(&mut raw_b);
            let order = compare(&a.as_value(), &b.as_value());
            let raw = compare_arrays(Doc::Raw(&raw_a), Doc::Raw(&raw_b));
            assert_eq!(order, raw, "{a:?} {b:?}");
            assert_eq!(
                order.reverse(),
                compare(&b.as_value(), &a.as_value()),
                "{a:?} {b:?}"
            );
        }
    }
}
