//! What a collection's options mean: bounds, order, validator, view.

mod clustered;
pub(crate) mod encrypted;
pub(crate) mod series;
mod validator;

use std::sync::Arc;

pub(crate) use self::clustered::{Clustered, expire_after};
pub(crate) use self::encrypted::EncryptedField;
pub(crate) use self::series::Series;
pub(crate) use self::validator::{Validator, validator};

use crate::native::aggregate::pipeline::Pipeline;
use crate::native::collation::Collation;
use crate::native::document::number::{self, as_f64, as_i64_exact};
use crate::native::document::{Doc, Fields, Owned, Value};
use crate::native::fault::{Fault, Result, code};
use crate::native::storage_engine;

/// The options of a collection, resolved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules {
    pub(crate) capped: Option<Capped>,
    /// Whether the documents are kept in the order of `_id`.
    pub(crate) clustered: Option<Clustered>,
    pub(crate) validator: Option<Arc<Validator>>,
    /// Where the documents come from, if this is a view.
    pub(crate) view: Option<Arc<View>>,
    /// What a time series sets apart; its buckets have it, and the view by which it is known.
    pub(crate) series: Option<Arc<Series>>,
    /// How strings compare where an operation does not say.
    pub(crate) collation: Collation,
    /// The fields whose values are encrypted.
    pub(crate) encrypted: Arc<Vec<EncryptedField>>,
}

/// The bounds of a capped collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capped {
    /// The most bytes of documents.
    pub(crate) size: u64,
    /// The most documents.
    pub(crate) max: u64,
}

/// What a view shows.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// A collection or view of the same database.
    pub(crate) on: String,
    /// The stages, as given.
    pub(crate) pipeline: Vec<Vec<u8>>,
}

/// The most bytes that a capped collection may have: 1 PB.
const LARGEST_CAPPED: i64 = 1 << 50;

/// Options of the command, not of the collection.
const FORGOTTEN: &[&str] = &["writeConcern", "comment", "idIndex", "flags", "maxTimeMS"];

/// The order in which options are listed.
const ORDER: &[&str] = &[
    "capped",
    "size",
    "max",
    "autoIndexId",
    "temp",
    "recordPreImages",
    "changeStreamPreAndPostImages",
    "storageEngine",
    "indexOptionDefaults",
    "validator",
    "validationLevel",
    "validationAction",
    "viewOn",
    "pipeline",
    "collation",
    "clusteredIndex",
    "expireAfterSeconds",
    "timeseries",
    "encryptedFields",
];

impl Rules {
    /// Reads options as they are stored.
    ///
    /// # Errors
    /// As [`normalize`], of which stored options are the result.
    pub(crate) fn parse(options: Doc<'_>) -> Result<Rules> {
        let collation = Collation::of_options(options)?;
        let validator = match (options.get("validator"), warns_or_is_off(options)) {
            (Some(Value::Document(filter)), false) => {
                let moderate = says(options, "validationLevel", "moderate");
                Some(Arc::new(Validator::stored(filter, &collation, moderate)))
            }
            _ => None,
        };
        let view = match (options.get("viewOn"), options.get("pipeline")) {
            (Some(Value::String(on)), pipeline) => {
                let stages = match pipeline {
                    Some(Value::Array(stages)) => stages
                        .values()
                        .filter_map(|stage| stage.as_document().map(Doc::to_bytes))
                        .collect(),
                    _ => Vec::new(),
                };
                Some(Arc::new(View {
                    on: on.to_owned(),
                    pipeline: stages,
                }))
            }
            _ => None,
        };
        let capped = match options.get("capped") {
            Some(Value::Bool(true)) => {
                let number = |name: &str| {
                    options
                        .get(name)
                        .and_then(|value| as_i64_exact(&value))
                        .and_then(|number| u64::try_from(number).ok())
                };
                Some(Capped {
                    size: number("size").unwrap_or(u64::MAX),
                    max: number("max").unwrap_or(u64::MAX),
                })
            }
            _ => None,
        };
        Ok(Rules {
            capped,
            clustered: Clustered::stored(options),
            validator,
            view,
            series: Series::stored(options).map(Arc::new),
            collation,
            encrypted: Arc::new(encrypted::stored(options)),
        })
    }
}

