//! What stands around a command: the interface that it is written for, where it may read, and its session.

use super::super::document::{Doc, Kind, Once, Value};
use super::super::fault::{Fault, Result, code};
use super::shape::{Shape, Type, whole, wrong_type};
use super::{Call, session};

/// Commands that version 1 of the stable interface does not have.
const NOT_IN_VERSION_1: &[&str] = &[
    "buildInfo",
    "cloneCollectionAsCapped",
    "collStats",
    "compact",
    "convertToCapped",
    "dataSize",
    "dbStats",
    "distinct",
    "isMaster",
    "planCacheClear",
    "planCacheClearFilters",
    "planCacheListFilters",
    "planCacheSetFilter",
    "renameCollection",
    "serverStatus",
    "validate",
    "validateDBMetadata",
];

/// Fields that version 1 of the stable interface does not have, by their commands.
const FIELDS_NOT_IN_VERSION_1: &[(&str, &str, &[&str])] = &[
    (
        "find",
        "FindCommandRequest",
        &[
            "$queryOptions",
            "allowSpeculativeMajorityRead",
            "awaitData",
            "collectionUUID",
            "encryptionInformation",
            "max",
            "min",
            "noCursorTimeout",
            "ntoreturn",
            "oplogReplay",
            "options",
            "readOnce",
            "returnKey",
            "showRecordId",
            "tailable",
        ],
    ),
    (
        "aggregate",
        "aggregate",
        &[
            "collectionUUID",
            "encryptionInformation",
            "explain",
            "isMapReduceCommand",
        ],
    ),
    ("insert", "insert", &["collectionUUID", "encryptionInformation"]),
    ("update", "update", &["collectionUUID", "encryptionInformation"]),
    ("delete", "delete", &["collectionUUID", "encryptionInformation"]),
    ("findAndModify", "findAndModify", &["encryptionInformation"]),
    (
        "create",
        "create",
        &[
            "autoIndexId",
            "changeStreamPreAndPostImages",
            "flags",
            "indexOptionDefaults",
            "max",
            "recordPreImages",
            "size",
            "storageEngine",
            "temp",
        ],
    ),
    ("createIndexes", "createIndexes", &["ignoreUnknownIndexOptions"]),
    (
        "collMod",
        "collMod",
        &["changeStreamPreAndPostImages", "dryRun", "recordPreImages"],
    ),
    ("listCollections", "listCollections", &["includePendingDrops"]),
    (
        "listIndexes",
        "listIndexes",
        &["includeBuildUUIDs", "includeIndexBuildInfo"],
    ),
    ("drop", "drop", &["collectionUUID"]),
    ("dropIndexes", "dropIndexes", &["collectionUUID"]),
];

type Check = fn(&Call<'_>, &str, &Value<'_>) -> Result<()>;

/// What is looked at, in the server's order.
const CHECKS: &[(&str, Check)] = &[
    ("clientOperationKey", check_operation_key),
    ("$readPreference", check_preference),
    ("$audit", check_audit),
    ("mayBypassWriteBlocking", check_bypass),
];

/// The limit of what a command is made of, which only servers say.
const INNER_TIME: &str = "maxTimeMSOpOnly";

static AUDIT: Shape = Shape {
    name: "$audit",
    fields: &[
        ("$impersonatedUsers", Type::Array),
        ("$impersonatedRoles", Type::Array),
    ],
    required: &["$impersonatedUsers", "$impersonatedRoles"],
};

/// The least staleness, in seconds, that a reader may ask for.
const LEAST_STALENESS: i64 = 90;

