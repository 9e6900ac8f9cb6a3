//! Refused conditions of a partial filter as they are written: the server shows them before it makes them simpler.

use std::ops::ControlFlow;

use super::is_operators;
use crate::native::document::{Doc, Fields, Owned, Value};
use crate::native::matcher::ast::{Node, Predicate};
use crate::native::matcher::{Matcher, truthy};

/// The first condition that is refused, if it is a negation.
pub(super) fn refused(filter: Doc<'_>) -> Option<String> {
    match first(filter) {
        ControlFlow::Break(found) => found,
        ControlFlow::Continue(()) => None,
    }
}

/// Breaks at the first condition that is refused; without words where it is no negation.
fn first(filter: Doc<'_>) -> ControlFlow<Option<String>> {
    for element in filter.elements() {
        match (element.name_str(), element.value()) {
            ("$and" | "$or", Value::Array(branches)) => {
                for branch in branches.values() {
                    first(branch.as_document().unwrap_or(Doc::empty()))?;
                }
            }
            (name @ "$nor", value @ Value::Array(_)) => {
                let mut out = String::new();
                logical(name, value, 0, &mut out);
                return ControlFlow::Break(Some(out));
            }
            (name, Value::Document(operators)) if !name.starts_with('$') && is_operators(operators) => {
                for operator in operators.elements() {
                    match operator.name_str() {
                        "$eq" | "$gt" | "$gte" | "$in" | "$lt" | "$lte" | "$type" | "$geoWithin"
                        | "$geoIntersects" => {}
                        "$exists" if truthy(&operator.value()) => {}
                        operation @ ("$ne" | "$nin" | "$not") => {
                            let mut out = String::new();
                            condition(name, operators, (operation, operator.value()), 0, &mut out);
                            return ControlFlow::Break(Some(out));
                        }
                        _ => return ControlFlow::Break(None),
                    }
                }
            }
            ("$comment", _) => {}
            (name, value) if !name.starts_with('$') && !matches!(value, Value::Regex { .. }) => {}
            _ => return ControlFlow::Break(None),
        }
    }
    ControlFlow::Continue(())
}

/// All conditions of a filter: several are an `$and`, and so are none.
fn all(filter: Doc<'_>, level: usize, out: &mut String) {
    let several = filter
        .elements()
        .map(|element| match element.value() {
            Value::Document(operators) if is_operators(operators) => asked(operators).count(),
            _ => usize::from(element.name_str() != "$comment"),
        })
        .sum::<usize>()
        != 1;
    let level = match several {
        true => {
            line(level, "$and", out);
            level + 1
        }
        false => level,
    };
    for element in filter.elements() {
        match (element.name_str(), element.value()) {
            ("$comment", _) => {}
            (name @ ("$and" | "$or" | "$nor"), value) => logical(name, value, level, out),
            (path, Value::Document(operators)) if is_operators(operators) => {
                for operator in asked(operators) {
                    condition(path, operators, operator, level, out);
                }
            }
            (path, value) => leaf(vec![(path.to_owned(), value.into())], level, out),
        }
    }
}

fn logical(name: &str, branches: Value<'_>, level: usize, out: &mut String) {
    line(level, name, out);
    for branch in branches.as_array().into_iter().flat_map(Doc::values) {
        all(branch.as_document().unwrap_or(Doc::empty()), level + 1, out);
    }
}

/// The operators of a field; the options of a pattern are a part of it.
fn asked(operators: Doc<'_>) -> impl Iterator<Item = (&str, Value<'_>)> {
    let all = operators
        .elements()
        .map(|element| (element.name_str(), element.value()));
    all.filter(|(name, _)| *name != "$options")
}

/// One of the operators of a field.
fn condition(path: &str, operators: Doc<'_>, operator: (&str, Value<'_>), level: usize, out: &mut String) {
    match operator {
        ("$not", Value::Document(operators)) => {
            line(level, "$not", out);
            line(level + 1, "$and", out);
            for operator in asked(operators) {
                condition(path, operators, operator, level + 2, out);
            }
        }
        ("$not", value) => {
            line(level, "$not", out);
            leaf(vec![(path.to_owned(), value.into())], level + 1, out);
        }
        ("$ne", value) => {
            line(level, "$not", out);
            condition(path, operators, ("$eq", value), level + 1, out);
        }
        ("$nin", value) => {
            line(level, "$not", out);
            condition(path, operators, ("$in", value), level + 1, out);
        }
        (operation, value) => {
            let mut own: Fields = vec![(operation.to_owned(), value.into())];
            if let Some(options) = operators.get("$options").filter(|_| operation == "$regex") {
                own.push(("$options".to_owned(), options.into()));
            }
            leaf(vec![(path.to_owned(), Owned::Document(own))], level, out);
        }
    }
}

/// A condition that holds no others.
fn leaf(filter: Fields, level: usize, out: &mut String) {
    let Ok(matcher) = Matcher::parse(Doc::Fields(&filter)) else {
        return;
    };
    let text = match matcher.root() {
        // One of one value is shown as a list all the same.
        Node::Field {
            path,
            predicate: Predicate::In { values, patterns },
        } if values.len() + patterns.len() == 1 => {
            let patterns = patterns
                .iter()
                .map(|pattern| format!("/{}/{}", pattern.pattern(), pattern.options()));
            let only = values.iter().map(|value| value.as_value().to_string());
            format!(
                "{} $in [ {} ]\n",
                path.as_str(),
                only.chain(patterns).collect::<String>()
            )
        }
        node => node.subtree(),
    };
    for own in text.lines() {
        line(level, own, out);
    }
}

fn line(level: usize, text: &str, out: &mut String) {
    for _ in 0..level {
        out.push_str("    ");
    }
    out.push_str(text);
    out.push('\n');
}
