//! From a predicate to the index components that documents satisfying it have.
//!
//! Invariant: a document that satisfies the predicate has at least one key in the bounds. When the bounds
//! are exact, a document with a key in them satisfies the predicate.

use super::super::collation::Collation;
use super::super::document::compare::rank;
use super::super::document::{Doc, Owned, Value, number, type_rank};
use super::super::geo::Near;
use super::super::index::Order;
use super::super::index::geo::square_value;
use super::super::key::encode_text_start;
use super::super::matcher::ast::{Predicate, TypeSet};
use super::super::matcher::pattern::Pattern;
use super::interval::{Intervals, after, before, end_of, start_of, start_of_numbers, successor};

/// What a predicate leaves of one field of an index.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    pub(super) intervals: Intervals,
    /// Whether every document with a key in the intervals satisfies the predicate.
    pub(super) exact: bool,
}

/// Where the predicate stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    /// Documents may have several keys.
    pub(super) multikey: bool,
    /// The path has a number: a value taken by its position is indexed whole, elements and all.
    pub(super) positional: bool,
    /// Documents with the field have keys, and no others: those of a sparse index of this field alone.
    pub(super) only_present: bool,
    /// The predicate is about a single element of an array.
    pub(super) element: bool,
    /// How the strings of the index compare.
    pub(super) collation: &'a Collation,
    /// Whether those of the query compare otherwise.
    pub(super) is_foreign: bool,
}

impl Bounds {
    fn exact(intervals: Intervals) -> Bounds {
        Bounds {
            intervals,
            exact: true,
        }
    }

    fn loose(intervals: Intervals) -> Bounds {
        Bounds {
            intervals,
            exact: false,
        }
    }

    fn all() -> Bounds {
        Bounds::loose(Intervals::all())
    }
}

/// The bounds in a field of this order.
pub(super) fn bounds(predicate: &Predicate, order: Order, place: Place<'_>) -> Bounds {
    let mut found = match order {
        Order::Hashed => hashed(predicate, place),
        Order::Sphere | Order::Flat(_) => located(predicate, order),
        Order::Text => Bounds::all(),
        Order::Ascending | Order::Descending => ordered(predicate, place),
    };
    // A position counts as an element too; what else the path reaches is left to the recheck.
    found.exact &= !place.positional && !place.element;
    found
}

/// Only equality is visible through a hash, and equal values only share it.
fn hashed(predicate: &Predicate, place: Place<'_>) -> Bounds {
    let collation = place.collation;
    let point = |value: &Owned| match value {
        Owned::Array(_) | Owned::RawArray(_) => Intervals::none(),
        Owned::Null | Owned::Undefined => {
            hash(&Value::Null, collation).union(hash(&Value::Undefined, collation))
        }
        other => hash(&other.as_value(), collation),
    };
    let Some(predicate) = by_keys(predicate, place) else {
        return Bounds::all();
    };
    match predicate {
        Predicate::Equal(value) => Bounds::loose(point(value)),
        Predicate::In { values, patterns } if patterns.is_empty() => {
            Bounds::loose(Intervals::union_all(values.iter().map(point)))
        }
        Predicate::Exists if place.only_present => Bounds::exact(Intervals::all()),
        _ => Bounds::all(),
    }
}

/// Where geometries lie: only what asks that is visible.
fn located(predicate: &Predicate, order: Order) -> Bounds {
    match predicate {
        Predicate::Geo(query) => {
            let intervals = match order {
                Order::Flat(grid) => query.hashes(grid).map(|ranges| squares(&ranges)),
                _ => query.cells().map(|ranges| cells(&ranges)),
            };
            intervals.map_or_else(Bounds::all, Bounds::loose)
        }
        Predicate::And(predicates) => {
            let common = predicates.iter().fold(Intervals::all(), |common, predicate| {
                common.intersect(&located(predicate, order).intervals)
            });
            Bounds::loose(common)
        }
        _ => Bounds::all(),
    }
}

