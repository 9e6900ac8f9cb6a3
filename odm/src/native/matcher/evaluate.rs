//! Deciding whether a document matches, without allocating.

use std::cmp::Ordering;

use super::super::aggregate::expression::Scope;
use super::super::collation::Collation;
use super::super::document::decimal::Decimal;
use super::super::document::number::is_nan;
use super::super::document::{Doc, Kind, Owned, Value, compare};
use super::super::fault::{Fault, Result, code};
use super::Context;
use super::ast::{BitRule, BitTest, Node, Predicate, Segment, Text};
use super::integer;
use super::scan;

/// What a filter is asked about.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    /// A document: paths start at its fields.
    Document(Doc<'a>),
    /// A value: the first segment of each path stands for it.
    Value(Value<'a>),
}

/// `None`: no match. `Some(position)`: a match, with the array index it was found at.
pub(super) type Hit = Option<Option<usize>>;

/// Whether the subject matches.
pub(super) fn node(node: &Node, subject: Subject<'_>, context: &Context) -> Result<bool> {
    Ok(match node {
        Node::And(nodes) => {
            for child in nodes {
                if !self::node(child, subject, context)? {
                    return Ok(false);
                }
            }
            true
        }
        Node::Or(nodes) => return any(nodes, subject, context),
        Node::Nor(nodes) => !any(nodes, subject, context)?,
        Node::Always => true,
        Node::Never => false,
        Node::Field { path, predicate } => field(subject, path.segments(), predicate).is_some(),
        Node::Near(near) => match subject {
            Subject::Document(doc) => near.hit(doc).is_some(),
            Subject::Value(_) => false,
        },
        Node::Expr(expression) => {
            let Subject::Document(root) = subject else {
                return Ok(false);
            };
            let value = expression.evaluate(&Scope {
                variables: context.variables.clone(),
                collation: context.collation.clone(),
                ..Scope::new(root, context.now)
            })?;
            value.is_some_and(|value| truthy(&value.as_value()))
        }
        Node::Schema(schema) => {
            let value = match subject {
                Subject::Document(doc) => Value::Document(doc),
                Subject::Value(value) => value,
            };
            schema.accepts(&value)
        }
        Node::Sample(rate) => sample() < *rate,
        Node::Text(text) => return text_node(text, subject),
    })
}

fn any(nodes: &[Node], subject: Subject<'_>, context: &Context) -> Result<bool> {
    for child in nodes {
        if node(child, subject, context)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn text_node(text: &Text, subject: Subject<'_>) -> Result<bool> {
    match (&text.search, subject) {
        (Some(search), Subject::Document(doc)) => search.matches(doc),
        _ => Err(Fault::new(
            code::INDEX_NOT_FOUND,
            "text index required for $text query",
        )),
    }
}

/// A number from 0 up to 1, another each time.
fn sample() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    // 53 bits: what a double holds.
    (RandomState::new().hash_one(0u8) >> 11) as f64 / (1u64 << 53) as f64
}

/// Whether MongoDB takes the value for true: not false, zero, null or undefined.
pub(crate) fn truthy(value: &Value<'_>) -> bool {
    match value {
        Value::Bool(b) => *b,
        Value::Int32(x) => *x != 0,
        Value::Int64(x) => *x != 0,
        Value::Double(x) => *x != 0.0,
        Value::Decimal128(bytes) => !Decimal::from_bytes(*bytes).is_zero(),
        Value::Null | Value::Undefined => false,
        _ => true,
    }
}

/// The predicate on what a path reaches from the subject.
pub(super) fn field(subject: Subject<'_>, segments: &[Segment], predicate: &Predicate) -> Hit {
    match predicate {
        Predicate::Not(inner) => complement(field(subject, segments, inner)),
        Predicate::And(predicates) => all(predicates, |inner| field(subject, segments, inner)),
        leaf => match subject {
            Subject::Document(doc) => in_document(doc, segments, leaf),
            Subject::Value(value) => at_value(value, segments.get(1..).unwrap_or(&[]), leaf),
        },
    }
}

/// The predicate on what the rest of a path reaches from the value of its first segment (`None`: missing).
pub(super) fn from_value(value: Option<Value<'_>>, rest: &[Segment], predicate: &Predicate) -> Hit {
    match predicate {
        Predicate::Not(inner) => complement(from_value(value, rest, inner)),
        Predicate::And(predicates) => all(predicates, |inner| from_value(value, rest, inner)),
        leaf => match value {
            Some(value) => at_value(value, rest, leaf),
            None => test(None, leaf).then_some(None),
        },
    }
}

fn complement(hit: Hit) -> Hit {
    match hit {
        None => Some(None),
        Some(_) => None,
    }
}

fn all(predicates: &[Predicate], mut each: impl FnMut(&Predicate) -> Hit) -> Hit {
    let mut position = None;
    for predicate in predicates {
        position = each(predicate)?.or(position);
    }
    Some(position)
}

fn in_document(doc: Doc<'_>, segments: &[Segment], predicate: &Predicate) -> Hit {
    let (first, rest) = segments.split_first()?;
    match scan::field(doc, first) {
        Some(value) => at_value(value, rest, predicate),
        None => test(None, predicate).then_some(None),
    }
}

fn at_value(value: Value<'_>, rest: &[Segment], predicate: &Predicate) -> Hit {
    match value {
        Value::Array(items) => in_array(items, rest, predicate),
        _ if rest.is_empty() => test(Some(&value), predicate).then_some(None),
        Value::Document(doc) => in_document(doc, rest, predicate),
        _ => test(None, predicate).then_some(None),
    }
}

/// The array is traversed for one segment: its documents continue the path, and the element that the next
/// segment indexes continues it after that segment.
fn in_array(items: Doc<'_>, rest: &[Segment], predicate: &Predicate) -> Hit {
    let Some((next, after)) = rest.split_first() else {
        return at_end(items, predicate);
    };
    // An empty name at the end stands for the elements themselves.
    if next.name.is_empty() && after.is_empty() {
        return at_end(items, predicate);
    }
    for (position, value) in scan::values(items).enumerate() {
        let indexed = next.index == Some(position);
        if let Value::Document(doc) = value {
            if in_document(doc, rest, predicate).is_some() {
                return Some(Some(position));
            }
            if indexed && !after.is_empty() {
                let hit = in_document(doc, after, predicate);
                if hit.is_some() {
                    return hit;
                }
            }
        }
        if indexed {
            if after.is_empty() {
                // The index is the path's end: the element itself, even when it is an array. It is found by its name,
                // and in no array.
                match (value, predicate) {
                    (Value::Array(inner), Predicate::ElementObject(_) | Predicate::ElementValue(_)) => {
                        if let Some(at) = element(inner, predicate) {
                            return Some(Some(at));
                        }
                    }
                    _ if test(Some(&value), predicate) => return Some(None),
                    _ => {}
                }
            } else if let Value::Array(inner) = value {
                let hit = in_array(inner, after, predicate);
                if hit.is_some() {
                    return hit;
                }
            }
        }
    }
    None
}

/// A path that ends at an array: its elements, then the array itself.
fn at_end(items: Doc<'_>, predicate: &Predicate) -> Hit {
    match predicate {
        Predicate::Size(_) => {
            return test(Some(&Value::Array(items)), predicate).then_some(None);
        }
        Predicate::ElementObject(_) | Predicate::ElementValue(_) => {
            return element(items, predicate).map(Some);
        }
        Predicate::Exists => return Some((!items.is_empty()).then_some(0)),
        _ => {}
    }
    for (position, value) in scan::values(items).enumerate() {
        if test(Some(&value), predicate) {
            return Some(Some(position));
        }
    }
    test(Some(&Value::Array(items)), predicate).then_some(None)
}

/// The first element that satisfies an `$elemMatch`.
pub(super) fn element(items: Doc<'_>, predicate: &Predicate) -> Option<usize> {
    match predicate {
        Predicate::ElementObject(inner) => scan::values(items).position(|value| match value {
            Value::Document(doc) | Value::Array(doc) => plain_node(inner, doc),
            _ => false,
        }),
        Predicate::ElementValue(predicates) => scan::values(items)
            .position(|value| predicates.iter().all(|predicate| test(Some(&value), predicate))),
        _ => None,
    }
}

/// A node inside `$elemMatch`, where the parser admits nothing that can fail.
fn plain_node(node: &Node, doc: Doc<'_>) -> bool {
    self::node(node, Subject::Document(doc), &Context::default()).unwrap_or(false)
}

/// Whether one value (`None`: a missing one) satisfies the predicate by itself, arrays not entered.
pub(super) fn test(value: Option<&Value<'_>>, predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Equal(operand) => comparison(value, operand, |order| order == Ordering::Equal, true),
        Predicate::Less(operand) => comparison(value, operand, |order| order == Ordering::Less, false),
        Predicate::LessOrEqual(operand) => {
            comparison(value, operand, |order| order != Ordering::Greater, true)
        }
        Predicate::Greater(operand) => comparison(value, operand, |order| order == Ordering::Greater, false),
        Predicate::GreaterOrEqual(operand) => {
            comparison(value, operand, |order| order != Ordering::Less, true)
        }
        Predicate::In { values, patterns } => {
            let sought = match value {
                None | Some(Value::Undefined) => &Value::Null,
                Some(value) => value,
            };
            values
                .binary_search_by(|candidate| match (candidate, sought) {
                    (Owned::String(candidate), Value::String(sought)) => candidate.as_str().cmp(sought),
                    _ => compare(&candidate.as_value(), sought),
                })
                .is_ok()
                || value.is_some_and(|value| patterns.iter().any(|pattern| pattern.accepts(value)))
        }
        Predicate::Collated { collation, inner } => collated(value, inner, collation),
        Predicate::Exists => value.is_some(),
        Predicate::Type(types) => value.is_some_and(|value| types.contains(value.kind())),
        Predicate::Regex(pattern) => value.is_some_and(|value| pattern.accepts(value)),
        Predicate::Mod { divisor, remainder } => value
            .and_then(integer::truncated)
            .is_some_and(|dividend| dividend.wrapping_rem(*divisor) == *remainder),
        Predicate::Size(size) => match value {
            Some(Value::Array(items)) => usize::try_from(*size).is_ok_and(|size| items.count() == size),
            _ => false,
        },
        Predicate::ElementObject(_) | Predicate::ElementValue(_) => match value {
            Some(Value::Array(items)) => element(*items, predicate).is_some(),
            _ => false,
        },
        Predicate::Bits(bits) => value.is_some_and(|value| has_bits(value, bits)),
        Predicate::Geo(query) => value.is_some_and(|value| query.accepts(value)),
        Predicate::Not(inner) => !test(value, inner),
        Predicate::And(predicates) => predicates.iter().all(|inner| test(value, inner)),
    }
}

/// A comparison by a collation.
fn collated(value: Option<&Value<'_>>, predicate: &Predicate, collation: &Collation) -> bool {
    let by = |a: &Value<'_>, b: &Value<'_>| collation.compare(a, b);
    let found = value.unwrap_or(&Value::Undefined);
    match predicate {
        Predicate::Equal(operand) => bracketed(found, operand, Ordering::is_eq, true, by),
        Predicate::Less(operand) => bracketed(found, operand, Ordering::is_lt, false, by),
        Predicate::LessOrEqual(operand) => bracketed(found, operand, Ordering::is_le, true, by),
        Predicate::Greater(operand) => bracketed(found, operand, Ordering::is_gt, false, by),
        Predicate::GreaterOrEqual(operand) => bracketed(found, operand, Ordering::is_ge, true, by),
        Predicate::In { values, patterns } => {
            let sought = match value {
                None | Some(Value::Undefined) => &Value::Null,
                Some(value) => value,
            };
            values
                .binary_search_by(|candidate| by(&candidate.as_value(), sought))
                .is_ok()
                || value.is_some_and(|value| patterns.iter().any(|pattern| pattern.accepts(value)))
        }
        other => test(value, other),
    }
}

/// The rank of a type among the types that comparisons keep apart. Missing counts as undefined.
fn bracket(kind: Kind) -> u8 {
    match kind {
        Kind::MinKey => 1,
        Kind::Undefined => 2,
        Kind::Null => 3,
        Kind::Double | Kind::Int32 | Kind::Int64 | Kind::Decimal128 => 4,
        Kind::String | Kind::Symbol => 5,
        Kind::Document => 6,
        Kind::Array => 7,
        Kind::Binary => 8,
        Kind::ObjectId => 9,
        Kind::Bool => 10,
        Kind::DateTime => 11,
        Kind::Timestamp => 12,
        Kind::Regex => 13,
        Kind::DbPointer => 14,
        Kind::Code => 15,
        Kind::CodeWithScope => 16,
        Kind::MaxKey => 17,
    }
}

/// Compares within one type bracket; `inclusive` says whether the comparison holds for equal values.
#[inline]
pub(super) fn comparison(
    value: Option<&Value<'_>>,
    operand: &Owned,
    holds: impl Fn(Ordering) -> bool,
    inclusive: bool,
) -> bool {
    let value = value.unwrap_or(&Value::Undefined);
    let order = match (value, operand) {
        (Value::String(a), Owned::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Int32(a), Owned::Int32(b)) => a.cmp(b),
        (Value::Int32(a), Owned::Int64(b)) => i64::from(*a).cmp(b),
        (Value::Int64(a), Owned::Int64(b)) => a.cmp(b),
        (Value::Int64(a), Owned::Int32(b)) => a.cmp(&i64::from(*b)),
        (Value::ObjectId(a), Owned::ObjectId(b)) => a.cmp(b),
        (Value::DateTime(a), Owned::DateTime(b)) => a.cmp(b),
        _ => return bracketed(value, operand, holds, inclusive, compare),
    };
    holds(order)
}

/// The same for any types, with values of one type compared as `by` says.
fn bracketed(
    value: &Value<'_>,
    operand: &Owned,
    holds: impl Fn(Ordering) -> bool,
    inclusive: bool,
    by: impl Fn(&Value<'_>, &Value<'_>) -> Ordering,
) -> bool {
    let operand = operand.as_value();
    let (own, other) = (value.kind(), operand.kind());
    if bracket(own) != bracket(other) {
        return match (own, other) {
            (Kind::Undefined, Kind::Null) | (Kind::Null, Kind::Undefined) => inclusive,
            // Every value of another type is above MinKey and below MaxKey.
            (_, Kind::MinKey) => holds(Ordering::Greater) && !holds(Ordering::Less),
            (_, Kind::MaxKey) => holds(Ordering::Less) && !holds(Ordering::Greater),
            _ => false,
        };
    }
    match (is_nan(value), is_nan(&operand)) {
        (false, false) => holds(by(value, &operand)),
        (a, b) => a && b && inclusive,
    }
}

fn has_bits(value: &Value<'_>, test: &BitTest) -> bool {
    match value {
        Value::Binary { subtype, bytes } => {
            let prefix = inner_length(*subtype, bytes);
            let prefix = prefix.as_ref().map_or(&[][..], |length| &length[..]);
            by_rule(test, |position| {
                let at = position as usize / 8;
                let byte = match at.checked_sub(prefix.len()) {
                    None => prefix.get(at),
                    Some(at) => bytes.get(at),
                };
                byte.is_some_and(|byte| byte >> (position % 8) & 1 == 1)
            })
        }
        // Two's complement: beyond the highest bit, the sign repeats.
        other => integer::bits(other)
            .is_some_and(|number| by_rule(test, |position| number >> position.min(63) & 1 == 1)),
    }
}

/// What the server sees before the bytes of a binary: subtype 2 stores its length again.
pub(super) fn inner_length(subtype: u8, bytes: &[u8]) -> Option<[u8; 4]> {
    (subtype == 2).then(|| (bytes.len() as u32).to_le_bytes())
}

fn by_rule(test: &BitTest, set: impl Fn(u32) -> bool) -> bool {
    let mut positions = test.positions.iter().copied();
    match test.rule {
        BitRule::AllSet => positions.all(set),
        BitRule::AllClear => !positions.any(set),
        BitRule::AnySet => positions.any(set),
        BitRule::AnyClear => positions.any(|position| !set(position)),
    }
}
