//! `$rename`: the value comes from another path.

use super::super::document::{Doc, Owned, Value};
use super::super::fault::{Fault, Result, code};
use super::apply::Context;
use super::path::{Location, Name, array_index};

/// The value at `source` in the document as it was; `None` when there is none. No other operation of the
/// update can have changed it, since paths may not conflict.
pub(super) fn taken(
    source: &[String],
    destination: &Location<'_>,
    context: &Context<'_>,
) -> Result<Option<Owned>> {
    let Some(value) = look_up(source, context)? else {
        return Ok(None);
    };
    refuse_array_on_the_way(destination, context)?;
    Ok(Some(value))
}

fn look_up(source: &[String], context: &Context<'_>) -> Result<Option<Owned>> {
    let Some((first, rest)) = source.split_first() else {
        return Ok(None);
    };
    let Some(mut value) = Doc::Raw(context.document).get(first) else {
        return Ok(None);
    };
    let mut name = first;
    // The innermost array is the one that the server names.
    let mut array = None;
    for next in rest {
        let inner = match value {
            Value::Document(doc) => doc.get(next),
            Value::Array(items) => {
                array = Some(name);
                match array_index(next) {
                    Some(index) => items.at(index),
                    None => return Err(not_traversable(name, source, &value)),
                }
            }
            _ => return Err(not_traversable(name, source, &value)),
        };
        match inner {
            Some(inner) => (value, name) = (inner, next),
            None => return Ok(None),
        }
    }
    match array {
        Some(array) => Err(in_array("source", &source.join("."), array, context)),
        None => Ok(Some(value.into())),
    }
}

fn not_traversable(name: &str, source: &[String], value: &Value<'_>) -> Fault {
    Fault::new(
        code::PATH_NOT_VIABLE,
        format!(
            "cannot use the part ({name} of {}) to traverse the element ({{{name}: {value}}})",
            source.join(".")
        ),
    )
}

fn in_array(which: &str, path: &str, array: &str, context: &Context<'_>) -> Fault {
    Fault::new(
        code::BAD_VALUE,
        format!(
            "The {which} field cannot be an array element, '{path}' in doc with {} has an array field called '{array}'",
            context.id_text()
        ),
    )
}

fn refuse_array_on_the_way(destination: &Location<'_>, context: &Context<'_>) -> Result<()> {
    let mut names = Vec::new();
    let mut at = destination.parent();
    while let Some(location) = at {
        names.push(location.name());
        at = location.parent();
    }
    let mut value = Value::Document(Doc::Raw(context.document));
    let mut array = None;
    for name in names.into_iter().rev() {
        let inner = match (value, name) {
            (Value::Document(doc), Name::Field(name)) => doc.get(name),
            (Value::Array(items), Name::Field(name)) => array_index(name).and_then(|index| items.at(index)),
            (Value::Array(items), Name::Index(index)) => items.at(index),
            _ => None,
        };
        let Some(inner) = inner else { break };
        value = inner;
        if let Value::Array(_) = value {
            array = Some(name.to_string());
        }
    }
    match array {
        Some(array) => Err(in_array("destination", &destination.to_string(), &array, context)),
        None => Ok(()),
    }
}
