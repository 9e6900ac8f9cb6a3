//! Options of `create` that the engine does not have: what the server would refuse is refused with its words, the
//! rest by name.

use super::clustered::expire_after;
use super::{unknown, wrong_type};
use crate::native::document::number::{as_f64, as_i64_exact};
use crate::native::document::{Doc, Kind, Value};
use crate::native::fault::{Fault, Result, code};

/// What cannot stand beside `timeseries`.
const NOT_BESIDE_SERIES: &[&str] = &[
    "autoIndexId",
    "capped",
    "changeStreamPreAndPostImages",
    "clusteredIndex",
    "idIndex",
    "max",
    "recordPreImages",
    "size",
    "validationAction",
    "validationLevel",
    "validator",
    "viewOn",
];

/// Refuses time series and encrypted fields. `ns` is the collection's full name.
///
/// # Errors
/// The server's, if it would not create the collection either; else `unsupported`.
pub(super) fn refuse(options: Doc<'_>, ns: &str) -> Result<()> {
    if let Some(fields) = options.get("encryptedFields") {
        check_encrypted(fields, options)?;
        return Err(unsupported("encryptedFields"));
    }
    if let Some(series) = options.get("timeseries") {
        check_series(series, options, ns)?;
        return Err(unsupported("timeseries"));
    }
    Ok(())
}

fn unsupported(name: &str) -> Fault {
    Fault::unsupported(format!("collection option '{name}' is not supported"))
}

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::INVALID_OPTIONS, text)
}

fn check_series(series: Value<'_>, options: Doc<'_>, ns: &str) -> Result<()> {
    let Value::Document(series) = series else {
        return Err(wrong_type("create.timeseries", series, "type 'object'"));
    };
    let (mut time, mut meta, mut span, mut granularity) = (None, None, None, "seconds");
    for element in series.elements() {
        let (name, value) = (element.name_str(), element.value());
        let field = format!("create.timeseries.{name}");
        match name {
            "timeField" | "metaField" | "granularity" | "bucketMaxSpanSeconds"
                if matches!(value, Value::Null | Value::Undefined) => {}
            "timeField" => time = Some(text(&field, value)?),
            "metaField" => meta = Some(text(&field, value)?),
            "granularity" => {
                granularity = text(&field, value)?;
                if !matches!(granularity, "seconds" | "minutes" | "hours") {
                    return Err(Fault::new(
                        code::BAD_VALUE,
                        format!(
                            "Enumeration value '{granularity}' for field '{field}' is not a valid value."
                        ),
                    ));
                }
            }
            "bucketMaxSpanSeconds" if value.is_number() => {
                let seconds = as_i64_exact(&value).unwrap_or_else(|| as_f64(&value).unwrap_or(0.0) as i64);
                if seconds < 1 {
                    return Err(Fault::new(
                        51024,
                        format!("BSON field '{name}' value must be >= 1, actual value '{seconds}'"),
                    ));
                }
                span = Some(seconds);
            }
            "bucketMaxSpanSeconds" => {
                return Err(wrong_type(&field, value, "types '[long, int, decimal, double']"));
            }
            _ => return Err(unknown("create.timeseries", name)),
        }
    }
    let Some(time) = time else {
        return Err(Fault::new(
            40414,
            "BSON field 'create.timeseries.timeField' is missing but a required field",
        ));
    };
    let stands = |name: &&&str| match options.get(name) {
        None => false,
        Some(Value::Bool(false)) => **name != "capped",
        Some(_) => true,
    };
    if let Some(other) = NOT_BESIDE_SERIES.iter().find(stands) {
        return Err(invalid(format!(
            "{ns}: 'timeseries' is not allowed with '{other}'"
        )));
    }
    for (name, field) in [("timeField", Some(time)), ("metaField", meta)] {
        if field.is_some_and(|field| field.contains('.')) {
            return Err(invalid(format!(
                "{ns}: '{name}' must be a top-level field and not contain a '.'"
            )));
        }
    }
    if meta == Some("_id") {
        return Err(invalid("'metaField' cannot be \"_id\""));
    }
    if meta == Some(time) {
        return Err(invalid("'metaField' cannot be the same as 'timeField'"));
    }
    let usual = match granularity {
        "minutes" => 86_400,
        "hours" => 2_592_000,
        _ => 3_600,
    };
    if span.is_some_and(|span| span != usual) {
        return Err(Fault::new(
            5_510_500,
            format!(
                "Timeseries 'bucketMaxSpanSeconds' is not configurable to a value other than the default of {usual} for the provided granularity"
            ),
        ));
    }
    match options.get("expireAfterSeconds") {
        Some(seconds) => expire_after(&seconds).map(|_| ()),
        None => Ok(()),
    }
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