/// Checks for which version of the stable interface the command is, and whether that has it.
pub(super) fn check_version(call: &Call<'_>) -> Result<()> {
    check_once(call.doc)?;
    if !call
        .doc
        .elements()
        .any(|element| element.name().starts_with(b"api"))
    {
        return Ok(());
    }
    let version = match call.doc.get("apiVersion") {
        None | Some(Value::Null | Value::Undefined) => None,
        Some(Value::String(version)) => Some(version),
        Some(other) => {
            return Err(wrong_type(
                "APIParametersFromClient.apiVersion",
                other,
                "type 'string'",
            ));
        }
    };
    let flag = |name: &str| match call.doc.get(name) {
        None | Some(Value::Null | Value::Undefined) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(flag)),
        Some(other) => Err(wrong_type(
            &format!("APIParametersFromClient.{name}"),
            other,
            "type 'bool'",
        )),
    };
    let (strict, deprecation) = (flag("apiStrict")?, flag("apiDeprecationErrors")?);
    match version {
        Some("1") if strict == Some(true) => check_strict(call),
        Some("1") => Ok(()),
        Some("2") => Err(Fault::new(322, "Cannot accept API version 2")),
        Some(_) => Err(Fault::new(322, "API version must be \"1\"")),
        None if strict.is_some() || deprecation.is_some() => Err(Fault::new(
            4_886_600,
            "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion",
        )),
        None => Ok(()),
    }
}

/// Refuses a field that stands there twice.
fn check_once(command: Doc<'_>) -> Result<()> {
    let mut once = Once::within("APIParametersFromClient");
    command.elements().try_for_each(|field| once.see(&field))
}

fn check_strict(call: &Call<'_>) -> Result<()> {
    let refused = |text: String| Err(Fault::new(323, text));
    if let Some(name) = NOT_IN_VERSION_1
        .iter()
        .find(|name| name.eq_ignore_ascii_case(call.name))
    {
        return refused(format!(
            "Provided apiStrict:true, but the command {name} is not in API Version 1. Information on supported \
             commands and migrations in API Version 1 can be found at \
             https://dochub.mongodb.org/core/manual-versioned-api"
        ));
    }
    let Some((_, shape, fields)) = FIELDS_NOT_IN_VERSION_1
        .iter()
        .find(|(name, ..)| name.eq_ignore_ascii_case(call.name))
    else {
        return Ok(());
    };
    match call
        .doc
        .elements()
        .find(|element| fields.contains(&element.name_str()))
    {
        None => Ok(()),
        Some(element) => refused(format!(
            "BSON field '{shape}.{}' is not allowed with apiStrict:true.",
            element.name_str()
        )),
    }
}

/// Checks what says where to read and of which session the command is.
pub(super) fn check(call: &Call<'_>) -> Result<()> {
    // Hardly any command says something of this.
    let (mut framed, mut of_session, mut limited) = (false, false, false);
    for element in call.doc.elements() {
        let name = element.name();
        framed |= CHECKS.iter().any(|(own, _)| own.as_bytes() == name);
        of_session |= session::FIELDS.iter().any(|own| own.as_bytes() == name);
        limited |= INNER_TIME.as_bytes() == name;
    }
    if framed {
        for (name, check) in CHECKS {
            if let Some(value) = call.doc.get(name) {
                check(call, name, &value)?;
            }
        }
    }
    if of_session {
        session::check(call)?;
    }
    match limited {
        false => Ok(()),
        true => Err(Fault::new(
            code::INVALID_OPTIONS,
            format!("Can not specify {INNER_TIME} for non internal clients"),
        )),
    }
}

fn check_operation_key(_: &Call<'_>, _: &str, value: &Value<'_>) -> Result<()> {
    match value {
        Value::Binary { subtype: 4, bytes } if bytes.len() == 16 => Ok(()),
        _ => Err(Fault::new(
            207,
            "uuid must be a 16-byte binary field with UUID (4) subtype",
        )),
    }
}

