//! Time series collections: which fields they set apart, and how far apart in time documents may be to stand together.

use std::sync::Arc;

use super::clustered::expire_after;
use super::{flag, wrong_type};
use crate::native::catalog::buckets::OpenBuckets;
use crate::native::document::number::{as_f64, as_i64_exact};
use crate::native::document::{Doc, Fields, Once, Owned, Value};
use crate::native::fault::{Fault, Result, code};

/// The measurements of sources, by time.
#[derive(Debug)]
pub(crate) struct Series {
    /// The field of the time.
    pub(crate) time: String,
    /// The field that says whose measurement it is.
    pub(crate) meta: Option<String>,
    pub(crate) granularity: Granularity,
    /// How long a document lives.
    pub(crate) expire_after_seconds: Option<i64>,
    /// Where the next documents go.
    pub(crate) open: Arc<OpenBuckets>,
}

/// How close to each other the measurements of a source are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Granularity {
    Seconds,
    Minutes,
    Hours,
}

impl Granularity {
    fn parse(field: &str, value: Value<'_>) -> Result<Granularity> {
        match text(field, value)? {
            "seconds" => Ok(Granularity::Seconds),
            "minutes" => Ok(Granularity::Minutes),
            "hours" => Ok(Granularity::Hours),
            other => Err(Fault::new(
                code::BAD_VALUE,
                format!("Enumeration value '{other}' for field '{field}' is not a valid value."),
            )),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Granularity::Seconds => "seconds",
            Granularity::Minutes => "minutes",
            Granularity::Hours => "hours",
        }
    }

    /// The most seconds between the documents of a bucket.
    pub(crate) fn span(self) -> i64 {
        match self {
            Granularity::Seconds => 3_600,
            Granularity::Minutes => 86_400,
            Granularity::Hours => 2_592_000,
        }
    }

    /// The seconds that the begin of a bucket is a multiple of.
    pub(crate) fn rounding(self) -> i64 {
        match self {
            Granularity::Seconds => 60,
            Granularity::Minutes => 3_600,
            Granularity::Hours => 86_400,
        }
    }
}

impl Series {
    /// Reads options as they are stored: those of the series by its name, and those of its buckets.
    pub(super) fn stored(options: Doc<'_>) -> Option<Series> {
        let is_front = options.get("viewOn").is_some();
        let is_buckets = matches!(options.get("clusteredIndex"), Some(Value::Bool(true)));
        let series = options
            .get("timeseries")?
            .as_document()
            .filter(|_| is_front || is_buckets)?;
        let text = |name: &str| {
            series
                .get(name)
                .and_then(|value| value.as_str().map(str::to_owned))
        };
        let granularity = series.get("granularity").unwrap_or(Value::String("seconds"));
        Some(Series {
            time: text("timeField")?,
            meta: text("metaField"),
            granularity: Granularity::parse("granularity", granularity).ok()?,
            expire_after_seconds: options
                .get("expireAfterSeconds")
                .and_then(|seconds| as_i64_exact(&seconds)),
            open: Arc::default(),
        })
    }

    /// Whether the path is the field that says whose measurement it is, or inside of it.
    pub(crate) fn is_of_meta(&self, path: &str) -> bool {
        let root = path.split('.').next().unwrap_or_default();
        self.meta.as_deref() == Some(root)
    }
}

/// What cannot stand beside `timeseries`.
const NOT_BESIDE: &[&str] = &[
    "autoIndexId",
    "capped",
    "changeStreamPreAndPostImages",
    "clusteredIndex",
    "flags",
    "idIndex",
    "max",
    "recordPreImages",
    "size",
    "validationAction",
    "validationLevel",
    "validator",
    "viewOn",
];

/// The fields of `timeseries` of `create`, each of its type.
struct Form<'a> {
    time: &'a str,
    meta: Option<&'a str>,
    span: Option<i64>,
    granularity: Granularity,
}

/// Checks what `timeseries` of `create` is made of.
///
/// # Errors
/// MongoDB's: 14, 40414 and 40415 for what has not its form, 2 and 51024 for values.
pub(crate) fn check_form(series: Value<'_>) -> Result<()> {
    form(series).map(|_| ())
}

