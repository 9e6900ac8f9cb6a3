//! The keys that a predicate can be true for.

use super::super::document::{Doc, Kind, Value, type_rank};
use super::super::key;
use super::super::matcher::ast::{Node, Predicate};
use super::super::matcher::pattern::Pattern;
use super::interval::{Cut, Intervals};

/// Keys of one component with their promise.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    /// Every document that satisfies the predicate has a key inside.
    pub(super) keys: Intervals,
    /// A document with a key inside satisfies the predicate.
    pub(super) exact: bool,
}

impl Bounds {
    fn exact(keys: Intervals) -> Bounds {
        Bounds { keys, exact: true }
    }

    fn loose(keys: Intervals) -> Bounds {
        Bounds { keys, exact: false }
    }

    /// No restriction.
    pub(super) fn all() -> Bounds {
        Bounds::loose(Intervals::all())
    }
}

/// The key of a value, ascending.
pub(super) fn encoded(value: &Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    key::encode(value, false, &mut out);
    out
}

fn point(value: &Value<'_>) -> Intervals {
    Intervals::prefix(encoded(value))
}

/// The keys of missing, null and undefined values, and of empty arrays.
pub(super) fn nothing_there() -> Intervals {
    point(&Value::Undefined).union(point(&Value::Null))
}

/// The keys of a predicate.
pub(super) fn of(predicate: &Predicate) -> Bounds {
    match predicate {
        Predicate::Equal(value) => equal(&value.as_value()),
        Predicate::Less(value) => range(&value.as_value(), Side::Below, false),
        Predicate::LessOrEqual(value) => range(&value.as_value(), Side::Below, true),
        Predicate::Greater(value) => range(&value.as_value(), Side::Above, false),
        Predicate::GreaterOrEqual(value) => range(&value.as_value(), Side::Above, true),
        Predicate::In { values, patterns } => {
            let mut all = Bounds::exact(Intervals::none());
            let parts = values.iter().map(|value| equal(&value.as_value())).chain(patterns.iter().map(pattern));
            for part in parts {
                all = Bounds { keys: all.keys.union(part.keys), exact: all.exact && part.exact };
            }
            all
        }
        Predicate::Regex(own) => pattern(own),
        Predicate::Mod { .. } => Bounds::loose(bracket(&Value::Int32(0))),
        Predicate::Bits(_) => {
            Bounds::loose(bracket(&Value::Int32(0)).union(bracket(&Value::Binary { subtype: 0, bytes: &[] })))
        }
        Predicate::Type(kinds) if !kinds.contains(Kind::Array) => {
            let mut keys = Intervals::none();
            for (kind, value) in examples() {
                if kinds.contains(kind) {
                    keys = keys.union(bracket(&value));
                }
            }
            // Kinds without an example have brackets of their own that are not worth listing.
            if [Kind::DbPointer, Kind::CodeWithScope, Kind::Undefined].iter().any(|kind| kinds.contains(*kind)) {
                keys = Intervals::all();
            }
            Bounds::loose(keys)
        }
        Predicate::Exists | Predicate::Type(_) | Predicate::Size(_) | Predicate::ElementObject(_) => Bounds::all(),
        Predicate::ElementValue(parts) | Predicate::And(parts) if parts.is_empty() => Bounds::all(),
        Predicate::ElementValue(parts) => {
            // One element satisfies all of them, and it has one key.
            Bounds::loose(parts.iter().fold(Intervals::all(), |keys, part| keys.intersect(&of(part).keys)))
        }
        Predicate::And(parts) => match parts.as_slice() {
            [one] => of(one),
            // Each may be satisfied by another value: only one of them may bound an index of arrays.
            many => many.iter().map(of).find(|bounds| !bounds.keys.is_all()).map_or_else(Bounds::all, |bounds| {
                Bounds::loose(bounds.keys)
            }),
        },
        Predicate::Not(inner) => match &**inner {
            Predicate::Exists => Bounds::loose(nothing_there()),
            inner => {
                let inside = of(inner);
                // No key may satisfy the inner predicate. That says something only when its bounds are exact.
                if inside.exact { Bounds::loose(inside.keys.complement()) } else { Bounds::all() }
            }
        },
    }
}

