//! Options of `create` that the engine does not have: what the server would refuse is refused with its words, the
//! rest by name.

use super::{unknown, wrong_type};
use crate::native::document::{Doc, Kind, Value};
use crate::native::fault::{Fault, Result, code};

/// Refuses encrypted fields.
///
/// # Errors
/// The server's, if it would not create the collection either; else `unsupported`.
pub(super) fn refuse(options: Doc<'_>) -> Result<()> {
    if let Some(fields) = options.get("encryptedFields") {
        check_encrypted(fields, options)?;
        return Err(unsupported("encryptedFields"));
    }
    Ok(())
}

fn unsupported(name: &str) -> Fault {
    Fault::unsupported(format!("collection option '{name}' is not supported"))
}

fn text<'a>(field: &str, value: Value<'a>) -> Result<&'a str> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong_type(field, other, "type 'string'")),
    }
}

fn check_encrypted(encrypted: Value<'_>, options: Doc<'_>) -> Result<()> {
    const NAME: &str = "create.encryptedFields";
    let Value::Document(encrypted) = encrypted else {
        return Err(wrong_type(NAME, encrypted, "type 'object'"));
    };
    let mut fields = None;
    for element in encrypted.elements() {
        let (name, value) = (element.name_str(), element.value());
        let field = format!("{NAME}.{name}");
        match name {
            "fields" => match value {
                Value::Array(items) => fields = Some(items),
                other => return Err(wrong_type(&field, other, "type 'array'")),
            },
            "escCollection" | "eccCollection" | "ecocCollection" => {
                text(&field, value)?;
            }
            _ => return Err(unknown(NAME, name)),
        }
    }
    let Some(fields) = fields else {
        return Err(Fault::new(
            40414,
            format!("BSON field '{NAME}.fields' is missing but a required field"),
        ));
    };
    for (at, item) in fields.values().enumerate() {
        match item {
            Value::Document(field) => check_encrypted_field(field)?,
            Value::Null | Value::Undefined => {}
            other => return Err(wrong_type(&format!("{NAME}.fields.{at}"), other, "type 'object'")),
        }
    }
    if options.get("viewOn").is_some() || options.get("timeseries").is_some() {
        return Err(Fault::new(
            6_346_401,
            "Encrypted fields cannot be used with views or timeseries collections",
        ));
    }
    if options
        .get("capped")
        .is_some_and(|capped| !matches!(capped, Value::Bool(false)))
    {
        return Err(Fault::new(
            6_367_301,
            "Encrypted fields cannot be used with capped collections",
        ));
    }
    Ok(())
}

fn check_encrypted_field(spec: Doc<'_>) -> Result<()> {
    const NAME: &str = "create.encryptedFields.fields";
    for element in spec.elements() {
        let (name, value) = (element.name_str(), element.value());
        let field = format!("{NAME}.{name}");
        match (name, value) {
            ("keyId", Value::Binary { subtype: 4, .. }) => {}
            ("keyId", Value::Binary { .. }) => {
                return Err(Fault::new(
                    code::TYPE_MISMATCH,
                    format!("BSON field '{field}' is the wrong binData type, expected type 'UUID'"),
                ));
            }
            ("keyId", other) => return Err(wrong_type(&field, other, "type 'binData'")),
            ("path", value) => {
                text(&field, value)?;
            }
            ("bsonType", value) => {
                let alias = text(&field, value)?;
                if Kind::ALL.iter().all(|kind| kind.alias() != alias) {
                    return Err(Fault::new(code::BAD_VALUE, format!("Unknown type name: {alias}")));
                }
            }
            ("queries", Value::Document(query)) => check_encrypted_query(query)?,
            ("queries", Value::Array(queries)) => {
                for query in queries.values().filter_map(|query| query.as_document()) {
                    check_encrypted_query(query)?;
                }
            }
            ("queries", other) => return Err(wrong_type(&field, other, "types '[']")),
            _ => return Err(unknown(NAME, name)),
        }
    }
    match ["keyId", "path"]
        .into_iter()
        .find(|name| spec.get(name).is_none())
    {
        Some(name) => Err(Fault::new(
            40414,
            format!("BSON field '{NAME}.{name}' is missing but a required field"),
        )),
        None => Ok(()),
    }
}

fn check_encrypted_query(query: Doc<'_>) -> Result<()> {
    match query.get("queryType") {
        Some(Value::String("equality")) => Ok(()),
        Some(Value::String(other)) => Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "Enumeration value '{other}' for field 'create.encryptedFields.fields.queryType' is not a valid value."
            ),
        )),
        Some(other) => Err(wrong_type(
            "create.encryptedFields.fields.queryType",
            other,
            "type 'string'",
        )),
        None => Err(Fault::new(
            40414,
            "BSON field 'create.encryptedFields.fields.queryType' is missing but a required field",
        )),
    }
}