/// What the nearness leaves of a geo field.
pub(super) fn near(near: &Near, order: Order) -> Intervals {
    let intervals = match order {
        Order::Flat(grid) => near.hashes(grid).map(|ranges| squares(&ranges)),
        _ => near.cells().map(|ranges| cells(&ranges)),
    };
    intervals.unwrap_or_else(Intervals::all)
}

fn cells(ranges: &[(i64, i64)]) -> Intervals {
    Intervals::union_all(ranges.iter().map(|(first, last)| {
        let simple = Collation::simple();
        Intervals::range(
            before(&Value::Int64(*first), simple),
            after(&Value::Int64(*last), simple),
        )
    }))
}

fn squares(ranges: &[([u8; 8], [u8; 8])]) -> Intervals {
    Intervals::union_all(ranges.iter().map(|(first, last)| {
        let (first, last) = (square_value(first), square_value(last));
        let simple = Collation::simple();
        Intervals::range(before(&first.as_value(), simple), after(&last.as_value(), simple))
    }))
}

fn hash(value: &Value<'_>, collation: &Collation) -> Intervals {
    let mut component = Vec::new();
    Order::Hashed.encode(value, collation, &mut component);
    Intervals::component(component)
}

/// Whether a collation may have to do with the value: as on the server, with every document and every array.
pub(super) fn is_collatable(value: &Owned) -> bool {
    matches!(
        value,
        Owned::String(_)
            | Owned::Symbol(_)
            | Owned::Document(_)
            | Owned::RawDocument(_)
            | Owned::Array(_)
            | Owned::RawArray(_)
    )
}

/// The comparison itself, if the index's keys are in the order that it compares strings in, or it compares none.
fn by_keys<'p>(predicate: &'p Predicate, place: Place<'_>) -> Option<&'p Predicate> {
    match predicate {
        Predicate::Collated { collation, inner } => (collation == place.collation).then_some(&**inner),
        other if place.is_foreign && other.compares(&is_collatable) => None,
        other => Some(other),
    }
}

fn ordered(predicate: &Predicate, place: Place<'_>) -> Bounds {
    let Some(predicate) = by_keys(predicate, place) else {
        return Bounds::all();
    };
    match predicate {
        // Taken off above.
        Predicate::Collated { .. } => Bounds::all(),
        Predicate::Equal(value) => equal(&value.as_value(), place),
        Predicate::Less(value) => range(&value.as_value(), Side::Below, false, place),
        Predicate::LessOrEqual(value) => range(&value.as_value(), Side::Below, true, place),
        Predicate::Greater(value) => range(&value.as_value(), Side::Above, false, place),
        Predicate::GreaterOrEqual(value) => range(&value.as_value(), Side::Above, true, place),
        Predicate::In { values, patterns } => {
            let parts: Vec<Bounds> = values
                .iter()
                .map(|value| equal(&value.as_value(), place))
                .chain(patterns.iter().map(|pattern| regex(pattern, place.collation)))
                .collect();
            Bounds {
                exact: parts.iter().all(|part| part.exact),
                intervals: Intervals::union_all(parts.into_iter().map(|part| part.intervals)),
            }
        }
        Predicate::Type(types) => of_types(*types),
        Predicate::Regex(pattern) => regex(pattern, place.collation),
        Predicate::Mod { .. } => Bounds::loose(Intervals::rank(rank::NUMBER)),
        Predicate::ElementObject(_) => {
            Bounds::loose(Intervals::rank(rank::DOCUMENT).union(Intervals::rank(rank::ARRAY)))
        }
        Predicate::ElementValue(predicates) if !place.positional && !place.element => {
            let element = Place {
                element: true,
                ..place
            };
            let common = predicates.iter().fold(Intervals::all(), |common, predicate| {
                common.intersect(&ordered(predicate, element).intervals)
            });
            Bounds::loose(common)
        }
        Predicate::Exists if place.only_present => Bounds::exact(Intervals::all()),
        Predicate::ElementValue(_)
        | Predicate::Exists
        | Predicate::Size(_)
        | Predicate::Bits(_)
        | Predicate::Geo(_) => Bounds::all(),
        Predicate::Not(inner) => not(inner, place),
        Predicate::And(predicates) => and(predicates, place),
    }
}

