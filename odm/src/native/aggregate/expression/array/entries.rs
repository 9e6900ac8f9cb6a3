//! Objects as arrays of their entries, and back.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::super::super::super::document::doc::{framed, framed_element};
use super::super::super::super::document::{Doc, Items, Kind, Owned, Value};
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
    let mut entries = Items::default();
    for element in doc.elements() {
        entries.push_with(|name, out| {
            framed_element(Kind::Document, name, out, |out| {
                Value::String(element.name_str()).write_element(b"k", out);
                element.write(b"v", out);
            });
        });
    }
    Ok(Some(entries.into_owned()))
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
    let mut fields: Vec<(&str, Value<'_>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
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
        match places.entry(name) {
            Entry::Occupied(place) => fields[*place.get()].1 = value,
            Entry::Vacant(place) => {
                place.insert(fields.len());
                fields.push((name, value));
            }
        }
    }
    let mut object = Vec::new();
    framed(&mut object, |out| {
        for (name, value) in &fields {
            value.write_element(name.as_bytes(), out);
        }
    });
    Ok(Some(Owned::RawDocument(object)))
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
