//! What `$pull` removes.

use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::Matcher;

/// The server's code for an operator in a place that does not admit it.
const QUERY_FEATURE_NOT_ALLOWED: i32 = 224;
/// The server's code for `$near` in such a place.
const NEAR_NOT_ALLOWED: i32 = 5_626_500;

/// The condition of a `$pull`.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// Items equal to the value.
    Value(Owned),
    /// Items that satisfy operators: `{$gte: 5}`, a regex.
    Predicate(Box<Matcher>),
    /// Items that are documents and match the filter.
    Filter(Box<Matcher>),
}

impl Condition {
    pub(super) fn parse(value: &Value<'_>) -> Result<Condition> {
        match value {
            Value::Document(filter) if starts_with_operator(*filter) => wrapped(value),
            Value::Document(filter) => {
                refuse_document_operators(*filter)?;
                Ok(Condition::Filter(Box::new(Matcher::parse(*filter)?)))
            }
            Value::Regex { .. } => wrapped(value),
            _ => Ok(Condition::Value((*value).into())),
        }
    }

    /// The same condition with strings compared by the collation.
    pub(super) fn collated(self, collation: &Collation) -> Condition {
        match self {
            Condition::Value(value) => Condition::Value(value),
            Condition::Predicate(matcher) => Condition::Predicate(Box::new(matcher.collated(collation))),
            Condition::Filter(matcher) => Condition::Filter(Box::new(matcher.collated(collation))),
        }
    }

    pub(super) fn holds(&self, item: &Value<'_>, collation: &Collation) -> Result<bool> {
        match self {
            Condition::Value(value) => Ok(collation.equal(&value.as_value(), item)),
            Condition::Predicate(matcher) => matcher.matches_value(item),
            Condition::Filter(matcher) => match item {
                Value::Document(doc) => matcher.matches(*doc),
                _ => Ok(false),
            },
        }
    }
}

fn wrapped(value: &Value<'_>) -> Result<Condition> {
    refuse_near(value)?;
    let filter = vec![(String::new(), Owned::from(*value))];
    Ok(Condition::Predicate(Box::new(Matcher::parse(Doc::Fields(
        &filter,
    ))?)))
}

/// Whether the first name is an operator that applies to a value, not to a whole document.
fn starts_with_operator(doc: Doc<'_>) -> bool {
    doc.elements().next().is_some_and(|first| {
        matches!(
            first.name_str(),
            "$eq"
                | "$ne"
                | "$lt"
                | "$lte"
                | "$gt"
                | "$gte"
                | "$in"
                | "$nin"
                | "$all"
                | "$mod"
                | "$size"
                | "$exists"
                | "$type"
                | "$regex"
                | "$options"
                | "$elemMatch"
                | "$bitsAllSet"
                | "$bitsAllClear"
                | "$bitsAnySet"
                | "$bitsAnyClear"
                | "$near"
                | "$nearSphere"
                | "$geoNear"
                | "$geoWithin"
                | "$geoIntersects"
                | "$within"
        )
    })
}

/// Refuses operators that need a whole stored document, which an array item is not.
pub(super) fn refuse_document_operators(filter: Doc<'_>) -> Result<()> {
    for element in filter.elements() {
        let name = element.name_str();
        match (name, element.value()) {
            ("$and" | "$or" | "$nor", Value::Array(branches)) => {
                for branch in branches.values().filter_map(|branch| branch.as_document()) {
                    refuse_document_operators(branch)?;
                }
            }
            ("$expr" | "$jsonSchema", _) => {
                return Err(Fault::new(
                    QUERY_FEATURE_NOT_ALLOWED,
                    format!("{name} is not allowed in this context"),
                ));
            }
            ("$where" | "$text", _) => {
                return Err(Fault::new(
                    code::BAD_VALUE,
                    format!("{name} is not allowed in this context"),
                ));
            }
            (_, value) => refuse_near(&value)?,
        }
    }
    Ok(())
}

fn refuse_near(value: &Value<'_>) -> Result<()> {
    let near = value.as_document().is_some_and(|operators| {
        operators
            .elements()
            .any(|element| matches!(element.name_str(), "$near" | "$nearSphere" | "$geoNear"))
    });
    match near {
        true => Err(Fault::new(
            NEAR_NOT_ALLOWED,
            "$geoNear, $near, and $nearSphere are not allowed in this context",
        )),
        false => Ok(()),
    }
}