fn equal(value: &Value<'_>) -> Bounds {
    match value {
        Value::Null | Value::Undefined => Bounds::loose(nothing_there()),
        // An array is found whole as an element of another, or by the key of its first element.
        Value::Array(items) => {
            let first = items.at(0).map_or_else(|| point(&Value::Undefined), |first| point(&first));
            Bounds::loose(first.union(Intervals::prefix(encoded(value))))
        }
        Value::Regex { .. } => Bounds::loose(point(value)),
        other => Bounds::exact(point(other)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

fn range(value: &Value<'_>, side: Side, inclusive: bool) -> Bounds {
    match value {
        Value::Null | Value::Undefined if inclusive => return Bounds::loose(nothing_there()),
        Value::Null | Value::Undefined => return Bounds::exact(Intervals::none()),
        // The keys of an array are its elements': they say nothing of its place among arrays.
        Value::Array(_) => return Bounds::all(),
        Value::Double(x) if x.is_nan() => {
            return Bounds::exact(if inclusive { point(value) } else { Intervals::none() });
        }
        Value::Decimal128(_) if type_rank(value) == type_rank(&Value::Double(0.0)) && is_nan(value) => {
            return Bounds::exact(if inclusive { point(value) } else { Intervals::none() });
        }
        // These two are compared with every type.
        Value::MinKey | Value::MaxKey => {
            let own = encoded(value);
            let keys = match (side, inclusive) {
                (Side::Below, true) => Intervals::between(Cut::Before(Vec::new()), Cut::After(own)),
                (Side::Below, false) => Intervals::between(Cut::Before(Vec::new()), Cut::Before(own)),
                (Side::Above, true) => Intervals::between(Cut::Before(own), Cut::After(Vec::new())),
                (Side::Above, false) => Intervals::between(Cut::After(own), Cut::After(Vec::new())),
            };
            // An array as a whole is compared too, and only its elements have keys.
            return if keys.is_none() { Bounds::all() } else { Bounds::loose(keys.union(nothing_there())) };
        }
        _ => {}
    }
    let own = encoded(value);
    let (low, high) = bracket_cuts(value);
    let keys = match (side, inclusive) {
        (Side::Below, true) => Intervals::between(low, Cut::After(own)),
        (Side::Below, false) => Intervals::between(low, Cut::Before(own)),
        (Side::Above, true) => Intervals::between(Cut::Before(own), high),
        (Side::Above, false) => Intervals::between(Cut::After(own), high),
    };
    Bounds { keys, exact: !matches!(value, Value::Document(_) | Value::Regex { .. }) }
}

fn is_nan(value: &Value<'_>) -> bool {
    encoded(value) == encoded(&Value::Double(f64::NAN))
}

/// The keys that a range predicate with this operand can reach: those of its type. NaN is not among the numbers.
fn bracket_cuts(value: &Value<'_>) -> (Cut, Cut) {
    let first = |value: &Value<'_>| encoded(value).first().map(|byte| vec![*byte]).unwrap_or_default();
    match value {
        Value::Double(_) | Value::Int32(_) | Value::Int64(_) | Value::Decimal128(_) => (
            Cut::Before(encoded(&Value::Double(f64::NEG_INFINITY))),
            Cut::After(encoded(&Value::Double(f64::INFINITY))),
        ),
        Value::Bool(_) => (Cut::Before(first(&Value::Bool(false))), Cut::After(first(&Value::Bool(true)))),
        other => (Cut::Before(first(other)), Cut::After(first(other))),
    }
}

/// All keys of a value's type.
fn bracket(value: &Value<'_>) -> Intervals {
    let (low, high) = bracket_cuts(value);
    let keys = Intervals::between(low, high);
    if value.is_number() { keys.union(point(&Value::Double(f64::NAN))) } else { keys }
}

/// A value of each type that has keys of its own.
fn examples() -> [(Kind, Value<'static>); 17] {
    [
        (Kind::MinKey, Value::MinKey),
        (Kind::Null, Value::Null),
        (Kind::Double, Value::Double(0.0)),
        (Kind::Int32, Value::Int32(0)),
        (Kind::Int64, Value::Int64(0)),
        (Kind::Decimal128, Value::Int32(0)),
        (Kind::String, Value::String("")),
        (Kind::Symbol, Value::String("")),
        (Kind::Document, Value::Document(Doc::empty())),
        (Kind::Binary, Value::Binary { subtype: 0, bytes: &[] }),
        (Kind::ObjectId, Value::ObjectId([0; 12])),
        (Kind::Bool, Value::Bool(false)),
        (Kind::DateTime, Value::DateTime(0)),
        (Kind::Timestamp, Value::Timestamp { time: 0, increment: 0 }),
        (Kind::Regex, Value::Regex { pattern: "", options: "" }),
        (Kind::Code, Value::Code("")),
        (Kind::MaxKey, Value::MaxKey),
    ]
}

/// Strings that start with the pattern's literal prefix, and stored patterns.
fn pattern(pattern: &Pattern) -> Bounds {
    let patterns = bracket(&Value::Regex { pattern: "", options: "" });
    let strings = match literal_prefix(pattern) {
        None => bracket(&Value::String("")),
        Some(prefix) => {
            let mut bytes = encoded(&Value::String(&prefix));
            // Without its terminator the key of a string is a prefix of the keys of longer ones.
            bytes.pop();
            Intervals::prefix(bytes)
        }
    };
    Bounds::loose(strings.union(patterns))
}

/// What every match of a pattern starts with: the literal text behind `^`, where no option changes its meaning.
fn literal_prefix(pattern: &Pattern) -> Option<String> {
    let text = pattern.pattern().strip_prefix('^')?;
    if !pattern.options().is_empty() || text.contains('|') {
        return None;
    }
    let mut prefix = String::new();
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        let literal = match next {
            '\\' => match rest.next() {
                // An escaped sign stands for itself; an escaped letter or digit is a class or a reference.
                Some(escaped) if !escaped.is_alphanumeric() => escaped,
                _ => break,
            },
            '.' | '[' | ']' | '(' | ')' | '{' | '}' | '*' | '+' | '?' | '^' | '$' => break,
            other => other,
        };
        // A quantifier makes the sign before it optional.
        if matches!(rest.peek(), Some('*' | '?' | '{')) {
            break;
        }
        prefix.push(literal);
        if rest.peek() == Some(&'+') {
            break;
        }
    }
    (!prefix.is_empty()).then_some(prefix)
}

/// The predicates that must all hold, by path: of nested `$and`, of field conditions, and of `$elemMatch` on the
/// paths behind its own. `simple` is false for predicates that say less than what was written.
pub(super) fn conjuncts<'a>(node: &'a Node, out: &mut Vec<Conjunct<'a>>) {
    match node {
        Node::And(parts) => parts.iter().for_each(|part| conjuncts(part, out)),
        Node::Field { path, predicate } => predicates(path.as_str().to_owned(), predicate, true, out),
        Node::Always => {}
        other => out.push(Conjunct::Other(other)),
    }
}

/// One thing that must hold.
#[derive(Clone, Debug)]
pub(super) enum Conjunct<'a> {
    Path {
        path: String,
        bounds: Bounds,
        predicate: &'a Predicate,
        /// Whether it is written so, not derived from something larger.
        whole: bool,
    },
    Other(&'a Node),
}

fn predicates<'a>(path: String, predicate: &'a Predicate, whole: bool, out: &mut Vec<Conjunct<'a>>) {
    match predicate {
        Predicate::And(parts) => parts.iter().for_each(|part| predicates(path.clone(), part, whole, out)),
        Predicate::ElementObject(node) => {
            out.push(Conjunct::Path { path: path.clone(), bounds: of(predicate), predicate, whole });
            let mut inner = Vec::new();
            conjuncts(node, &mut inner);
            for conjunct in inner {
                if let Conjunct::Path { path: own, bounds, predicate, .. } = conjunct {
                    let bounds = Bounds { exact: false, ..bounds };
                    out.push(Conjunct::Path { path: format!("{path}.{own}"), bounds, predicate, whole: false });
                }
            }
        }
        other => out.push(Conjunct::Path { path, bounds: of(other), predicate: other, whole }),
    }
}

/// Whether a value is there wherever the predicate holds: no key of nothing is inside its bounds.
pub(super) fn requires_presence(bounds: &Bounds) -> bool {
    bounds.keys.intersect(&nothing_there()).is_none()
}

