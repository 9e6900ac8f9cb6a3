//! What an upsert would insert: the values that its filter asks for, changed.

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use super::condition::Condition;
use super::declared::Declared;
use super::document;
use super::literal::Literal;
use super::place::{Place, Tags};
use super::rule::Rule;
use super::validator::{Validator, malformed};
use super::violation::Violation;
use crate::error::Result;
use crate::query::update::{Action, Change, raw_path};

/// What would be wrong with the document that an upsert inserts where its filter matches none, beside the values of its
/// changes, which are checked by themselves.
pub(super) fn violations(
    declared: &'static Declared,
    filter: &RawDocument,
    changes: &[Change],
    conditions: &[Condition],
    mut validator: Validator,
) -> Result<Vec<Violation>> {
    let equal = equal_values(filter)?;
    let mut seed = RawDocumentBuf::new();
    for (path, value) in &equal {
        seed = document::with_path(&seed, path, value.clone())?;
    }
    for condition in conditions {
        for (path, message) in condition.broken(&seed)? {
            validator.at(&path);
            validator.found(message);
        }
    }
    for (path, value) in &equal {
        if is_kept(path, value.as_raw_bson_ref(), changes) {
            let places = Place::all(declared, &raw_path(path), Tags::Of(&seed));
            check(path, &places, value, |_| true, &mut validator)?;
        }
    }
    for change in changes {
        let path = change.path.to_string();
        if let (Action::Increment(step), None) = (&change.action, document::at(&seed, &path)) {
            let mut places = Place::all(declared, &change.path, Tags::Of(&seed));
            places.retain(|place| !place.is_positional);
            // What the conditions say is said.
            check(
                &path,
                &places,
                step,
                |rule| !super::sum::limited(rule),
                &mut validator,
            )?;
        }
    }
    Ok(validator.into_violations())
}

/// Checks a value that is at one of these places.
fn check(
    path: &str,
    places: &[Place],
    value: &RawBson,
    is_asked: impl Fn(&Rule) -> bool,
    validator: &mut Validator,
) -> Result<()> {
    let mut first = None;
    for place in places {
        let mut own = validator.beside();
        own.at(path);
        let rules: Vec<_> = place
            .rules
            .iter()
            .copied()
            .filter(|rule| is_asked(rule))
            .collect();
        own.value(rules, place.nested, value.as_raw_bson_ref())?;
        let violations = own.into_violations();
        if violations.is_empty() {
            return Ok(());
        }
        first.get_or_insert(violations);
    }
    validator.take(first.unwrap_or_default());
    Ok(())
}

/// Whether the filter's value is what is inserted.
fn is_kept(path: &str, value: RawBsonRef<'_>, changes: &[Change]) -> bool {
    let reaches = |change: &&Change| {
        let changed = change.path.to_string();
        match path.strip_prefix(&changed) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        }
    };
    match changes.iter().find(reaches).map(|change| &change.action) {
        None => true,
        Some(Action::Minimum(least)) => limit(least).is_none_or(|least| least.is_above(value)),
        Some(Action::Maximum(most)) => limit(most).is_none_or(|most| most.is_below(value)),
        Some(Action::Raw { operator, .. }) => operator.as_str() != "$bit",
        Some(_) => false,
    }
}

fn limit(value: &RawBson) -> Option<Literal> {
    let value = Literal::from(bson::Bson::try_from(value.clone()).ok()?);
    value.is_number().then_some(value)
}

/// The values that a filter asks fields to be equal to, which the inserted document gets.
///
/// # Errors
/// `InvalidArgument` for a malformed filter.
pub(crate) fn equal_values(filter: &RawDocument) -> Result<Vec<(String, RawBson)>> {
    let mut found = Vec::new();
    equalities(filter, &mut found)?;
    Ok(found)
}

fn equalities(filter: &RawDocument, found: &mut Vec<(String, RawBson)>) -> Result<()> {
    for element in filter {
        let (name, value) = element.map_err(malformed)?;
        match (name.as_str(), value) {
            ("$and", RawBsonRef::Array(parts)) => {
                for part in parts {
                    if let RawBsonRef::Document(part) = part.map_err(malformed)? {
                        equalities(part, found)?;
                    }
                }
            }
            ("$or", RawBsonRef::Array(branches)) => {
                let mut branches = branches.into_iter();
                if let (Some(Ok(RawBsonRef::Document(only))), None) = (branches.next(), branches.next()) {
                    equalities(only, found)?;
                }
            }
            (name, _) if name.starts_with('$') => {}
            (_, RawBsonRef::RegularExpression(_)) => {}
            (name, RawBsonRef::Document(operators)) if is_operators(operators) => {
                for operator in operators {
                    let (operator, value) = operator.map_err(malformed)?;
                    let value = match (operator.as_str(), value) {
                        ("$eq", value) => Some(value),
                        ("$in" | "$all", RawBsonRef::Array(values)) => {
                            let mut values = values.into_iter();
                            match (values.next(), values.next()) {
                                (Some(only), None) => Some(only.map_err(malformed)?),
                                _ => None,
                            }
                        }
                        _ => None,
                    };
                    let value = value.filter(|value| !matches!(value, RawBsonRef::RegularExpression(_)));
                    found.extend(value.map(|value| (name.to_owned(), RawBson::from(value))));
                }
            }
            (name, value) => found.push((name.to_owned(), value.into())),
        }
    }
    Ok(())
}

fn is_operators(document: &RawDocument) -> bool {
    matches!(document.iter().next(), Some(Ok((name, _))) if name.as_str().starts_with('$'))
}