/// A validator that refuses nothing: the server would only write its log.
fn warns_or_is_off(options: Doc<'_>) -> bool {
    says(options, "validationLevel", "off") || says(options, "validationAction", "warn")
}

fn says(options: Doc<'_>, name: &str, value: &str) -> bool {
    options.get(name).and_then(|own| own.as_str()) == Some(value)
}

/// The validator that these options have the server warn by alone.
pub(crate) fn warned(options: Doc<'_>, collation: &Collation) -> Option<Validator> {
    match options.get("validator") {
        Some(Value::Document(filter))
            if warns_or_is_off(options) && !says(options, "validationLevel", "off") =>
        {
            Some(Validator::stored(filter, collation, false))
        }
        _ => None,
    }
}

/// Checks what `clusteredIndex` of `create` is made of.
pub(crate) fn check_clustered(value: Value<'_>) -> Result<()> {
    clustered::check_form(value)
}

fn engines(value: Value<'_>) -> Result<Doc<'_>> {
    let wrong = || wrong_type("create.storageEngine", value, "type 'object'");
    value.as_document().ok_or_else(wrong)
}

/// Checks what `encryptedFields` of `create` is made of.
pub(crate) fn check_encrypted(value: Value<'_>) -> Result<()> {
    encrypted::check_form(value)
}

/// Checks what has a wrong form before what does not go together.
fn check_forms(options: Doc<'_>) -> Result<()> {
    for name in ["validationLevel", "validationAction"] {
        if let Some(value) = options.get(name) {
            choice("create", name, value)?;
        }
    }
    options
        .get("clusteredIndex")
        .map_or(Ok(()), clustered::check_form)
}

/// Checks the options of `create` that a server looks at before it reads what `idIndex` says.
///
/// # Errors
/// As of [`normalize`].
pub(crate) fn check_before_id_index(options: Doc<'_>) -> Result<()> {
    check_beside(options)?;
    check_forms(options)?;
    let has = |name: &str| options.get(name).is_some();
    match has("clusteredIndex") || has("timeseries") {
        true => Ok(()),
        false => check_expiring(options),
    }
}

/// Refuses documents that expire where they are not kept in the order of their times.
fn check_expiring(options: Doc<'_>) -> Result<()> {
    match options.get("expireAfterSeconds") {
        None => Ok(()),
        Some(_) => Err(invalid(
            "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified",
        )),
    }
}

/// Checks bounds, and whether what is there goes together; whether the collection is to be capped.
fn check_beside(options: Doc<'_>) -> Result<bool> {
    let capped = match options.get("capped") {
        Some(value) => flag("create.capped", value)?,
        None => false,
    };
    let has = |name: &str| options.get(name).is_some();
    if let Some(value) = options.get("viewOn").filter(|on| on.as_str() == Some("")) {
        view_on("create", value)?;
    }
    if let Some(pipeline) = options.get("pipeline") {
        stages("create", pipeline)?;
    }
    check_images(options)?;
    // Numbers that no collection has are refused first.
    if let Some(value) = options.get("size") {
        capped_size("size", value)?;
    }
    if let Some(value) = options.get("max") {
        capped_max("max", value)?;
    }
    if capped && !has("size") && !has("clusteredIndex") {
        return Err(invalid("the 'size' field is required when 'capped' is true"));
    }
    if !capped && (has("size") || has("max")) && !has("clusteredIndex") {
        return Err(invalid(
            "the 'capped' field needs to be true when either the 'size' or 'max' fields are present",
        ));
    }
    if has("temp") {
        return Err(invalid("the 'temp' field is an invalid option"));
    }
    if has("clusteredIndex") {
        clustered::refuse_capped(options)?;
    }
    if has("pipeline") && !has("viewOn") {
        return Err(invalid("'pipeline' requires 'viewOn' to also be specified"));
    }
    Ok(capped)
}

/// Checks the options of `create` and gives them as they are kept and listed; `ns` is the collection's full name.
///
/// # Errors
/// MongoDB's: 72 for options that do not go together, 14 for wrong types, 51024 for wrong bounds, 40415 for
/// unknown options; those of the filter and the pipeline.
pub(crate) fn normalize(options: Doc<'_>, ns: &str) -> Result<Vec<u8>> {
    let capped = check_beside(options)?;
    let has = |name: &str| options.get(name).is_some();
    let mut encrypted = match options.get("encryptedFields") {
        Some(value) => Some(encrypted::parse(value, options, ns)?),
        None => None,
    };
    check_forms(options)?;
    let mut series = match options.get("timeseries") {
        Some(value) => Some(series::parse(value, options, ns)?),
        None => None,
    };
    let is_series = series.is_some();
    let mut clustered = match options.get("clusteredIndex") {
        Some(value) => clustered::parse(value, options)?,
        None => None,
    };
    let is_clustered = clustered.is_some();
    if !is_clustered && !is_series {
        check_expiring(options)?;
    }
    if has("viewOn")
        && options
            .get("changeStreamPreAndPostImages")
            .and_then(images)
            .is_some()
    {
        return Err(invalid(
            "option not supported on a view: changeStreamPreAndPostImages",
        ));
    }
    // Before the validator, which is read by it.
    if let Some(Value::Document(collation)) = options.get("collation") {
        Collation::parse_default(collation)?;
    }
    let mut kept: Fields = Vec::new();
    let mut keep = |name: &str, value: Owned| kept.push((name.to_owned(), value));
    for element in options.elements() {
        let (name, value) = (element.name_str(), element.value());
        match name {
            "capped" if capped => keep(name, Owned::Bool(true)),
            "capped" => {}
            "size" => keep(name, number(capped_size(name, value)?)),
            "max" => keep(name, number(capped_max(name, value)?)),
            "validator" => {
                if let Some(filter) = validator("create.validator", value)? {
                    keep(name, filter);
                }
            }
            "validationLevel" | "validationAction" => {
                keep(name, Owned::String(choice("create", name, value)?));
            }
            "viewOn" => keep(name, Owned::String(view_on("create", value)?)),
            "pipeline" => keep(name, Owned::Array(view_pipeline("create", value, ns)?)),
            "changeStreamPreAndPostImages" => {
                if let Some(images) = images(value) {
                    keep(name, images);
                }
            }
            "recordPreImages" => {
                if flag("create.recordPreImages", value)? {
                    keep(name, Owned::Bool(true));
                }
            }
            "collation" => {
                let Value::Document(doc) = value else {
                    return Err(wrong_type("create.collation", value, "type 'object'"));
                };
                if let Some(spec) = Collation::parse_default(doc)?.spec() {
                    keep(name, Owned::RawDocument(spec.to_bytes()));
                }
            }
            "clusteredIndex" => {
                if let Some(spec) = clustered.take() {
                    keep(name, spec);
                }
            }
            "encryptedFields" => {
                if let Some(spec) = encrypted.take() {
                    keep(name, spec);
                }
            }
            "timeseries" => {
                if let Some(spec) = series.take() {
                    keep(name, spec);
                }
            }
            "expireAfterSeconds" => {
                if !value.is_number() {
                    let types = "types '[long, int, decimal, double']";
                    return Err(wrong_type("create.expireAfterSeconds", value, types));
                }
                keep(name, Owned::Int64(expire_after(&value)?));
            }
            "storageEngine" => {
                storage_engine::check(engines(value)?)?;
                if !is_empty(value) {
                    keep(name, value.into());
                }
            }
            "indexOptionDefaults" => {
                if let Value::Document(defaults) = value
                    && let Some(other) = defaults.elements().find(|own| own.name() != b"storageEngine")
                {
                    return Err(Fault::unknown_field(
                        "create.indexOptionDefaults",
                        other.name_str(),
                    ));
                }
                let own = value
                    .as_document()
                    .and_then(|defaults| defaults.get("storageEngine"));
                if let Some(own) = own {
                    storage_engine::check_of_indexes(engines(own)?)?;
                }
                if !is_empty(value) {
                    keep(name, value.into());
                }
            }
            "autoIndexId" => keep(name, Owned::Bool(flag("create.autoIndexId", value)?)),
            _ if FORGOTTEN.contains(&name) => {}
            _ => return Err(Fault::unknown_field("create", name)),
        }
    }
    if has("viewOn") {
        kept.retain(|(name, _)| matches!(name.as_str(), "viewOn" | "pipeline" | "collation"));
        if !has("pipeline") {
            kept.push(("pipeline".to_owned(), Owned::Array(Vec::new())));
        }
    }
    sort(&mut kept);
    Ok(Doc::Fields(&kept).to_bytes())
}

/// Brings options in the order in which they are listed.
pub(crate) fn sort(options: &mut Fields) {
    options.sort_by_key(|(name, _)| ORDER.iter().position(|own| own == name));
}

/// `validationLevel` or `validationAction`.
pub(crate) fn choice(command: &str, name: &str, value: Value<'_>) -> Result<String> {
    let choices: &[&str] = match name {
        "validationLevel" => &["off", "strict", "moderate"],
        _ => &["error", "warn"],
    };
    match value {
        Value::String(text) if choices.contains(&text) => Ok(text.to_owned()),
        Value::String(text) => Err(Fault::new(
            code::BAD_VALUE,
            format!("Enumeration value '{text}' for field '{command}.{name}' is not a valid value."),
        )),
        other => Err(wrong_type(&format!("{command}.{name}"), other, "type 'string'")),
    }
}

/// The collection that a view is on.
pub(crate) fn view_on(command: &str, value: Value<'_>) -> Result<String> {
    match value {
        Value::String("") => Err(Fault::new(code::BAD_VALUE, "'viewOn' cannot be empty")),
        Value::String(text) if text.contains('\0') => Err(Fault::new(
            code::INVALID_NAMESPACE,
            "namespaces cannot have embedded null characters",
        )),
        Value::String(text) if text.starts_with('.') => Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Collection names cannot start with '.': {text}"),
        )),
        Value::String(text) if text.contains('$') => Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("invalid name for 'viewOn': {text}"),
        )),
        Value::String(text) => Ok(text.to_owned()),
        other => Err(wrong_type(&format!("{command}.viewOn"), other, "type 'string'")),
    }
}

