//! Filters without their values.

use std::fmt::Write;

use bson::{RawBsonRef, RawDocument};

use super::Operation;

/// How deep a shape is written out.
const MOST_LEVELS: usize = 8;

impl Operation {
    /// The filter's fields and operators, with `?` in place of each value, for logs: `{ name: ?, age: { $gt: ? } }`.
    /// `None` for an operation without a filter; of a pipeline, the filter that it begins with; of a command, that of
    /// its field `filter`, `query` or `pipeline`.
    ///
    /// ```
    /// use odm::backend::{Find, Namespace, Operation};
    /// use odm::bson::rawdoc;
    ///
    /// let people = Namespace { database: "main".into(), collection: "people".into() };
    /// let find = Find::new(people, rawdoc! { "name": "secret", "$or": [{ "age": { "$gt": 40 } }] });
    /// let shape = Operation::Find(find).filter_shape();
    /// assert_eq!(shape.as_deref(), Some("{ name: ?, $or: [{ age: { $gt: ? } }] }"));
    /// ```
    pub fn filter_shape(&self) -> Option<String> {
        match self {
            Operation::Find(own) => Some(shape(&own.filter)),
            Operation::Count(own) => Some(shape(&own.filter)),
            Operation::Distinct(own) => Some(shape(&own.filter)),
            Operation::FindAndModify(own) => Some(shape(&own.filter)),
            Operation::Update(own) => own.statements.first().map(|first| shape(&first.filter)),
            Operation::Delete(own) => own.statements.first().map(|first| shape(&first.filter)),
            Operation::Aggregate(own) => own.pipeline.first().and_then(|stage| leading(stage)),
            Operation::RunCommand(own) => commanded(&own.command),
            _ => None,
        }
    }
}

/// The filter of a first stage.
fn leading(stage: &RawDocument) -> Option<String> {
    match stage.get("$match") {
        Ok(Some(RawBsonRef::Document(filter))) => Some(shape(filter)),
        _ => None,
    }
}

fn commanded(command: &RawDocument) -> Option<String> {
    for name in ["filter", "query", "q"] {
        if let Ok(Some(RawBsonRef::Document(filter))) = command.get(name) {
            return Some(shape(filter));
        }
    }
    for (name, read) in [
        ("pipeline", leading as fn(&RawDocument) -> Option<String>),
        ("updates", commanded),
        ("deletes", commanded),
    ] {
        if let Ok(Some(RawBsonRef::Array(items))) = command.get(name)
            && let Some(Ok(RawBsonRef::Document(first))) = items.into_iter().next()
        {
            return read(first);
        }
    }
    None
}

fn shape(filter: &RawDocument) -> String {
    let mut text = String::new();
    write(filter, &mut text, MOST_LEVELS);
    text
}

/// Names stay, values become `?`; what does not stand where operators stand is a value.
fn write(filter: &RawDocument, text: &mut String, levels: usize) {
    text.push('{');
    for (at, element) in filter.iter().enumerate() {
        let Ok((name, value)) = element else { break };
        let name = name.as_str();
        text.push_str(if at == 0 { " " } else { ", " });
        let _ = write!(text, "{name}: ");
        match value {
            RawBsonRef::Document(inner) if levels > 0 && holds_conditions(name, inner) => {
                write(inner, text, levels - 1);
            }
            RawBsonRef::Array(items) if levels > 0 && matches!(name, "$and" | "$or" | "$nor") => {
                text.push('[');
                for (at, item) in items.into_iter().enumerate() {
                    if at > 0 {
                        text.push_str(", ");
                    }
                    match item {
                        Ok(RawBsonRef::Document(inner)) => write(inner, text, levels - 1),
                        _ => text.push('?'),
                    }
                }
                text.push(']');
            }
            _ => text.push('?'),
        }
    }
    text.push_str(if filter.is_empty() { "}" } else { " }" });
}

/// Whether the document under this name holds conditions, and is no value.
fn holds_conditions(name: &str, document: &RawDocument) -> bool {
    matches!(name, "$not" | "$elemMatch") || (!name.starts_with('$') && is_operators(document))
}

/// Whether all names are those of operators.
fn is_operators(document: &RawDocument) -> bool {
    const VALUES: &[&str] = &["$ref", "$id", "$db"];
    let mut names = document.iter().filter_map(Result::ok).map(|(name, _)| name);
    let mut any = false;
    let all = names.all(|name| {
        any = true;
        name.as_str().starts_with('$') && !VALUES.contains(&name.as_str())
    });
    any && all
}
