//! Encrypted fields: which they are, and what their values must look like. Who encrypts and decrypts them is the client.

use super::wrong_type;
use crate::native::document::number::as_i64_exact;
use crate::native::document::{Doc, Fields, Kind, Once, Owned, Value};
use crate::native::fault::{Fault, Result, code};
use crate::native::matcher::integer;

/// A field whose values are encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EncryptedField {
    pub(crate) path: String,
    /// The type of what is encrypted, if it is said: its number.
    pub(crate) kind: Option<u8>,
}

const NAME: &str = "create.encryptedFields";

/// The types of which no values are looked for.
const NO_EQUALITY: &[&str] = &[
    "double",
    "object",
    "array",
    "undefined",
    "null",
    "javascriptWithScope",
    "decimal",
    "minKey",
    "maxKey",
];

/// The types of which no values are encrypted.
const NEVER_ENCRYPTED: &[&str] = &["undefined", "null", "minKey", "maxKey"];

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

/// Checks what `encryptedFields` is made of.
///
/// # Errors
/// MongoDB's, for what has not its form.
pub(crate) fn check_form(encrypted: Value<'_>) -> Result<()> {
    form(encrypted).map(|_| ())
}

fn form(encrypted: Value<'_>) -> Result<(States<'_>, Vec<Fields>)> {
    let Value::Document(encrypted) = encrypted else {
        return Err(wrong_type(NAME, encrypted, "type 'object'"));
    };
    let mut fields = None;
    let mut states = States::default();
    let mut once = Once::within(NAME);
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
            _ => return Err(Fault::unknown_field(NAME, name)),
        }
        once.see(&element)?;
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
    Ok((states, kept))
}

/// Checks `encryptedFields` of `create` and gives it as it is kept; `ns` is the collection's full name.
///
/// # Errors
/// MongoDB's, for what has not its form or does not go together.
pub(super) fn parse(encrypted: Value<'_>, options: Doc<'_>, ns: &str) -> Result<Owned> {
    let (states, kept) = form(encrypted)?;
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
        let value = spec.get(name).filter(|value| !is_missing(value))?;
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
    Ok(parts.collect())
}

/// Refuses a type that its queries do not have.
fn check_type(field: &Fields) -> Result<()> {
    let part = |name: &str| field.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    let queries = part("queries");
    if let Some(Owned::Array(queries)) = queries
        && queries.len() != 1
    {
        return Err(Fault::new(
            6_338_404,
            "Only 1 equality queryType can be specified per field",
        ));
    }
    let is_equality = queries.is_some();
    match part("bsonType") {
        None if is_equality => Err(Fault::new(
            6_412_601,
            "Bson type needs to be specified for equality indexed field",
        )),
        Some(Owned::String(alias)) if is_equality && NO_EQUALITY.contains(&alias.as_str()) => {
            Err(Fault::new(
                6_338_405,
                format!("Type '{alias}' is not a supported equality indexed type"),
            ))
        }
        Some(Owned::String(alias)) if NEVER_ENCRYPTED.contains(&alias.as_str()) => Err(Fault::new(
            6_338_406,
            format!("Type '{alias}' is not a supported unindexed type"),
        )),
        _ => Ok(()),
    }
}

/// A kind of query with how many clients may write the same value at once: four where it is not said.
fn with_contention(query: Doc<'_>) -> Owned {
    const USUAL: i64 = 4;
    let given = query.get("contention").and_then(|given| as_i64_exact(&given));
    let kind = query
        .get("queryType")
        .map(|kind| ("queryType".to_owned(), kind.into()));
    let mut fields: Fields = kind.into_iter().collect();
    fields.push(("contention".to_owned(), Owned::Int64(given.unwrap_or(USUAL))));
    Owned::Document(fields)
}

/// Refuses validation that would take what is not encrypted; `names` says which options are looked at first.
///
/// # Errors
/// Code 2.
pub(crate) fn check_validation(options: Doc<'_>, names: &[&str]) -> Result<()> {
    for name in names {
        let why = match (*name, options.get(name).and_then(|value| value.as_str())) {
            ("validationLevel", Some("off" | "moderate")) => {
                "Validation levels other than 'strict' are not allowed on encrypted collections"
            }
            ("validationAction", Some("warn")) => {
                "Validation action of 'warn' is not allowed on encrypted collections"
            }
            _ => continue,
        };
        return Err(Fault::new(code::BAD_VALUE, why));
    }
    Ok(())
}