fn form(series: Value<'_>) -> Result<Form<'_>> {
    let Value::Document(series) = series else {
        return Err(wrong_type("create.timeseries", series, "type 'object'"));
    };
    let (mut time, mut meta, mut span, mut granularity) = (None, None, None, Granularity::Seconds);
    let mut once = Once::within("create.timeseries");
    for element in series.elements() {
        let (name, value) = (element.name_str(), element.value());
        let field = format!("create.timeseries.{name}");
        match name {
            "timeField" | "metaField" | "granularity" | "bucketMaxSpanSeconds"
                if matches!(value, Value::Null | Value::Undefined) => {}
            "timeField" => time = Some(text(&field, value)?),
            "metaField" => meta = Some(text(&field, value)?),
            "granularity" => granularity = Granularity::parse(&field, value)?,
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
            _ => return Err(Fault::unknown_field("create.timeseries", name)),
        }
        once.see(&element)?;
    }
    let Some(time) = time else {
        return Err(Fault::new(
            40414,
            "BSON field 'create.timeseries.timeField' is missing but a required field",
        ));
    };
    Ok(Form {
        time,
        meta,
        span,
        granularity,
    })
}

/// Checks `timeseries` of `create` and gives it as it is kept; `ns` is the collection's full name.
///
/// # Errors
/// MongoDB's: 14, 40414 and 40415 for what has not its form, 2 and 51024 for values, 72 for what does not go together.
pub(super) fn parse(series: Value<'_>, options: Doc<'_>, ns: &str) -> Result<Owned> {
    let Form {
        time,
        meta,
        span,
        granularity,
    } = form(series)?;
    refuse_others(options, ns)?;
    if time.contains('\0') {
        // The server makes text of the rules of its buckets, which ends there.
        return Err(Fault::new(16619, "FailedToParse: Unexpected end of input"));
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
    if span.is_some_and(|span| span != granularity.span()) {
        return Err(Fault::new(
            5_510_500,
            format!(
                "Timeseries 'bucketMaxSpanSeconds' is not configurable to a value other than the default of {} for the provided granularity",
                granularity.span()
            ),
        ));
    }
    if let Some(seconds) = options.get("expireAfterSeconds")
        && seconds.is_number()
    {
        expire_after(&seconds)?;
    }
    Ok(kept(time, meta, granularity))
}

/// Refuses what cannot stand beside `timeseries`.
fn refuse_others(options: Doc<'_>, ns: &str) -> Result<()> {
    let stands = |name: &&&str| match options.get(name) {
        None => false,
        Some(value) if **name == "capped" => flag("create.capped", value).unwrap_or(true),
        Some(_) => true,
    };
    match NOT_BESIDE.iter().find(stands) {
        None => Ok(()),
        Some(other) => Err(invalid(format!(
            "{ns}: 'timeseries' is not allowed with '{other}'"
        ))),
    }
}

fn kept(time: &str, meta: Option<&str>, granularity: Granularity) -> Owned {
    let text = |name: &str, text: &str| (name.to_owned(), Owned::String(text.to_owned()));
    let mut fields = vec![text("timeField", time)];
    fields.extend(meta.map(|meta| text("metaField", meta)));
    fields.push(text("granularity", granularity.name()));
    let span = i32::try_from(granularity.span()).unwrap_or(i32::MAX);
    fields.push(("bucketMaxSpanSeconds".to_owned(), Owned::Int32(span)));
    Owned::Document(fields)
}

/// What the view of a series says of it on the server, whose stage makes documents of buckets.
pub(crate) fn unpacked(series: &Series) -> Owned {
    let text = |name: &str, text: &str| (name.to_owned(), Owned::String(text.to_owned()));
    let mut fields = vec![text("timeField", &series.time)];
    fields.extend(series.meta.as_deref().map(|meta| text("metaField", meta)));
    let span = i32::try_from(series.granularity.span()).unwrap_or(i32::MAX);
    fields.push(("bucketMaxSpanSeconds".to_owned(), Owned::Int32(span)));
    Owned::Document(fields)
}

/// What `collMod` makes of the series: it may only become coarser.
///
/// # Errors
/// MongoDB's: 14, 40415 and 2 for what has not its form, 72 for a finer granularity.
pub(crate) fn modified(series: &Series, changes: Value<'_>) -> Result<Owned> {
    let granularity = granularity(changes)?.unwrap_or(series.granularity);
    if granularity < series.granularity {
        return Err(invalid(
            "Invalid transition for timeseries.granularity. Can only transition from 'seconds' to 'minutes' or 'minutes' to 'hours'.",
        ));
    }
    Ok(kept(&series.time, series.meta.as_deref(), granularity))
}

/// The granularity that `collMod` asks for.
pub(crate) fn granularity(changes: Value<'_>) -> Result<Option<Granularity>> {
    let Value::Document(changes) = changes else {
        return Err(wrong_type("collMod.timeseries", changes, "type 'object'"));
    };
    let mut granularity = None;
    let mut once = Once::within("collMod.timeseries");
    for element in changes.elements() {
        match (element.name_str(), element.value()) {
            ("granularity", Value::Null | Value::Undefined) => {}
            ("granularity", value) => {
                granularity = Some(Granularity::parse("collMod.timeseries.granularity", value)?);
            }
            (other, _) => return Err(Fault::unknown_field("collMod.timeseries", other)),
        }
        once.see(&element)?;
    }
    Ok(granularity)
}

/// What the server says that a bucket must be, among the options of the collection that has them.
pub(crate) fn bucket_validator(time: &str) -> Owned {
    let document = |fields: &[(&str, Owned)]| {
        let fields: Fields = fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        Owned::Document(fields)
    };
    let text = |text: &str| Owned::String(text.to_owned());
    let of_type = |name: &str| document(&[("bsonType", text(name))]);
    let names = |names: &[&str]| Owned::Array(names.iter().copied().map(text).collect());
    let edge = document(&[
        ("bsonType", text("object")),
        ("required", names(&[time])),
        ("properties", document(&[(time, of_type("date"))])),
    ]);
    let control = document(&[
        ("bsonType", text("object")),
        ("required", names(&["version", "min", "max"])),
        (
            "properties",
            document(&[
                ("version", of_type("number")),
                ("min", edge.clone()),
                ("max", edge),
                ("closed", of_type("bool")),
            ]),
        ),
    ]);
    let schema = document(&[
        ("bsonType", text("object")),
        ("required", names(&["_id", "control", "data"])),
        (
            "properties",
            document(&[
                ("_id", of_type("objectId")),
                ("control", control),
                ("data", of_type("object")),
                ("meta", document(&[])),
            ]),
        ),
        ("additionalProperties", Owned::Bool(false)),
    ]);
    document(&[("$jsonSchema", schema)])
}

fn text<'a>(field: &str, value: Value<'a>) -> Result<&'a str> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(wrong_type(field, other, "type 'string'")),
    }
}

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::INVALID_OPTIONS, text)
}
