//! What every command may carry.

use super::super::document::{Doc, Kind, Value, number};
use super::super::fault::{Fault, Result, code};
use super::shape::{Shape, Type, whole};

static WRITE_CONCERN: Shape = Shape {
    name: "WriteConcernOptions",
    fields: &[
        ("w", Type::Any),
        ("j", Type::Boolish),
        ("fsync", Type::Boolish),
        ("wtimeout", Type::Any),
        ("provenance", Type::String),
        ("wElectionId", Type::Any),
        ("wOpTime", Type::Any),
        ("getLastError", Type::Any),
    ],
    required: &[],
};

static READ_CONCERN: Shape = Shape {
    name: "readConcern",
    fields: &[
        ("level", Type::Any),
        ("afterClusterTime", Type::Any),
        ("afterOpTime", Type::Any),
        ("atClusterTime", Type::Any),
        ("provenance", Type::String),
    ],
    required: &[],
};

/// Commands that read at a level.
const LEVELED: &[&str] = &["find", "aggregate", "count", "distinct", "getMore", "explain"];

/// Commands that write nothing.
const READS: &[&str] = &[
    "find",
    "count",
    "distinct",
    "getMore",
    "listCollections",
    "listIndexes",
    "listDatabases",
    "validateDBMetadata",
];

/// Who may have given a concern.
const PROVENANCES: &[&str] = &[
    "clientSupplied",
    "implicitDefault",
    "customDefault",
    "getLastErrorDefaults",
    "internalWriteDefault",
];

/// How many members may acknowledge a write.
const MOST_MEMBERS: i64 = 50;

/// Checks what the command's own fields do not speak of.
pub(super) fn check(command: &str, doc: Doc<'_>) -> Result<()> {
    max_time(doc)?;
    if let Some(concern) = present(doc, "writeConcern") {
        write_concern(&concern)?;
        if READS.contains(&command) {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                "Command does not support writeConcern",
            ));
        }
    }
    if let Some(concern) = present(doc, "readConcern") {
        read_concern(command, &concern)?;
    }
    Ok(())
}

fn present<'a>(doc: Doc<'a>, name: &str) -> Option<Value<'a>> {
    doc.get(name)
        .filter(|value| !matches!(value, Value::Null | Value::Undefined))
}

/// The time limit in milliseconds; zero is none.
pub(super) fn max_time(doc: Doc<'_>) -> Result<Option<u64>> {
    let Some(value) = doc.get("maxTimeMS") else {
        return Ok(None);
    };
    if matches!(value, Value::Null | Value::Undefined) {
        return Ok(None);
    }
    if !value.is_number() {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field 'maxTimeMS' is the wrong type '{}', expected types '[long, int, decimal, double]'",
                value.kind().alias()
            ),
        ));
    }
    let limit = whole(&value).unwrap_or(0);
    if !(0..=i64::from(i32::MAX)).contains(&limit) {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!("{value} value for maxTimeMS is out of range"),
        ));
    }
    if number::as_i64_exact(&value).is_none() {
        return Err(Fault::new(code::BAD_VALUE, "maxTimeMS has non-integral value"));
    }
    Ok(u64::try_from(limit).ok().filter(|limit| *limit > 0))
}

fn wrong_type(name: &str, wanted: &str, value: &Value<'_>) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!(
            "\"{name}\" had the wrong type. Expected {wanted}, found {}",
            value.kind().alias()
        ),
    )
}

fn write_concern(value: &Value<'_>) -> Result<()> {
    let Some(doc) = value.as_document() else {
        return Err(wrong_type("writeConcern", "object", value));
    };
    let fields = WRITE_CONCERN.part(doc)?;
    let bad = |text: String| Err(Fault::new(code::FAILED_TO_PARSE, text));
    match fields.get("w") {
        None | Some(Value::Null | Value::Undefined | Value::String(_)) => {}
        Some(number) if number.is_number() => {
            let members = whole(&number).unwrap_or(0);
            if !(0..=MOST_MEMBERS).contains(&members) {
                return bad(format!(
                    "w has to be a non-negative number and not greater than 50; found: {members}"
                ));
            }
        }
        Some(Value::Document(tags)) => {
            if tags.is_empty() {
                return bad("tagged write concern requires tags".to_owned());
            }
            if let Some(element) = tags.elements().find(|element| !element.value().is_number()) {
                return bad(format!(
                    "tags must be a single level document with only number values; found: {}: {}",
                    element.name_str(),
                    element.value()
                ));
            }
        }
        Some(other) => {
            return bad(format!(
                "w has to be a number, string, or object; found: {}",
                other.kind().alias()
            ));
        }
    }
    if let Some(time) = fields.get("wtimeout")
        && time.is_number()
        && whole(&time).is_some_and(|time| time > i64::from(i32::MAX))
    {
        return bad("wtimeout must be a 32-bit integer".to_owned());
    }
    Ok(())
}

fn read_concern(command: &str, value: &Value<'_>) -> Result<()> {
    let Some(doc) = value.as_document() else {
        return Err(wrong_type("readConcern", "object", value));
    };
    let fields = READ_CONCERN.part(doc)?;
    for name in ["afterClusterTime", "atClusterTime"] {
        match fields.get(name) {
            None => {}
            Some(Value::Timestamp {
                time: 0,
                increment: 0,
            }) => {
                return Err(Fault::new(
                    code::INVALID_OPTIONS,
                    format!("{name} cannot be a null timestamp"),
                ));
            }
            Some(Value::Timestamp { .. }) => {}
            Some(other) => return Err(wrong_type(name, "timestamp", &other)),
        }
    }
    if let Some(from) = fields.string("provenance")
        && !PROVENANCES.contains(&from)
    {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "Enumeration value '{from}' for field 'ReadConcernArgs::parse.provenance' is not a valid value."
            ),
        ));
    }
    match fields.get("level") {
        None | Some(Value::String("local")) => Ok(()),
        Some(Value::String(level @ ("majority" | "available" | "linearizable" | "snapshot"))) => {
            if LEVELED.contains(&command) {
                return Ok(());
            }
            Err(Fault::new(
                code::INVALID_OPTIONS,
                format!("Command {command} does not support {{ readConcern: {{ level: \"{level}\" }} }}"),
            ))
        }
        Some(other) if other.kind() == Kind::String => Err(Fault::new(
            code::FAILED_TO_PARSE,
            "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'",
        )),
        Some(other) => Err(wrong_type("level", "string", &other)),
    }
}
