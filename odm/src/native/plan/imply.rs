//! Whether a filter makes sure that a document is in an index that does not hold all documents.

use std::cmp::Ordering;

use super::super::collation::Collation;
use super::super::document::{Owned, number, type_rank};
use super::super::matcher::ast::{Node, Predicate};

/// Whether every document that matches `query` matches `filter`. May say no where the answer is yes.
pub(super) fn implies(query: &Node, filter: &Node) -> bool {
    match (query, filter) {
        (_, Node::Always) => true,
        (_, Node::And(parts)) => parts.iter().all(|part| implies(query, part)),
        (Node::Never, _) => true,
        (Node::Or(branches), _) if branches.iter().all(|branch| implies(branch, filter)) => true,
        (Node::And(parts), _) if parts.iter().any(|part| implies(part, filter)) => true,
        (_, Node::Or(branches)) => branches.iter().any(|branch| implies(query, branch)),
        (
            Node::Nor(parts),
            Node::Field {
                path,
                predicate: Predicate::Exists,
            },
        ) => excludes_null(parts, path.as_str()),
        (
            Node::Field { path, predicate },
            Node::Field {
                path: filter_path,
                predicate: filter_predicate,
            },
        ) => {
            path.as_str() == filter_path.as_str()
                && (predicate_implies(predicate, filter_predicate)
                    || (matches!(filter_predicate, Predicate::Exists)
                        && excludes_missing(path.as_str(), predicate)))
        }
        _ => false,
    }
}

/// Whether every document that matches `query` has something at the path.
pub(super) fn implies_exists(query: &Node, path: &str) -> bool {
    match query {
        Node::Never => true,
        Node::And(parts) => parts.iter().any(|part| implies_exists(part, path)),
        Node::Or(branches) => branches.iter().all(|branch| implies_exists(branch, path)),
        Node::Nor(parts) => excludes_null(parts, path),
        Node::Field {
            path: query_path,
            predicate,
        } => {
            (query_path.as_str() == path
                && (predicate_implies(predicate, &Predicate::Exists) || excludes_missing(path, predicate)))
                || element_exists(query_path.as_str(), predicate, path)
        }
        _ => false,
    }
}

/// Whether every document that matches `query` has a geometry at the path.
pub(super) fn implies_geometry(query: &Node, path: &str) -> bool {
    match query {
        Node::Never => true,
        Node::And(parts) => parts.iter().any(|part| implies_geometry(part, path)),
        Node::Or(branches) => branches.iter().all(|branch| implies_geometry(branch, path)),
        Node::Near(near) => near.path.as_str() == path,
        Node::Field { path: own, predicate } => own.as_str() == path && asks_geometry(predicate),
        _ => false,
    }
}

fn asks_geometry(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Geo(_) => true,
        Predicate::And(parts) => parts.iter().any(asks_geometry),
        _ => false,
    }
}

/// `{a: {$elemMatch: {b: 1}}}` makes sure of `a.b`.
fn element_exists(query_path: &str, predicate: &Predicate, path: &str) -> bool {
    match predicate {
        Predicate::ElementObject(node) => path
            .strip_prefix(query_path)
            .and_then(|rest| rest.strip_prefix('.'))
            .is_some_and(|rest| {
                // An inner array counts as a document whose names are its positions.
                !rest.starts_with(|first: char| first.is_ascii_digit()) && implies_exists(node, rest)
            }),
        Predicate::And(parts) => parts.iter().any(|part| element_exists(query_path, part, path)),
        _ => false,
    }
}

fn predicate_implies(query: &Predicate, filter: &Predicate) -> bool {
    implies_by(query, filter, Collation::simple())
}

/// The same of comparisons by a collation.
fn implies_by(query: &Predicate, filter: &Predicate, by: &Collation) -> bool {
    match (query, filter) {
        (_, Predicate::And(parts)) => parts.iter().all(|part| implies_by(query, part, by)),
        (Predicate::And(parts), _) => parts.iter().any(|part| implies_by(part, filter, by)),
        (
            Predicate::Collated { collation, inner },
            Predicate::Collated {
                collation: other,
                inner: filter,
            },
        ) => collation == other && implies_by(inner, filter, collation),
        // What holds no strings compares alike under all collations.
        (query, Predicate::Collated { collation, inner }) => {
            !query.compares_text() && implies_by(query, inner, collation)
        }
        (Predicate::Collated { collation, inner }, filter) => {
            !filter.compares_text() && implies_by(inner, filter, collation)
        }
        (_, Predicate::Exists) => needs_a_value(query),
        (Predicate::In { values, patterns }, _) => {
            patterns.is_empty() && values.iter().all(|value| value_implies(value, filter, by))
        }
        (Predicate::Equal(value), _) => value_implies(value, filter, by),
        (Predicate::Type(types), Predicate::Type(allowed)) => types == allowed,
        (Predicate::Less(a) | Predicate::LessOrEqual(a), Predicate::Less(b) | Predicate::LessOrEqual(b)) => {
            let order = within_rank(a, b, by);
            order == Some(Ordering::Less)
                || (order == Some(Ordering::Equal)
                    && (matches!(query, Predicate::Less(_)) || matches!(filter, Predicate::LessOrEqual(_))))
        }
        (
            Predicate::Greater(a) | Predicate::GreaterOrEqual(a),
            Predicate::Greater(b) | Predicate::GreaterOrEqual(b),
        ) => {
            let order = within_rank(a, b, by);
            order == Some(Ordering::Greater)
                || (order == Some(Ordering::Equal)
                    && (matches!(query, Predicate::Greater(_))
                        || matches!(filter, Predicate::GreaterOrEqual(_))))
        }
        _ => false,
    }
}

