//! What every command may carry.

use super::super::document::{Doc, Kind, Value, number};
use super::super::fault::{Fault, Result, code};
use super::frame::mistyped;
use super::shape::{self, Fields, Shape, Type, out_of_range, whole};

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
const LEVELED: &[&str] = &["find", "aggregate", "count", "distinct", "getMore"];

/// Commands that may not wait for a time to read at.
const TIMELESS: &[&str] = &["getMore", "ping", "validate"];

/// Commands that may say how their writes are acknowledged.
const WRITES: &[&str] = &[
    "aggregate",
    "cloneCollectionAsCapped",
    "collMod",
    "convertToCapped",
    "create",
    "createIndexes",
    "delete",
    "deleteIndexes",
    "drop",
    "dropDatabase",
    "dropIndexes",
    "findAndModify",
    "findandmodify",
    "insert",
    "renameCollection",
    "update",
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
pub(super) const MOST_MEMBERS: i64 = 50;

/// Commands whose time limit is of a type before it is a limit.
const TIMED: &[&str] = &["aggregate", "getMore"];

/// Checks what the command's own fields do not speak of.
pub(super) fn check(command: &str, doc: Doc<'_>) -> Result<()> {
    max_time(command, doc)?;
    if let Some(concern) = doc.get("readConcern") {
        read_concern(command, &concern)?;
    }
    match doc.get("writeConcern") {
        None => Ok(()),
        Some(concern) if WRITES.contains(&command) => write_concern(command, &concern),
        Some(_) => Err(Fault::new(
            code::INVALID_OPTIONS,
            "Command does not support writeConcern",
        )),
    }
}

/// The time limit in milliseconds; zero is none.
pub(super) fn max_time(command: &str, doc: Doc<'_>) -> Result<Option<u64>> {
    let Some(value) = doc.get("maxTimeMS") else {
        return Ok(None);
    };
    let Some(limit) = whole(&value) else {
        if TIMED.contains(&command) && !matches!(value, Value::Null | Value::Undefined) {
            return Err(shape::wrong_type(
                &format!("{command}.maxTimeMS"),
                value,
                "types '[long, int, decimal, double']",
            ));
        }
        return Err(Fault::new(code::BAD_VALUE, "maxTimeMS must be a number"));
    };
    if limit < 0 && command == "aggregate" {
        return Err(out_of_range("maxTimeMS", limit));
    }
    if !(0..=i64::from(i32::MAX)).contains(&limit) {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!("{limit} value for maxTimeMS is out of range"),
        ));
    }
    // Decimals are rounded without a word.
    if value.kind() == Kind::Double && number::as_i64_exact(&value).is_none() {
        return Err(Fault::new(code::BAD_VALUE, "maxTimeMS has non-integral value"));
    }
    Ok(u64::try_from(limit).ok().filter(|limit| *limit > 0))
}

/// Checks what is asked for of writes.
pub(super) fn write_concern(command: &str, value: &Value<'_>) -> Result<()> {
    let declares = match command {
        "aggregate" => Some(command),
        "findAndModify" | "findandmodify" => Some("findAndModify"),
        _ => None,
    };
    let Some(doc) = value.as_document() else {
        if let Some(command) = declares
            && !matches!(value, Value::Null | Value::Undefined)
        {
            let field = format!("{command}.writeConcern");
            return Err(shape::wrong_type(&field, *value, "type 'object'"));
        }
        return Err(mistyped("writeConcern", "object", value));
    };
    let fields = WRITE_CONCERN.part(doc)?;
    let bad = |text: String| Err(Fault::new(code::FAILED_TO_PARSE, text));
    check_provenance(&fields, "WriteConcernOptions")?;
    if ["fsync", "j"].into_iter().all(|name| fields.flag(name)) {
        return bad("fsync and j options cannot be used together".to_owned());
    }
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
        if command == "aggregate" && !matches!(value, Value::Null | Value::Undefined) {
            return Err(shape::wrong_type(
                "aggregate.readConcern",
                *value,
                "type 'object'",
            ));
        }
        return Err(Fault::new(
            code::FAILED_TO_PARSE,
            "readConcern field should be an object",
        ));
    };
    if let Some(unknown) = doc
        .elements()
        .find(|element| !READ_CONCERN.has(element.name_str()))
    {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            format!("Unrecognized option in readConcern: {}", unknown.name_str()),
        ));
    }
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
            Some(other) => return Err(mistyped(name, "timestamp", &other)),
        }
    }
    if let Some(other) = fields
        .get("afterOpTime")
        .filter(|own| own.kind() != Kind::Document)
    {
        return Err(mistyped("afterOpTime", "object", &other));
    }
    check_provenance(&fields, "ReadConcernArgs::parse")?;
    let level = fields.get("level");
    if fields.get("atClusterTime").is_some() && !matches!(level, Some(Value::String("snapshot"))) {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            "atClusterTime field can be set only if level is equal to snapshot",
        ));
    }
    let later = || match TIMELESS.contains(&command) && fields.get("afterClusterTime").is_some() {
        true => Err(Fault::new(
            code::INVALID_OPTIONS,
            "afterClusterTime is not allowed for this command",
        )),
        false => Ok(()),
    };
    match level {
        None | Some(Value::String("local")) => later(),
        Some(Value::String(level @ ("majority" | "available" | "linearizable" | "snapshot"))) => {
            if LEVELED.contains(&command) && (command, level) != ("count", "snapshot") {
                return later();
            }
            let after = fields
                .get("afterClusterTime")
                .map_or_else(String::new, |time| format!(" afterClusterTime: {time},"));
            Err(Fault::new(
                code::INVALID_OPTIONS,
                format!(
                    "Command {} does not support {{ readConcern: {{ level: \"{level}\",{after} provenance: \"clientSupplied\" }} }} :: caused by :: read concern not supported",
                    super::own_name(command)
                ),
            ))
        }
        Some(other) if other.kind() == Kind::String => Err(Fault::new(
            code::FAILED_TO_PARSE,
            "readConcern.level must be either 'local', 'majority', 'linearizable', 'available', or 'snapshot'",
        )),
        Some(other) => Err(mistyped("level", "string", &other)),
    }
}

/// Checks who is said to have given a concern.
fn check_provenance(fields: &Fields<'_>, of: &str) -> Result<()> {
    match fields.string("provenance") {
        Some(from) if !PROVENANCES.contains(&from) => Err(Fault::new(
            code::BAD_VALUE,
            format!("Enumeration value '{from}' for field '{of}.provenance' is not a valid value."),
        )),
        _ => Ok(()),
    }
}
