//! Encrypted fields: which they are, and what their values must look like. Who encrypts and decrypts them is the client.

use super::{unknown, wrong_type};
use crate::native::document::number::as_i64_exact;
use crate::native::document::{Doc, Fields, Kind, Owned, Value};
use crate::native::fault::{Fault, Result, code};

/// A field whose values are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncryptedField {
    pub(crate) path: String,
    /// The type of what is encrypted, if it is said: its number.
    pub(crate) kind: Option<u8>,
}

const NAME: &str = "create.encryptedFields";

/// Reads options as they are stored.
pub(super) fn stored(options: Doc<'_>) -> Vec<EncryptedField> {
    let fields = options
        .get("encryptedFields")
        .and_then(|own| own.as_document()?.get("fields")?.as_array());
    let fields = fields.into_iter().flat_map(Doc::values);
    fields
        .filter_map(|field| {
            let field = field.as_document()?;
            let kind = field
                .get("bsonType")
                .and_then(|alias| alias.as_str().and_then(kind));
            Some(EncryptedField {
                path: field.get("path")?.as_str()?.to_owned(),
                kind: kind.map(|kind| kind as u8),
            })
        })
        .collect()
}

fn kind(alias: &str) -> Option<Kind> {
    Kind::ALL.iter().copied().find(|kind| kind.alias() == alias)
}

/// Checks `encryptedFields` of `create` and gives it as it is kept; `ns` is the collection's full name.
///
/// # Errors
/// MongoDB's, for what has not its form or does not go together.
pub(super) fn parse(encrypted: Value<'_>, options: Doc<'_>, ns: &str) -> Result<Owned> {
    let Value::Document(encrypted) = encrypted else {
        return Err(wrong_type(NAME, encrypted, "type 'object'"));
    };
    let mut fields = None;
    let mut states = States::default();
    for element in encrypted.elements() {
        let (name, value) = (element.name_str(), element.value());
        let field = format!("{NAME}.{name}");
        match name {
            "fields" => match value {
                Value::Array(items) => fields = Some(items),
                other => return Err(wrong_type(&field, other, "type 'array'")),
            },
            "escCollection" => states.esc = Some(text(&field, value)?),
            "eccCollection" => states.ecc = Some(text(&field, value)?),
            "ecocCollection" => states.ecoc = Some(text(&field, value)?),
            _ => return Err(unknown(NAME, name)),
        }
    }
    let Some(fields) = fields else {
        return Err(Fault::new(
            40414,
            format!("BSON field '{NAME}.fields' is missing but a required field"),
        ));
    };
    let mut kept = Vec::new();
    for (at, item) in fields.values().enumerate() {
        match item {
            Value::Document(field) => kept.push(checked(field)?),
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
    check_together(&kept)?;
    let name = ns.split_once('.').map_or(ns, |(_, name)| name);
    Ok(states.kept(name, kept))
}

/// The collections in which the clients keep what they need for queries.
#[derive(Default)]
struct States<'a> {
    esc: Option<&'a str>,
    ecc: Option<&'a str>,
    ecoc: Option<&'a str>,
}

impl States<'_> {
    fn kept(&self, name: &str, fields: Vec<Fields>) -> Owned {
        let state = |option: &str, given: Option<&str>, short: &str| {
            let text = given.map_or_else(|| format!("enxcol_.{name}.{short}"), str::to_owned);
            (option.to_owned(), Owned::String(text))
        };
        let fields = fields.into_iter().map(Owned::Document).collect();
        Owned::Document(vec![
            state("escCollection", self.esc, "esc"),
            state("eccCollection", self.ecc, "ecc"),
            state("ecocCollection", self.ecoc, "ecoc"),
            ("fields".to_owned(), Owned::Array(fields)),
        ])
    }
}

/// One field, its parts in the order in which they are kept.
fn checked(spec: Doc<'_>) -> Result<Fields> {
    check_field(spec)?;
    let parts = ["keyId", "path", "bsonType", "queries"].into_iter();
    let parts = parts.filter_map(|name| {
        let value = spec.get(name)?;
        let kept = match (name, value) {
            ("queries", Value::Document(query)) => with_contention(query),
            ("queries", Value::Array(queries)) => Owned::Array(
                queries
                    .values()
                    .filter_map(|query| query.as_document().map(with_contention))
                    .collect(),
            ),
            (_, value) => value.into(),
        };
        Some((name.to_owned(), kept))
    });
    let is_equality = spec.get("queries").is_some();
    match spec.get("bsonType").and_then(|alias| alias.as_str()) {
        None if is_equality => Err(Fault::new(
            6_412_601,
            "Bson type needs to be specified for equality indexed field",
        )),
        Some(
            alias @ ("double"
            | "object"
            | "array"
            | "undefined"
            | "null"
            | "javascriptWithScope"
            | "decimal"
            | "minKey"
            | "maxKey"),
        ) if is_equality => Err(Fault::new(
            6_338_405,
            format!("Type '{alias}' is not a supported equality indexed type"),
        )),
        Some(alias @ ("undefined" | "null" | "minKey" | "maxKey")) => Err(Fault::new(
            6_338_406,
            format!("Type '{alias}' is not a supported unindexed type"),
        )),
        _ => Ok(parts.collect()),
    }
}

/// A kind of query with how many clients may write the same value at once: four where it is not said.
fn with_contention(query: Doc<'_>) -> Owned {
    const USUAL: i64 = 4;
    let given = query.get("contention").and_then(|given| as_i64_exact(&given));
    let mut fields: Fields = query
        .elements()
        .filter(|element| element.name() != b"contention")
        .map(|element| (element.name_str().to_owned(), element.value().into()))
        .collect();
    fields.push(("contention".to_owned(), Owned::Int64(given.unwrap_or(USUAL))));
    Owned::Document(fields)
}

/// Refuses fields that have a key or a place in common.
fn check_together(fields: &[Fields]) -> Result<()> {
    let part = |field: &Fields, at: usize| field.get(at).map(|(_, value)| value.clone());
    let paths: Vec<String> = fields
        .iter()
        .filter_map(|field| match part(field, 1) {
            Some(Owned::String(path)) => Some(path),
            _ => None,
        })
        .collect();
    for at in 0..fields.len() {
        for before in 0..at {
            if part(&fields[at], 0).map(|key| key.as_value().to_string())
                == part(&fields[before], 0).map(|key| key.as_value().to_string())
            {
                return Err(Fault::new(6_338_401, "Duplicate key ids are not allowed"));
            }
            let (Some(path), Some(other)) = (paths.get(at), paths.get(before)) else {
                continue;
            };
            if path == other {
                return Err(Fault::new(6_338_402, "Duplicate paths are not allowed"));
            }
            if overlap(path, other) {
                return Err(Fault::new(
                    6_338_403,
                    format!(
                        "Conflicting index paths found as one is a prefix of another '{path}' and '{other}'"
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Whether two paths are the same, or one leads through the other.
pub(crate) fn overlap(path: &str, other: &str) -> bool {
    let below = |path: &str, other: &str| {
        path.strip_prefix(other)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    below(path, other) || below(other, path)
}

fn text<'a>(field: &str, value: Value<'a>) -> Result<&'a str> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong_type(field, other, "type 'string'")),
    }
}

fn check_field(spec: Doc<'_>) -> Result<()> {
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
            ("queries", Value::Document(query)) => check_query(query)?,
            ("queries", Value::Array(queries)) => {
                for query in queries.values().filter_map(|query| query.as_document()) {
                    check_query(query)?;
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

fn check_query(query: Doc<'_>) -> Result<()> {
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