/// Whether the predicate is one that null, and so a missing value, does not match: `{$ne: null}`. Behind an empty array
/// there is nothing at a path, not even a missing value: what is not null need not exist there.
fn excludes_missing(path: &str, query: &Predicate) -> bool {
    match query {
        Predicate::And(parts) => parts.iter().any(|part| excludes_missing(path, part)),
        Predicate::Collated { inner, .. } => excludes_missing(path, inner),
        Predicate::Not(inner) => !path.contains('.') && takes_null(inner),
        _ => false,
    }
}

/// The same of a `$nor` of one.
fn excludes_null(parts: &[Node], path: &str) -> bool {
    match parts {
        [Node::Field { path: own, predicate }] => {
            own.as_str() == path && !path.contains('.') && takes_null(predicate)
        }
        _ => false,
    }
}

/// Whether null matches the predicate, and with it a missing value.
fn takes_null(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Equal(value) => matches!(value, Owned::Null),
        Predicate::In { values, .. } => values.iter().any(|value| matches!(value, Owned::Null)),
        Predicate::Collated { inner, .. } => takes_null(inner),
        _ => false,
    }
}

/// Whether a missing value is enough for the predicate. A negation asks for more than one value.
pub(super) fn takes_missing(predicate: &Predicate) -> bool {
    !matches!(predicate, Predicate::Not(_)) && !needs_a_value(predicate)
}

/// Whether the predicate is false of a missing value.
fn needs_a_value(query: &Predicate) -> bool {
    let matches_missing = |value: &Owned| {
        matches!(
            value,
            Owned::Null | Owned::Undefined | Owned::MinKey | Owned::MaxKey
        )
    };
    match query {
        Predicate::Equal(value) => !matches!(value, Owned::Null | Owned::Undefined),
        Predicate::Less(value)
        | Predicate::LessOrEqual(value)
        | Predicate::Greater(value)
        | Predicate::GreaterOrEqual(value) => !matches_missing(value),
        Predicate::In { values, .. } => !values
            .iter()
            .any(|value| matches!(value, Owned::Null | Owned::Undefined)),
        Predicate::And(parts) => parts.iter().any(needs_a_value),
        Predicate::Collated { inner, .. } => needs_a_value(inner),
        Predicate::Not(_) => false,
        Predicate::Exists
        | Predicate::Type(_)
        | Predicate::Regex(_)
        | Predicate::Mod { .. }
        | Predicate::Size(_)
        | Predicate::ElementObject(_)
        | Predicate::ElementValue(_)
        | Predicate::Bits(_)
        | Predicate::Geo(_) => true,
    }
}

/// Whether a document with this value at the path matches the filter.
fn value_implies(value: &Owned, filter: &Predicate, by: &Collation) -> bool {
    let order = |other: &Owned| within_rank(value, other, by);
    match filter {
        Predicate::Equal(other) => by.equal(&value.as_value(), &other.as_value()),
        Predicate::In { values, .. } => values
            .iter()
            .any(|other| by.equal(&value.as_value(), &other.as_value())),
        Predicate::Less(other) => order(other) == Some(Ordering::Less),
        Predicate::LessOrEqual(other) => matches!(order(other), Some(Ordering::Less | Ordering::Equal)),
        Predicate::Greater(other) => order(other) == Some(Ordering::Greater),
        Predicate::GreaterOrEqual(other) => matches!(order(other), Some(Ordering::Greater | Ordering::Equal)),
        // Equality goes across the numeric types and across strings and symbols, so only types that are
        // alone in their rank follow from it.
        Predicate::Type(types) => {
            matches!(
                value,
                Owned::Document(_)
                    | Owned::RawDocument(_)
                    | Owned::Binary { .. }
                    | Owned::ObjectId(_)
                    | Owned::Bool(_)
                    | Owned::DateTime(_)
                    | Owned::Timestamp { .. }
            ) && types.contains(value.as_value().kind())
        }
        _ => false,
    }
}

/// The order of two operands that a comparison does not leave the rank of.
fn within_rank(a: &Owned, b: &Owned, by: &Collation) -> Option<Ordering> {
    let (a, b) = (a.as_value(), b.as_value());
    let plain = a.as_array().is_none() && !number::is_nan(&a) && !number::is_nan(&b);
    let keys = [&a, &b].iter().any(|value| {
        matches!(
            value.kind(),
            super::super::document::Kind::MinKey | super::super::document::Kind::MaxKey
        )
    });
    (plain && !keys && type_rank(&a) == type_rank(&b)).then(|| by.compare(&a, &b))
}