/// Documents are recorded as they were by one of two options.
pub(crate) fn check_images(options: Doc<'_>) -> Result<()> {
    let recorded = options
        .get("recordPreImages")
        .is_some_and(|value| flag("recordPreImages", value).unwrap_or(false));
    if recorded
        && options
            .get("changeStreamPreAndPostImages")
            .and_then(images)
            .is_some()
    {
        return Err(invalid(
            "'recordPreImages' and 'changeStreamPreAndPostImages.enabled' can not be set to true simultaneously",
        ));
    }
    Ok(())
}

/// What is recorded of documents as they were and are; nothing where that is not on.
pub(crate) fn images(value: Value<'_>) -> Option<Owned> {
    let on = match value {
        Value::Document(images) => matches!(images.get("enabled"), Some(Value::Bool(true))),
        _ => false,
    };
    on.then(|| value.into())
}

fn is_empty(value: Value<'_>) -> bool {
    value.as_document().is_some_and(Doc::is_empty)
}

/// The code of a `$geoNear` behind another stage.
const NEARNESS_NOT_FIRST: i32 = 40_603;

/// The stages of a view, checked.
pub(crate) fn view_pipeline(command: &str, value: Value<'_>, ns: &str) -> Result<Vec<Owned>> {
    let stages = stages(command, value)?;
    let invalid = |fault: Fault| fault.prefixed(&format!("Invalid pipeline for view {ns} :: caused by :: "));
    for stage in &stages {
        refuse_in_view(*stage).map_err(invalid)?;
    }
    let names = stages.iter().map(|stage| {
        let first = stage.elements().next();
        first.map_or("", |first| first.name_str())
    });
    let mut writing = names
        .enumerate()
        .filter(|(_, name)| matches!(*name, "$out" | "$merge"));
    if let Some((at, name)) = writing.next() {
        return Err(invalid(Fault::new(
            code::OPTION_NOT_SUPPORTED_ON_VIEW,
            format!(
                "The aggregation stage {name} in location {at} of the pipeline cannot be used in the view definition of {ns} because it writes to disk",
            ),
        )));
    }
    match Pipeline::parse(&stages, &[]) {
        // Where `$geoNear` stands is told when the view is read.
        Err(fault) if fault.code() != NEARNESS_NOT_FIRST => return Err(invalid(fault)),
        _ => {}
    }
    Ok(stages
        .iter()
        .map(|stage| Owned::RawDocument(stage.to_bytes()))
        .collect())
}