/// Refuses fields that have a key or a place in common, and queries that their types do not have.
fn check_together(fields: &[Fields]) -> Result<()> {
    let key = |field: &Fields| field.first().map(|(_, key)| key.as_value().to_string());
    let path = |field: &Fields| match field.get(1) {
        Some((_, Owned::String(path))) => path.clone(),
        _ => String::new(),
    };
    for (at, field) in fields.iter().enumerate() {
        let before = fields.iter().take(at);
        if before.clone().any(|other| key(other) == key(field)) {
            return Err(Fault::new(6_338_401, "Duplicate key ids are not allowed"));
        }
        let path_of = path(field);
        let mut paths = before.map(path);
        if paths.clone().any(|other| other == path_of) {
            return Err(Fault::new(6_338_402, "Duplicate paths are not allowed"));
        }
        if let Some(other) = paths.find(|other| overlap(&path_of, other)) {
            return Err(Fault::new(
                6_338_403,
                format!(
                    "Conflicting index paths found as one is a prefix of another '{path_of}' and '{other}'"
                ),
            ));
        }
        check_type(field)?;
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
    let mut once = Once::within(NAME);
    for element in spec.elements() {
        let (name, value) = (element.name_str(), element.value());
        let field = format!("{NAME}.{name}");
        match (name, value) {
            ("keyId" | "path" | "bsonType", missing) if is_missing(&missing) => {}
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
            ("queries", Value::Document(query)) => check_query(query, NAME)?,
            ("queries", Value::Array(queries)) => check_queries(queries, &field)?,
            ("queries", other) => return Err(wrong_type(&field, other, "types '[']")),
            _ => return Err(Fault::unknown_field(NAME, name)),
        }
        once.see(&element)?;
    }
    match ["keyId", "path"]
        .into_iter()
        .find(|name| spec.get(name).is_none_or(|value| is_missing(&value)))
    {
        Some(name) => Err(Fault::new(
            40414,
            format!("BSON field '{NAME}.{name}' is missing but a required field"),
        )),
        None => Ok(()),
    }
}

/// The first of several tells what all are to be.
fn check_queries(queries: Doc<'_>, name: &str) -> Result<()> {
    for (at, query) in queries.values().enumerate() {
        match query {
            Value::Document(query) => check_query(query, name)?,
            _ if at == 0 => return Err(wrong_type(name, Value::Array(queries), "types '[object']")),
            other if is_missing(&other) => {}
            other => return Err(wrong_type(&format!("{name}.{at}"), other, "type 'object'")),
        }
    }
    Ok(())
}

/// Checks a kind of query; `of` is the name under which its fields are told of.
fn check_query(query: Doc<'_>, of: &str) -> Result<()> {
    let mut has_type = false;
    let mut once = Once::within(of);
    for element in query.elements() {
        let (name, value) = (element.name_str(), element.value());
        let field = format!("{of}.{name}");
        match (name, value) {
            ("queryType" | "contention", missing) if is_missing(&missing) => {}
            ("queryType", Value::String("equality")) => has_type = true,
            ("queryType", Value::String(other)) => {
                return Err(Fault::new(
                    code::BAD_VALUE,
                    format!("Enumeration value '{other}' for field '{field}' is not a valid value."),
                ));
            }
            ("queryType", other) => return Err(wrong_type(&field, other, "type 'string'")),
            ("contention", value) if value.is_number() => {
                let contention = integer::parse(name, &value)?;
                if contention < 0 {
                    return Err(Fault::new(
                        51024,
                        format!("BSON field '{name}' value must be >= 0, actual value '{contention}'"),
                    ));
                }
            }
            ("contention", other) => {
                return Err(wrong_type(&field, other, "types '[long, int, decimal, double']"));
            }
            _ => return Err(Fault::unknown_field(of, name)),
        }
        once.see(&element)?;
    }
    match has_type {
        true => Ok(()),
        false => Err(Fault::new(
            40414,
            format!("BSON field '{of}.queryType' is missing but a required field"),
        )),
    }
}

fn is_missing(value: &Value<'_>) -> bool {
    matches!(value, Value::Null | Value::Undefined)
}
