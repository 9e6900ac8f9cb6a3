//! Collections that are kept in the order of `_id`.

use super::{flag, wrong_type};
use crate::native::document::number::{as_f64, as_i32_whole, as_i64_exact, whole};
use crate::native::document::{Doc, Once, Owned, Value};
use crate::native::fault::{Fault, Result, code};
use crate::native::index::ID_INDEX;
use crate::native::matcher::now;

/// What a clustered collection is called by, and how long its documents live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clustered {
    /// The key pattern as given: its number may be of any type.
    pub(crate) key: Vec<u8>,
    /// The name that the order of `_id` has among the indexes.
    pub(crate) name: String,
    /// How long a document lives whose `_id` is a date.
    pub(crate) expire_after_seconds: Option<i64>,
}

impl Clustered {
    /// Reads options as they are stored.
    pub(super) fn stored(options: Doc<'_>) -> Option<Clustered> {
        let spec = options.get("clusteredIndex")?.as_document()?;
        Some(Clustered {
            key: spec
                .get("key")
                .and_then(|key| key.as_document().map(Doc::to_bytes))
                .unwrap_or_else(|| Doc::Fields(&[("_id".to_owned(), Owned::Int32(1))]).to_bytes()),
            name: spec
                .get("name")
                .and_then(|name| name.as_str().map(str::to_owned))
                .unwrap_or_else(|| ID_INDEX.to_owned()),
            expire_after_seconds: options
                .get("expireAfterSeconds")
                .and_then(|seconds| as_i64_exact(&seconds)),
        })
    }
}

/// Checks what `clusteredIndex` of `create` is made of.
pub(super) fn check_form(value: Value<'_>) -> Result<()> {
    spec_of(value).map(|_| ())
}

/// The description, or none where there is but a flag.
fn spec_of(value: Value<'_>) -> Result<Option<Spec<'_>>> {
    match value {
        Value::Document(spec) => checked(spec).map(Some),
        Value::Bool(_) => Ok(None),
        number if number.is_number() => Ok(None),
        other => Err(wrong_type("create.clusteredIndex", other, "types '[bool']")),
    }
}

/// Refuses the bounds of capped collections beside `clusteredIndex`.
pub(super) fn refuse_capped(options: Doc<'_>) -> Result<()> {
    let has = |name: &str| options.get(name).is_some();
    if has("size") {
        return refused(
            6_049_200,
            "'size' field for capped collections is not allowed on clustered collections. Did you mean 'capped: true' with 'expireAfterSeconds'?",
        );
    }
    if says(options, "capped", true) {
        return refused(
            6_127_800,
            "Clustered capped collection only available with 'enableTestCommands' server parameter",
        );
    }
    if has("max") {
        return refused(
            6_049_204,
            "'max' field for capped collections is not allowed on clustered collections. Did you mean 'capped: true' with 'expireAfterSeconds'?",
        );
    }
    Ok(())
}

/// Checks `clusteredIndex` of `create` and gives it as it is kept; none where it says `false`.
pub(super) fn parse(value: Value<'_>, options: Doc<'_>) -> Result<Option<Owned>> {
    let spec = spec_of(value)?;
    let is_asked = match &spec {
        Some(_) => true,
        None => flag("create.clusteredIndex", value)?,
    };
    let has = |name: &str| options.get(name).is_some();
    if is_asked && has("viewOn") {
        return refused(
            6_026_500,
            "The 'clusteredIndex' option is not supported with views",
        );
    }
    let Some(spec) = spec else {
        if is_asked {
            return refused(
                5_979_703,
                "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for specific internal collections and vice versa",
            );
        }
        if has("expireAfterSeconds") {
            return refused(
                code::INVALID_OPTIONS,
                "'expireAfterSeconds' requires clustering to be enabled",
            );
        }
        return Ok(None);
    };
    if has("idIndex") {
        return refused(
            code::INVALID_OPTIONS,
            "The 'clusteredIndex' option is not supported with the 'idIndex' option",
        );
    }
    if says(options, "autoIndexId", false) {
        return refused(
            6_026_501,
            "The 'clusteredIndex' option does not support {autoIndexId: false}",
        );
    }
    spec.kept().map(Some)
}

/// Whether an option that is a flag says this.
fn says(options: Doc<'_>, name: &str, expected: bool) -> bool {
    let own = options.get(name);
    own.is_some_and(|own| flag(name, own).is_ok_and(|own| own == expected))
}

fn refused<T>(code: i32, message: &'static str) -> Result<T> {
    Err(Fault::new(code, message))
}

/// The fields of `clusteredIndex`, each of its type.
struct Spec<'a> {
    version: i32,
    key: Doc<'a>,
    name: &'a str,
    unique: bool,
}