fn check_preference(_: &Call<'_>, name: &str, value: &Value<'_>) -> Result<()> {
    let Value::Document(preference) = value else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "{name} has incorrect type: expected object but got {}",
                value.kind().alias()
            ),
        ));
    };
    let primary = is_primary(preference.get("mode"))?;
    if let Some(hedge) = preference.get("hedge") {
        check_hedge(&hedge, primary)?;
    }
    if let Some(tags) = preference.get("tags") {
        check_tags(&tags, primary)?;
    }
    match preference.get("maxStalenessSeconds") {
        None => Ok(()),
        Some(staleness) => check_staleness(&staleness, primary),
    }
}

/// Whether only the primary is to be read.
fn is_primary(mode: Option<Value<'_>>) -> Result<bool> {
    match mode {
        None => Err(Fault::new(4, "Missing expected field \"mode\"")),
        Some(Value::String("primary")) => Ok(true),
        Some(Value::String("primaryPreferred" | "secondary" | "secondaryPreferred" | "nearest")) => Ok(false),
        Some(Value::String(mode)) => Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "Could not parse $readPreference mode '{mode}'. Only the modes 'primary', 'primaryPreferred', \
                 'secondary', 'secondaryPreferred', and 'nearest' are supported. :: caused by :: Enumeration value \
                 '{mode}' for field 'mode' is not a valid value."
            ),
        )),
        Some(other) => Err(mistyped("mode", "string", &other)),
    }
}

fn check_hedge(hedge: &Value<'_>, primary: bool) -> Result<()> {
    match hedge {
        Value::Document(_) if primary => Err(Fault::new(
            code::INVALID_OPTIONS,
            "cannot enable hedging for $readPreference mode \"primaryOnly\"",
        )),
        Value::Document(_) => Ok(()),
        other => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("hedge field must be of type object if provided; found hedge: {other}"),
        )),
    }
}

/// To choose among members there must be more than the primary; an empty set of tags chooses nothing.
fn check_tags(tags: &Value<'_>, primary: bool) -> Result<()> {
    let Value::Array(sets) = tags else {
        return Err(mistyped("tags", "array", tags));
    };
    let mut sets = sets.values();
    let empty = match (sets.next(), sets.next()) {
        (None, _) => true,
        (Some(Value::Document(only)), None) => only.is_empty(),
        _ => false,
    };
    if primary && !empty {
        return Err(Fault::new(
            code::BAD_VALUE,
            "Only empty tags are allowed with primary read preference",
        ));
    }
    Ok(())
}

fn check_staleness(staleness: &Value<'_>, primary: bool) -> Result<()> {
    let bad = |text: &'static str| Err(Fault::new(code::BAD_VALUE, text));
    match whole(staleness) {
        None => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "Expected field \"maxStalenessSeconds\" to have numeric type, but found {}",
                staleness.kind().alias()
            ),
        )),
        Some(0) => Ok(()),
        Some(..0) => bad("maxStalenessSeconds must be a non-negative integer"),
        Some(_) if primary => bad("maxStalenessSeconds can not be set for the primary mode"),
        Some(1..LEAST_STALENESS) => Err(Fault::new(
            160,
            format!("maxStalenessSeconds value can not be less than {LEAST_STALENESS}"),
        )),
        Some(_) => Ok(()),
    }
}

/// The complaint about a value of a type that the server looks at by hand.
pub(super) fn mistyped(name: &str, wanted: &str, value: &Value<'_>) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!(
            "\"{name}\" had the wrong type. Expected {wanted}, found {}",
            value.kind().alias()
        ),
    )
}

/// Anything but a document is not looked at.
fn check_audit(_: &Call<'_>, _: &str, value: &Value<'_>) -> Result<()> {
    match value {
        Value::Document(audit) => AUDIT.part(*audit).map(|_| ()),
        _ => Ok(()),
    }
}

fn check_bypass(_: &Call<'_>, name: &str, value: &Value<'_>) -> Result<()> {
    match value.kind() {
        Kind::Bool => Ok(()),
        other => Err(Fault::new(
            13111,
            format!("wrong type for field ({name}) {} != bool", other.alias()),
        )),
    }
}