/// The stages of a view as documents.
pub(crate) fn stages<'a>(command: &str, value: Value<'a>) -> Result<Vec<Doc<'a>>> {
    let Value::Array(items) = value else {
        return Err(wrong_type(&format!("{command}.pipeline"), value, "type 'array'"));
    };
    let mut stages = Vec::new();
    for (at, item) in items.values().enumerate() {
        match item {
            Value::Document(stage) => stages.push(stage),
            // As the server, which strips them.
            Value::Null | Value::Undefined => {}
            other => {
                let field = format!("{command}.pipeline.{at}");
                return Err(wrong_type(&field, other, "type 'object'"));
            }
        }
    }
    Ok(stages)
}

/// Refuses the stages that read no collection.
fn refuse_in_view(stage: Doc<'_>) -> Result<()> {
    let name = stage
        .elements()
        .next()
        .map(|element| element.name_str().to_owned());
    let (code, why) = match name.as_deref() {
        Some("$documents") => (
            code::INVALID_NAMESPACE,
            "'$documents' cannot be used in a view definition",
        ),
        Some("$changeStream") => (
            code::OPTION_NOT_SUPPORTED_ON_VIEW,
            "$changeStream cannot be used in a view definition",
        ),
        Some("$currentOp") => (
            code::INVALID_NAMESPACE,
            "$currentOp must be run against the 'admin' database with {aggregate: 1}",
        ),
        Some("$listLocalSessions") => (
            code::INVALID_NAMESPACE,
            "$listLocalSessions must be run against the database with {aggregate: 1}, not a collection",
        ),
        Some("$listSessions") => (
            code::INVALID_NAMESPACE,
            "$listSessions may only be run against config.system.sessions",
        ),
        _ => return Ok(()),
    };
    Err(Fault::new(code, why))
}

