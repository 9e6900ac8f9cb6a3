//! Objects as arrays of their entries, and back.

use super::super::super::super::document::{Doc, Fields, Owned, Value};
use super::super::super::super::fault::{Fault, Result};
use super::super::super::print;
use super::super::Answer;
use super::super::operator::Operator;

pub(super) fn to_array(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some(object) = arguments.first().filter(|object| !object.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    let Some(Value::Document(doc)) = object.value() else {
        return Err(Fault::new(
            40390,
            format!(
                "$objectToArray requires a document input, found: {}",
                object.type_name()
            ),
        ));
    };
    Ok(Some(Owned::Array(
        doc.elements()
            .map(|element| {
                Owned::Document(vec![
                    ("k".to_owned(), Owned::String(element.name_str().to_owned())),
                    ("v".to_owned(), element.value().into()),
                ])
            })
            .collect(),
    )))
}

pub(super) fn to_object(_: &'static Operator, arguments: &[Answer<'_>]) -> Result<Option<Owned>> {
    let Some(array) = arguments.first().filter(|array| !array.is_nullish()) else {
        return Ok(Some(Owned::Null));
    };
    let Some(Value::Array(items)) = array.value() else {
        return Err(Fault::new(
            40386,
            format!(
                "$arrayToObject requires an array input, found: {}",
                array.type_name()
            ),
        ));
    };
    let mut fields: Fields = Vec::new();
    let mut pairs = None;
    for item in items.values() {
        let (name, value) = match (item, pairs) {
            (Value::Array(pair), None | Some(true)) => {
                pairs = Some(true);
                from_pair(pair)?
            }
            (Value::Document(entry), None | Some(false)) => {
                pairs = Some(false);
                from_entry(entry)?
            }
            (other, None) => {
                return Err(Fault::new(
                    40398,
                    format!(
                        "Unrecognised input type format for $arrayToObject: {}",
                        other.kind().alias()
                    ),
                ));
            }
            (other, Some(pairs)) => {
                let (code, detected) = if pairs {
                    (40396, "Array")
                } else {
                    (40391, "Object")
                };
                return Err(Fault::new(
                    code,
                    format!(
                        "$arrayToObject requires a consistent input format. Elements mustall be arrays or all be objects. {detected} was detected, now found: {}",
                        other.kind().alias()
                    ),
                ));
            }
        };
        if name.contains('\0') {
            return Err(Fault::new(
                if pairs == Some(true) { 4940400 } else { 4940401 },
                "Key field cannot contain an embedded null byte",
            ));
        }
        match fields.iter_mut().find(|(other, _)| other == name) {
            Some((_, slot)) => *slot = value.into(),
            None => fields.push((name.to_owned(), value.into())),
        }
    }
    Ok(Some(Owned::Document(fields)))
}

fn from_pair<'a>(pair: Doc<'a>) -> Result<(&'a str, Value<'a>)> {
    let mut values = pair.values();
    match (values.next(), values.next(), values.next()) {
        (Some(Value::String(name)), Some(value), None) => Ok((name, value)),
        (Some(other), Some(_), None) => Err(Fault::new(
            40395,
            format!(
                "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: {}",
                other.kind().alias()
            ),
        )),
        _ => Err(Fault::new(
            40397,
            format!(
                "$arrayToObject requires an array of size 2 arrays,found array of size: {}",
                pair.count()
            ),
        )),
    }
}

fn from_entry<'a>(entry: Doc<'a>) -> Result<(&'a str, Value<'a>)> {
    if entry.count() != 2 {
        return Err(Fault::new(
            40392,
            format!(
                "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:{}",
                entry.count()
            ),
        ));
    }
    match (entry.get("k"), entry.get("v")) {
        (Some(Value::String(name)), Some(value)) => Ok((name, value)),
        (Some(other), Some(_)) => Err(Fault::new(
            40394,
            format!(
                "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. Found type: {}",
                other.kind().alias()
            ),
        )),
        _ => Err(Fault::new(
            40393,
            format!(
                "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: {}",
                print::value(&Value::Document(entry))
            ),
        )),
    }
}