fn checked(spec: Doc<'_>) -> Result<Spec<'_>> {
    let (mut key, mut unique, mut name, mut version) = (None, None, ID_INDEX, 2);
    let mut once = Once::within("create");
    for element in spec.elements() {
        let value = element.value();
        match (element.name_str(), value) {
            ("key" | "unique" | "name" | "v", Value::Null | Value::Undefined) => {}
            ("key", Value::Document(pattern)) => key = Some(pattern),
            ("key", other) => return Err(wrong_type("create.key", other, "type 'object'")),
            ("unique", value) => unique = Some(flag("create.unique", value)?),
            ("name", Value::String(text)) => name = text,
            ("name", other) => return Err(wrong_type("create.name", other, "type 'string'")),
            ("v", number) if number.is_number() => version = as_i32_whole(&number).unwrap_or(0),
            ("v", other) => {
                return Err(wrong_type(
                    "create.v",
                    other,
                    "types '[long, int, decimal, double']",
                ));
            }
            (other, _) => return Err(Fault::unknown_field("create", other)),
        }
        once.see(&element)?;
    }
    Ok(Spec {
        version,
        key: key.ok_or_else(|| missing("key"))?,
        name,
        unique: unique.ok_or_else(|| missing("unique"))?,
    })
}

impl Spec<'_> {
    fn kept(&self) -> Result<Owned> {
        let is_id = self.key.count() == 1
            && self
                .key
                .get("_id")
                .is_some_and(|order| order.is_number() && as_f64(&order) == Some(1.0));
        if !is_id {
            return Err(Fault::new(
                197,
                "The clusteredIndex option is only supported for key: {_id: 1}",
            ));
        }
        if !self.unique {
            return Err(Fault::new(
                5_979_700,
                "The clusteredIndex option requires unique: true to be specified",
            ));
        }
        let kept = vec![
            ("v".to_owned(), Owned::Int32(self.version)),
            ("key".to_owned(), Owned::RawDocument(self.key.to_bytes())),
            ("name".to_owned(), Owned::String(self.name.to_owned())),
            ("unique".to_owned(), Owned::Bool(true)),
        ];
        if self.version != 2 {
            return Err(Fault::new(
                5_979_704,
                format!(
                    "Invalid clusteredIndex specification {}; cannot create a clusteredIndex with v={}",
                    Doc::Fields(&kept),
                    self.version
                ),
            ));
        }
        Ok(Owned::Document(kept))
    }
}

/// The seconds that documents live, of `create` and of `collMod`.
pub(crate) fn expire_after(value: &Value<'_>) -> Result<i64> {
    let seconds = whole(value).unwrap_or(0);
    let refused = |message: &'static str| Err(Fault::new(code::INVALID_OPTIONS, message));
    if seconds < 0 {
        return refused("TTL index 'expireAfterSeconds' option cannot be less than 0");
    }
    // A longer life than this would have begun before 1970.
    if seconds > now() / 1000 {
        return refused(
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number",
        );
    }
    Ok(seconds)
}

fn missing(name: &str) -> Fault {
    Fault::new(
        40414,
        format!("BSON field 'create.{name}' is missing but a required field"),
    )
}
