//! The options of a specification as written, each of its type.

use super::super::super::collation::Collation;
use super::super::super::document::owned::fields_of;
use super::super::super::document::{Doc, Kind, Owned, Value, number};
use super::super::super::fault::{Fault, Result, code};
use super::super::options::{GeoOptions, no_truth};
use super::super::text::{self, TextOptions};
use super::super::wildcard::{self, Wildcard};
use super::super::{IndexDefinition, IndexField, Origin};
use super::cannot;
use super::key::parse_key;
use super::partial::Partial;

/// Options that MongoDB knows and this engine either uses or may leave aside.
pub(crate) const OPTIONS: &[&str] = &[
    "key",
    "name",
    "v",
    "ns",
    "unique",
    "sparse",
    "background",
    "dropDups",
    "hidden",
    "prepareUnique",
    "expireAfterSeconds",
    "partialFilterExpression",
    "collation",
    "storageEngine",
    "weights",
    "default_language",
    "language_override",
    "textIndexVersion",
    "wildcardProjection",
    "clustered",
    "originalSpec",
];

/// Options of the index of a clustered collection.
const CLUSTERED_OPTIONS: &[&str] = &["key", "name", "v", "unique", "clustered"];

/// Whether an index, of whatever kind, may have this option.
pub(in super::super) fn is_option(name: &str) -> bool {
    OPTIONS.contains(&name) || GeoOptions::NAMES.contains(&name)
}

/// The options as written, each of its type.
pub(super) struct Options<'a> {
    pub(super) key: Doc<'a>,
    pub(super) keys: Vec<IndexField>,
    pub(super) name: &'a str,
    pub(super) unique: bool,
    pub(super) clustered: bool,
    pub(super) prepare_unique: bool,
    pub(super) sparse: Option<bool>,
    pub(super) background: Option<bool>,
    pub(super) hidden: bool,
    pub(super) expire_after_seconds: Option<Value<'a>>,
    pub(super) partial: Option<Partial<'a>>,
    pub(super) geo: GeoOptions,
    pub(super) text: TextOptions<'a>,
    pub(super) wildcard: Option<Wildcard>,
    pub(super) wildcard_projection: Option<Value<'a>>,
    pub(super) version: i32,
    /// What the index was first made of, where a series has it under other names.
    pub(super) original: Option<Vec<u8>>,
    pub(super) collation: Collation,
    pub(super) storage_engine: Option<Value<'a>>,
    /// Why the collation that is given is none.
    pub(super) no_collation: Option<Fault>,
}