/// The bytes of a capped collection, by the name of the option that says them, rounded up to 256.
pub(crate) fn capped_size(name: &str, value: Value<'_>) -> Result<i64> {
    let bytes = whole(name, value)?;
    if bytes < 1 {
        return Err(bound(format!(
            "BSON field '{name}' value must be >= 1, actual value '{bytes}'"
        )));
    }
    if bytes > LARGEST_CAPPED {
        return Err(bound(format!(
            "BSON field '{name}' value must be <= {LARGEST_CAPPED}, actual value '{bytes}'"
        )));
    }
    Ok((bytes + 255) & !255)
}

/// The documents of a capped collection; any number below one stands for no bound.
pub(crate) fn capped_max(name: &str, value: Value<'_>) -> Result<i64> {
    let most = whole(name, value)?;
    if most > i64::from(i32::MAX) {
        return Err(bound(format!(
            "BSON field '{name}' value must be < 2147483648, actual value '{most}'"
        )));
    }
    Ok(if most < 1 { i64::from(i32::MAX) } else { most })
}

/// A truth value, as commands take it.
pub(crate) fn flag(field: &str, value: Value<'_>) -> Result<bool> {
    match value {
        Value::Bool(flag) => Ok(flag),
        number if number.is_number() => Ok(as_f64(&number).is_none_or(|number| number != 0.0)),
        other => Err(wrong_type(
            field,
            other,
            "types '[bool, long, int, decimal, double']",
        )),
    }
}

fn whole(field: &str, value: Value<'_>) -> Result<i64> {
    if !value.is_number() {
        return Err(wrong_type(
            &format!("create.{field}"),
            value,
            "types '[long, int, decimal, double']",
        ));
    }
    Ok(number::whole(&value).unwrap_or(0))
}

/// A number as the server keeps it: 32 bits where they are enough.
pub(crate) fn number(number: i64) -> Owned {
    i32::try_from(number).map_or(Owned::Int64(number), Owned::Int32)
}

/// The fault of a field of another type.
pub(crate) fn wrong_type(field: &str, value: Value<'_>, expected: &str) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!(
            "BSON field '{field}' is the wrong type '{}', expected {expected}",
            value.kind().alias()
        ),
    )
}

fn invalid(message: &'static str) -> Fault {
    Fault::new(code::INVALID_OPTIONS, message)
}

fn bound(message: String) -> Fault {
    Fault::new(51024, message)
}