/// Null is also equal to a missing and to an undefined value. In an array's place it is not: an empty array
/// has the key undefined, one without documents the key null. A number in the path is looked for as a name
/// too, and then missing, while the position is what is indexed.
fn null(place: Place<'_>) -> Bounds {
    if place.positional {
        return Bounds::all();
    }
    Bounds {
        intervals: point(&Value::Null, place).union(point(&Value::Undefined, place)),
        exact: !place.multikey,
    }
}

fn point(value: &Value<'_>, place: Place<'_>) -> Intervals {
    Intervals::point(value, place.collation)
}

fn equal(value: &Value<'_>, place: Place<'_>) -> Bounds {
    match *value {
        Value::Null | Value::Undefined => null(place),
        // The whole array is indexed where it is an element or a position, otherwise its elements are.
        Value::Array(items) => {
            let first = items.at(0).unwrap_or(Value::Undefined);
            Bounds::loose(point(value, place).union(point(&first, place)))
        }
        Value::Regex { pattern, .. } => Bounds::loose(stored_regex(pattern)),
        _ => Bounds::exact(point(value, place)),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// Comparisons stay within the operand's rank.
fn range(value: &Value<'_>, side: Side, inclusive: bool, place: Place<'_>) -> Bounds {
    match value {
        Value::Null if inclusive => return null(place),
        Value::Null => return Bounds::exact(Intervals::none()),
        Value::Array(items) => return of_arrays(value, *items, side, place),
        Value::MinKey | Value::MaxKey | Value::Undefined => return Bounds::all(),
        nan if number::is_nan(nan) => {
            return Bounds::exact(if inclusive {
                point(nan, place)
            } else {
                Intervals::none()
            });
        }
        _ => {}
    }
    let rank = type_rank(value);
    let start = if value.is_number() {
        start_of_numbers()
    } else {
        start_of(rank)
    };
    let before = || before(value, place.collation);
    let after = || after(value, place.collation);
    let intervals = match (side, inclusive) {
        (Side::Below, false) => Intervals::range(start, before()),
        (Side::Below, true) => Intervals::range(start, after()),
        (Side::Above, false) => Intervals::range(after(), end_of(rank)),
        (Side::Above, true) => Intervals::range(before(), end_of(rank)),
    };
    Bounds::exact(intervals)
}

/// An array has the keys of its elements: the first of one that is above another is not below that one's first, and what
/// is an element itself has a key as a whole.
fn of_arrays(value: &Value<'_>, items: Doc<'_>, side: Side, place: Place<'_>) -> Bounds {
    if place.positional || place.element {
        return Bounds::all();
    }
    let first = items.at(0).unwrap_or(Value::Undefined);
    let is_below = place.collation.compare(&first, value).is_lt();
    let (least, greatest) = match is_below {
        true => (&first, value),
        false => (value, &first),
    };
    Bounds::loose(match side {
        // Above an empty one is every other, whatever is in it.
        Side::Above if items.is_empty() => Intervals::range(start_of(rank::MIN_KEY), end_of(rank::MAX_KEY)),
        Side::Above => Intervals::range(before(least, place.collation), end_of(rank::MAX_KEY)),
        Side::Below => Intervals::range(start_of(rank::MIN_KEY), after(greatest, place.collation)),
    })
}

fn of_types(types: TypeSet) -> Bounds {
    use super::super::document::Kind;
    use super::super::document::compare::kind_rank;
    // An array has the keys of its elements.
    if types.contains(Kind::Array) {
        return Bounds::all();
    }
    let intervals = Intervals::union_all(
        Kind::ALL
            .into_iter()
            .filter(|kind| types.contains(*kind))
            .map(|kind| Intervals::rank(kind_rank(kind))),
    );
    // Numbers of all types are one kind of keys, as texts are, and what is missing has the key of null.
    let shared = [Kind::Null, Kind::Undefined, Kind::String, Kind::Symbol];
    let has_numbers = types.kinds().any(|kind| TypeSet::numbers().contains(kind));
    Bounds {
        intervals,
        exact: !shared.into_iter().any(|kind| types.contains(kind))
            && (!has_numbers || types.has_all_numbers()),
    }
}

fn not(inner: &Predicate, place: Place<'_>) -> Bounds {
    if let Predicate::Exists = inner {
        // What is missing has the key of null.
        return match place.positional {
            true => Bounds::all(),
            false => Bounds::loose(point(&Value::Null, place)),
        };
    }
    let inner = ordered(inner, place);
    if !inner.exact || place.positional {
        return Bounds::all();
    }
    Bounds {
        intervals: inner.intervals.complement(),
        exact: !place.multikey,
    }
}

fn and(predicates: &[Predicate], place: Place<'_>) -> Bounds {
    let mut parts: Vec<Bounds> = predicates
        .iter()
        .map(|predicate| ordered(predicate, place))
        .collect();
    if !place.multikey || place.element {
        return Bounds {
            exact: parts.iter().all(|part| part.exact),
            intervals: parts
                .iter()
                .fold(Intervals::all(), |common, part| common.intersect(&part.intervals)),
        };
    }
    // Each predicate may be satisfied by another key: only one of them bounds.
    let single = parts.len() == 1;
    let best = parts
        .iter()
        .enumerate()
        .min_by(|(_, a), (_, b)| a.intervals.fraction().total_cmp(&b.intervals.fraction()))
        .map(|(position, _)| position);
    match best {
        Some(position) => {
            let mut found = parts.swap_remove(position);
            found.exact &= single;
            found
        }
        None => Bounds::all(),
    }
}

/// Sort keys do not show how their strings begin.
fn regex(pattern: &Pattern, collation: &Collation) -> Bounds {
    let mut from = start_of(rank::STRING);
    let Some(prefix) = prefix(pattern.pattern(), pattern.options())
        .filter(|prefix| !prefix.is_empty() && collation.is_simple())
    else {
        return Bounds::loose(Intervals::rank(rank::STRING).union(stored_regex(pattern.pattern())));
    };
    encode_text_start(&prefix, &mut from);
    let to = successor(from.clone());
    let strings = Intervals::range(from, to);
    // All that begins so is matched, and of patterns this one.
    if pattern.options().is_empty() && pattern.pattern().strip_prefix('^') == Some(&prefix) {
        let own = Value::Regex {
            pattern: pattern.pattern(),
            options: "",
        };
        return Bounds::exact(strings.union(Intervals::point(&own, collation)));
    }
    Bounds::loose(strings.union(stored_regex(pattern.pattern())))
}

/// Stored regular expressions with this pattern and any options.
fn stored_regex(pattern: &str) -> Intervals {
    let mut from = start_of(rank::REGEX);
    from.extend_from_slice(pattern.as_bytes());
    from.push(0);
    let to = successor(from.clone());
    Intervals::range(from, to)
}

/// The text that every match starts with, if the pattern is anchored to it.
pub(super) fn prefix(pattern: &str, options: &str) -> Option<String> {
    if options.contains(['i', 'm', 'x']) || pattern.contains('|') {
        return None;
    }
    let rest = pattern
        .strip_prefix('^')
        .or_else(|| pattern.strip_prefix("\\A"))?;
    let mut prefix = String::new();
    let mut chars = rest.chars();
    while let Some(next) = chars.next() {
        match next {
            '*' | '?' | '{' => {
                // The character before may be absent.
                prefix.pop();
                break;
            }
            '\\' => match chars.next() {
                Some(escaped) if !escaped.is_alphanumeric() => prefix.push(escaped),
                Some('Q' | 'E') => {
                    // A repetition behind an empty quotation is of the character before it.
                    prefix.pop();
                    break;
                }
                _ => break,
            },
            '(' if chars.as_str().starts_with("?#") => {
                // So is one behind a comment.
                prefix.pop();
                break;
            }
            '.' | '[' | ']' | '(' | ')' | '+' | '^' | '$' | '}' => break,
            literal => prefix.push(literal),
        }
    }
    Some(prefix)
}