impl<'a> Options<'a> {
    pub(super) fn read(spec: Doc<'a>, origin: Origin) -> Result<Options<'a>> {
        let (mut key, mut name) = (None, None);
        let mut options = Options {
            key: Doc::empty(),
            keys: Vec::new(),
            name: "",
            unique: false,
            clustered: false,
            prepare_unique: false,
            sparse: None,
            background: None,
            hidden: false,
            expire_after_seconds: None,
            partial: None,
            geo: GeoOptions::default(),
            text: TextOptions::default(),
            wildcard: None,
            wildcard_projection: None,
            storage_engine: None,
            version: 2,
            original: None,
            collation: Collation::default(),
            no_collation: None,
        };
        check_names(spec, origin)?;
        for element in spec.elements() {
            let (field, value) = (element.name_str(), element.value());
            if options.geo.take(field, &value)? {
                continue;
            }
            match field {
                "key" => {
                    let pattern = object(field, &value)?;
                    options.keys = parse_key(pattern)?;
                    key = Some(pattern);
                }
                "name" => match value {
                    Value::String(text) => name = Some(text),
                    other => return Err(wrong_type(field, "a string", other.kind())),
                },
                "v" => options.version = check_version(spec, &value)?,
                "unique" => options.unique = truth(field, &value)?,
                "sparse" => options.sparse = Some(truth(field, &value)?),
                "background" => options.background = Some(truth(field, &value)?),
                "prepareUnique" => options.prepare_unique = truth(field, &value)?,
                "dropDups" => {
                    truth(field, &value)?;
                }
                "hidden" => match value {
                    Value::Bool(hidden) => options.hidden = hidden,
                    // mongod names the wrong field here.
                    other => return Err(wrong_type("name", "a bool", other.kind())),
                },
                "expireAfterSeconds" => options.expire_after_seconds = Some(value),
                "partialFilterExpression" => options.partial = Some(Partial::read(object(field, &value)?)?),
                "collation" => match Collation::parse(object(field, &value)?) {
                    Ok(Some(collation)) => options.collation = collation,
                    Ok(None) => {
                        return Err(Fault::new(
                            code::BAD_VALUE,
                            "The field 'collation' cannot be an empty object.",
                        ));
                    }
                    Err(fault) => options.no_collation = Some(fault),
                },
                "weights" if !matches!(value, Value::Document(_) | Value::Array(_) | Value::String(_)) => {
                    return Err(wrong_type(field, "an object", value.kind()));
                }
                "weights" if spec_is_text(spec) => options.text.weights = Some(value),
                "default_language" | "language_override" => {
                    let Value::String(text) = value else {
                        return Err(wrong_type(field, "a string", value.kind()));
                    };
                    match field {
                        "default_language" => options.text.default_language = Some(text),
                        _ => options.text.language_override = Some(text),
                    }
                }
                "textIndexVersion" if value.is_number() => options.text.version = Some(value),
                "textIndexVersion" => return Err(wrong_type(field, "a number", value.kind())),
                // Refused when the rest has been looked at.
                "weights" => {}
                "wildcardProjection" => {
                    wildcard::check_beside(spec.get("key"))?;
                    options.wildcard_projection = Some(value);
                }
                "clustered" => options.clustered = truth(field, &value)?,
                "storageEngine" => options.storage_engine = Some(value),
                "originalSpec" => match object(field, &value)? {
                    empty if empty.is_empty() => {
                        return Err(Fault::new(
                            code::BAD_VALUE,
                            "The field 'originalSpec' cannot be an empty object.",
                        ));
                    }
                    original => options.original = Some(checked_original(original)?),
                },
                // Others are known, and the server takes `_id` out.
                _ => {}
            }
        }
        options.key = key.ok_or_else(|| required("The 'key' field"))?;
        options.name = name.ok_or_else(|| required("The 'name' field"))?;
        let is_text = text::is_text(options.key);
        // All fields, in the key of texts, are no wildcard.
        let plain: &[IndexField] = if is_text { &[] } else { &options.keys };
        options.wildcard = wildcard::parse(plain, options.wildcard_projection, origin)?;
        options.check_together(spec, is_text, origin)?;
        Ok(options)
    }

    /// Refuses options that an index does not have together.
    fn check_together(&self, spec: Doc<'_>, is_text: bool, origin: Origin) -> Result<()> {
        let refused = |first: &str, second: &str| {
            Err(cannot(format!(
                "Invalid index specification {spec}; cannot create an index with the '{first}' option and {second}"
            )))
        };
        if origin.is_given() && self.version == 1 && spec.get("collation").is_some() {
            return refused("collation", "v=1");
        }
        if spec.get("weights").is_some() && !is_text {
            return Err(cannot(format!(
                "Invalid index specification {spec}; the field 'weights' can only be specified with text indexes"
            )));
        }
        if spec.get("clustered").is_some() && !self.clustered {
            return Err(Fault::new(
                6_492_800,
                "Value 'false' for field 'clustered' is invalid",
            ));
        }
        if self.clustered && !matches!(spec.get("unique"), Some(Value::Bool(true))) {
            return Err(cannot(
                "The 'unique' field is required when 'clustered' is specified",
            ));
        }
        if origin.is_given() && self.unique && self.prepare_unique {
            return refused("unique", "the 'prepareUnique' option");
        }
        Ok(())
    }
}

/// Unknown fields are refused first; the index of a clustered collection knows few.
fn check_names(spec: Doc<'_>, origin: Origin) -> Result<()> {
    let is_clustered = origin.is_given() && spec.get("clustered").is_some();
    let is_known = |name: &str| match is_clustered {
        true => CLUSTERED_OPTIONS.contains(&name),
        false => is_option(name) || name == "_id",
    };
    match spec.elements().find(|element| !is_known(element.name_str())) {
        None => Ok(()),
        Some(unknown) => Err(Fault::new(
            197,
            format!(
                "The field '{}' is not valid for {} index specification. Specification: {spec}",
                unknown.name_str(),
                if is_clustered { "a clustered" } else { "an" }
            ),
        )),
    }
}

fn required(what: &str) -> Fault {
    Fault::new(
        code::FAILED_TO_PARSE,
        format!("{what} is a required property of an index specification"),
    )
}

fn wrong_type(field: &str, expected: &str, got: Kind) -> Fault {
    Fault::new(
        code::TYPE_MISMATCH,
        format!("The field '{field}' must be {expected}, but got {}", got.alias()),
    )
}

fn object<'a>(field: &str, value: &Value<'a>) -> Result<Doc<'a>> {
    match value {
        Value::Document(doc) => Ok(*doc),
        other => Err(wrong_type(field, "an object", other.kind())),
    }
}

/// A bool, or a number that is not zero.
fn truth(field: &str, value: &Value<'_>) -> Result<bool> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        number if number.is_number() => Ok(number::as_f64(number) != Some(0.0)),
        other => Err(no_truth(field, other)),
    }
}

fn check_version(spec: Doc<'_>, value: &Value<'_>) -> Result<i32> {
    if !value.is_number() {
        return Err(wrong_type("v", "a number", value.kind()));
    }
    match number::as_i64_exact(value).and_then(|version| i32::try_from(version).ok()) {
        Some(version @ (1 | 2)) => Ok(version),
        None => Err(Fault::new(
            code::BAD_VALUE,
            format!("Index version must be representable as a 32-bit integer, but got {value}"),
        )),
        _ => Err(cannot(format!(
            "Invalid index specification {spec}; cannot create an index with v={value}"
        ))),
    }
}

/// What an index was first made of, with the version that it has if it does not say.
fn checked_original(original: Doc<'_>) -> Result<Vec<u8>> {
    IndexDefinition::parse(original)?;
    let mut fields = fields_of(original);
    if original.get("v").is_none() {
        fields.push(("v".to_owned(), Owned::Int32(2)));
    }
    Ok(Doc::Fields(&fields).to_bytes())
}

fn spec_is_text(spec: Doc<'_>) -> bool {
    matches!(spec.get("key"), Some(Value::Document(pattern)) if text::is_text(pattern))
}
