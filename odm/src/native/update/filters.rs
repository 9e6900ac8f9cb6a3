//! Array filters: which items `$[identifier]` means.

use super::super::collation::Collation;
use super::super::document::{Doc, Value};
use super::super::fault::{Fault, Result, code};
use super::super::matcher::Matcher;
use super::condition::refuse_document_operators;

/// One array filter.
#[derive(Clone, Debug)]
pub(super) struct ArrayFilter {
    pub(super) identifier: String,
    matcher: Matcher,
}

impl ArrayFilter {
    pub(super) fn collate(&mut self, collation: &Collation) {
        self.matcher = self.matcher.clone().collated(collation);
    }

    pub(super) fn chooses(&self, item: &Value<'_>) -> Result<bool> {
        self.matcher.matches_value(item)
    }
}

/// Parses the filters of one update.
pub(super) fn parse(filters: &[Doc<'_>]) -> Result<Vec<ArrayFilter>> {
    let mut parsed: Vec<ArrayFilter> = Vec::with_capacity(filters.len());
    for filter in filters {
        let filter = parse_one(*filter)?;
        if parsed.iter().any(|other| other.identifier == filter.identifier) {
            return Err(Fault::new(
                code::FAILED_TO_PARSE,
                format!(
                    "Found multiple array filters with the same top-level field name {}",
                    filter.identifier
                ),
            ));
        }
        parsed.push(filter);
    }
    Ok(parsed)
}

fn parse_one(filter: Doc<'_>) -> Result<ArrayFilter> {
    let prefixed = |fault: Fault| fault.prefixed("Error parsing array filter :: caused by :: ");
    refuse_document_operators(filter).map_err(prefixed)?;
    let matcher = Matcher::parse(filter).map_err(prefixed)?;
    let mut identifier = None;
    find_identifier(filter, &mut identifier).map_err(prefixed)?;
    let identifier = identifier.ok_or_else(|| {
        Fault::new(
            code::FAILED_TO_PARSE,
            "Cannot use an expression without a top-level field name in arrayFilters",
        )
    })?;
    let mut bytes = identifier.bytes();
    let named =
        bytes.next().is_some_and(|b| b.is_ascii_lowercase()) && bytes.all(|b| b.is_ascii_alphanumeric());
    if !named {
        return Err(prefixed(Fault::new(
            code::BAD_VALUE,
            format!(
                "The top-level field name must be an alphanumeric string beginning with a lowercase letter, found \
                 '{identifier}'"
            ),
        )));
    }
    Ok(ArrayFilter { identifier, matcher })
}

/// Whether a field's condition is one on the field: `$all` of nothing is never true, whatever the field is.
fn asks(condition: &Value<'_>) -> bool {
    let Value::Document(operators) = condition else {
        return true;
    };
    let is_asking = |name: &str, operand: &Value<'_>| match (name, operand) {
        ("$all", Value::Array(items)) => !items.is_empty(),
        ("$not", inner) => asks(inner),
        _ => true,
    };
    operators.is_empty()
        || operators
            .elements()
            .any(|element| is_asking(element.name_str(), &element.value()))
}

/// The one name that all paths of the filter start with.
fn find_identifier(filter: Doc<'_>, found: &mut Option<String>) -> Result<()> {
    for element in filter.elements() {
        let name = element.name_str();
        match (name, element.value()) {
            ("$and" | "$or" | "$nor", Value::Array(branches)) => {
                for branch in branches.values().filter_map(|branch| branch.as_document()) {
                    find_identifier(branch, found)?;
                }
            }
            ("$comment" | "$alwaysTrue" | "$alwaysFalse" | "$sampleRate", _) => {}
            (_, condition) if !asks(&condition) => {}
            _ => {
                let first = name.split('.').next().unwrap_or(name);
                match found {
                    Some(other) if other != first => {
                        return Err(Fault::new(
                            code::FAILED_TO_PARSE,
                            format!("Expected a single top-level field name, found '{other}' and '{first}'"),
                        ));
                    }
                    Some(_) => {}
                    None => *found = Some(first.to_owned()),
                }
            }
        }
    }
    Ok(())
}
