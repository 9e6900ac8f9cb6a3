//! `createIndexes` specifications: MongoDB's rules, in its order and with its words.

use super::super::document::{Doc, Kind, Value, number};
use super::super::fault::{Fault, Result, code};
use super::super::geo::Grid;
use super::super::matcher::Matcher;
use super::super::matcher::ast::{Node, Predicate};
use super::options::GeoOptions;
use super::spec::Canonical;
use super::{ID_INDEX, IndexDefinition, IndexField, Order, paths_of};

/// How many fields an index may have.
const MAX_FIELDS: usize = 32;
/// The largest `expireAfterSeconds`, 68 years.
const MAX_EXPIRY: i64 = i32::MAX as i64;

/// Options that MongoDB knows and this engine either uses or may leave aside.
const OPTIONS: &[&str] = &[
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
];

/// Options that a specification of `_id`'s index may have.
const ID_OPTIONS: &[&str] = &["key", "name", "v", "ns", "collation"];

pub(super) fn parse(spec: Doc<'_>) -> Result<IndexDefinition> {
    let found = Options::read(spec).map_err(|fault| fault.prefixed(&context(spec)))?;
    let mut keys = parse_key(found.key).map_err(|fault| fault.prefixed(&context(spec)))?;
    let on_id = check_id(spec, &found)?;
    let expire_after_seconds = found
        .expire_after_seconds
        .map(|value| parse_expiry(spec, &value, keys.len()))
        .transpose()?;
    if found.name.is_empty() {
        return Err(cannot("index name cannot be empty").prefixed(&context(spec)));
    }
    if found.name.contains('\0') {
        return Err(cannot("index name cannot contain NUL bytes").prefixed(&context(spec)));
    }
    let partial = found
        .partial
        .map(|filter| parse_partial(filter, found.sparse == Some(true)))
        .transpose()
        .map_err(|fault| fault.prefixed(&context(spec)))?;
    check_count(&keys, found.unique)?;
    let mut geo = found.geo;
    geo.apply(&mut keys, &spec)?;
    let name = if on_id { ID_INDEX } else { found.name };
    let canonical = Canonical {
        key: found.key,
        name,
        background: found.background,
        unique: found.unique,
        prepare_unique: found.prepare_unique,
        hidden: found.hidden,
        partial: found.partial,
        sparse: found.sparse,
        expire_after_seconds,
        geo,
    };
    Ok(IndexDefinition {
        name: name.to_owned(),
        paths: paths_of(&keys),
        keys,
        unique: found.unique || on_id,
        prepare_unique: found.prepare_unique,
        sparse: found.sparse == Some(true),
        partial,
        expire_after_seconds,
        hidden: found.hidden,
        spec: canonical.to_bytes(),
    })
}

fn context(spec: Doc<'_>) -> String {
    format!("Error in specification {spec} :: caused by :: ")
}

fn cannot(message: impl Into<std::borrow::Cow<'static, str>>) -> Fault {
    Fault::new(code::CANNOT_CREATE_INDEX, message)
}

/// The options as written, each of its type.
struct Options<'a> {
    key: Doc<'a>,
    name: &'a str,
    unique: bool,
    prepare_unique: bool,
    sparse: Option<bool>,
    background: Option<bool>,
    hidden: bool,
    expire_after_seconds: Option<Value<'a>>,
    partial: Option<Doc<'a>>,
    geo: GeoOptions,
}

impl<'a> Options<'a> {
    fn read(spec: Doc<'a>) -> Result<Options<'a>> {
        let (mut key, mut name) = (None, None);
        let mut options = Options {
            key: Doc::empty(),
            name: "",
            unique: false,
            prepare_unique: false,
            sparse: None,
            background: None,
            hidden: false,
            expire_after_seconds: None,
            partial: None,
            geo: GeoOptions::default(),
        };
        for element in spec.elements() {
            let (field, value) = (element.name_str(), element.value());
            if options.geo.take(field, &value)? {
                continue;
            }
            match field {
                "key" => key = Some(object(field, &value)?),
                "name" => match value {
                    Value::String(text) => name = Some(text),
                    other => return Err(wrong_type(field, "a string", other.kind())),
                },
                "v" => check_version(spec, &value)?,
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
                "partialFilterExpression" => options.partial = Some(object(field, &value)?),
                "collation" => {
                    let collation = object(field, &value)?;
                    if collation.get("locale").and_then(|locale| locale.as_str()) != Some("simple") {
                        return Err(Fault::unsupported("index collations are not supported"));
                    }
                }
                "weights" => {
                    return Err(cannot(format!(
                        "Invalid index specification {spec}; the field 'weights' can only be specified with \
                         text indexes"
                    )));
                }
                "wildcardProjection" if spec.get("key").is_some_and(|key| is_wildcard(&key)) => {
                    return Err(Fault::unsupported("wildcard indexes are not supported"));
                }
                "wildcardProjection" => {
                    return Err(Fault::new(
                        code::BAD_VALUE,
                        "The field 'wildcardProjection' is only allowed in an 'wildcard' index",
                    ));
                }
                "clustered" => {
                    return Err(Fault::unsupported("clustered indexes are not supported"));
                }
                "storageEngine" => match object(field, &value)? {
                    empty if empty.is_empty() => {
                        return Err(cannot(
                            "Empty \"storageEngine\" options are invalid. Please remove the field or include \
                             valid options.",
                        ));
                    }
                    _ => return Err(Fault::unsupported("storage engine options are not supported")),
                },
                known if OPTIONS.contains(&known) => {}
                unknown => {
                    return Err(Fault::new(
                        197,
                        format!(
                            "The field '{unknown}' is not valid for an index specification. Specification: \
                             {spec}"
                        ),
                    ));
                }
            }
        }
        options.key = key.ok_or_else(|| required("The 'key' field"))?;
        options.name = name.ok_or_else(|| required("The 'name' field"))?;
        Ok(options)
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
        other => Err(Fault::new(
            code::TYPE_MISMATCH,
            format!("The field '{field} has value {field}: {other}, which is not convertible to bool"),
        )),
    }
}

fn check_version(spec: Doc<'_>, value: &Value<'_>) -> Result<()> {
    if !value.is_number() {
        return Err(wrong_type("v", "a number", value.kind()));
    }
    match number::as_i64_exact(value) {
        Some(1 | 2) => Ok(()),
        _ => Err(cannot(format!(
            "Invalid index specification {spec}; cannot create an index with v={value}"
        ))),
    }
}

fn parse_key(pattern: Doc<'_>) -> Result<Vec<IndexField>> {
    let mut keys: Vec<IndexField> = Vec::new();
    for element in pattern.elements() {
        let path = element.name_str();
        if keys.iter().any(|key| key.path == path) {
            return Err(Fault::new(
                code::BAD_VALUE,
                format!("The field '{path}' appears multiple times in the index key pattern {pattern}"),
            ));
        }
        let order = parse_order(&element.value())?;
        check_path(path)?;
        keys.push(IndexField {
            path: path.to_owned(),
            order,
        });
    }
    if keys.is_empty() {
        return Err(cannot("Index keys cannot be empty."));
    }
    check_plugins(pattern)?;
    Ok(keys)
}

/// All fields that are kept in a way of their own are kept in the same way.
fn check_plugins(pattern: Doc<'_>) -> Result<()> {
    let mut plugins = pattern.values().filter_map(|value| match value {
        Value::String(plugin) => Some(plugin),
        _ => None,
    });
    let first = plugins.next();
    if plugins.any(|other| Some(other) != first) {
        return Err(cannot("Can't use more than one index plugin for a single index."));
    }
    Ok(())
}

fn parse_order(value: &Value<'_>) -> Result<Order> {
    match *value {
        ref number if number.is_number() => {
            if number::is_nan(number) {
                return Err(cannot("Values in the index key pattern cannot be NaN."));
            }
            match number::compare(number, &Value::Int32(0)) {
                std::cmp::Ordering::Greater => Ok(Order::Ascending),
                std::cmp::Ordering::Less => Ok(Order::Descending),
                std::cmp::Ordering::Equal => Err(cannot("Values in the index key pattern cannot be 0.")),
            }
        }
        Value::String("hashed") => Ok(Order::Hashed),
        Value::String("") => Err(cannot("Values in the index key pattern cannot be empty strings")),
        Value::String("geoHaystack") => Err(cannot(
            "GeoHaystack indexes cannot be created in version 5.0 and above",
        )),
        Value::String("2d") => Ok(Order::Flat(Grid::default())),
        Value::String("2dsphere") => Ok(Order::Sphere),
        Value::String("text") => Err(Fault::unsupported("text indexes are not supported")),
        Value::String(unknown) => Err(cannot(format!("Unknown index plugin '{unknown}'"))),
        ref other => Err(cannot(format!(
            "Values in v:2 index key pattern cannot be of type {}. Only numbers > 0, numbers < 0, and strings \
             are allowed.",
            other.kind().alias()
        ))),
    }
}

/// Whether a key pattern is that of a wildcard index.
fn is_wildcard(pattern: &Value<'_>) -> bool {
    let mut names = pattern
        .as_document()
        .into_iter()
        .flat_map(Doc::elements)
        .map(|element| element.name_str());
    names.any(|name| name == "$**" || name.ends_with(".$**"))
}

fn check_path(path: &str) -> Result<()> {
    if path.is_empty() {
        return Err(cannot("Index keys cannot be an empty field."));
    }
    if path == "$**" || path.ends_with(".$**") {
        return Err(Fault::unsupported("wildcard indexes are not supported"));
    }
    for (position, name) in path.split('.').enumerate() {
        if name.is_empty() {
            return Err(cannot("Index keys cannot contain an empty field."));
        }
        let reference = position > 0 && matches!(name, "$id" | "$ref" | "$db");
        if name.starts_with('$') && !reference {
            return Err(cannot(
                "Index key contains an illegal field name: field name starts with '$'.",
            ));
        }
    }
    Ok(())
}

/// The rules for `_id`'s index; gives whether the specification is of it.
fn check_id(spec: Doc<'_>, options: &Options<'_>) -> Result<bool> {
    let mut elements = options.key.elements();
    let (first, second) = (elements.next(), elements.next());
    let order = match (first, second) {
        (Some(element), None) if element.name() == b"_id" => Some(element.value()),
        _ => None,
    };
    let on_id = order.is_some_and(|value| value.is_number() && number::as_f64(&value) == Some(1.0));
    if let Some(value) = order
        && value.is_number()
        && !on_id
    {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "The field 'key' for an _id index must be {{_id: 1}}, but got {}",
                options.key
            ),
        ));
    }
    if on_id {
        if let Some(extra) = spec
            .elements()
            .find(|element| !ID_OPTIONS.contains(&element.name_str()))
        {
            return Err(Fault::new(
                197,
                format!(
                    "The field '{}' is not valid for an _id index specification. Specification: {spec}",
                    extra.name_str()
                ),
            ));
        }
    } else if options.name == ID_INDEX {
        return Err(Fault::new(
            code::BAD_VALUE,
            format!(
                "The index name '_id_' is reserved for the _id index, which must have key pattern {{_id: 1}}, \
                 found key: {}",
                options.key
            ),
        ));
    }
    if options.name == "*" {
        return Err(Fault::new(code::BAD_VALUE, "The index name '*' is not valid."));
    }
    Ok(on_id)
}

fn parse_expiry(spec: Doc<'_>, value: &Value<'_>, fields: usize) -> Result<i64> {
    let seconds = match value {
        number if number::is_nan(number) => MAX_EXPIRY,
        Value::Double(x) => *x as i64,
        Value::Decimal128(bytes) => {
            let decimal = super::super::document::decimal::Decimal::from_bytes(*bytes);
            let limit = if decimal.is_negative() { i64::MIN } else { i64::MAX };
            decimal.to_i64_truncated().unwrap_or(limit)
        }
        Value::Int32(x) => i64::from(*x),
        Value::Int64(x) => *x,
        other => {
            return Err(cannot(format!(
                "TTL index 'expireAfterSeconds' option must be numeric, but received a type of '{}'. Index \
                 spec: {spec}",
                other.kind().alias()
            )));
        }
    };
    if seconds < 0 {
        return Err(cannot(format!(
            "TTL index 'expireAfterSeconds' option cannot be less than 0. Index spec: {spec}"
        )));
    }
    if seconds > MAX_EXPIRY {
        return Err(cannot(format!(
            "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number. \
             Index spec: {spec}"
        )));
    }
    if fields > 1 {
        return Err(cannot(format!(
            "TTL indexes are single-field indexes, compound indexes do not support TTL. Index spec: {spec}"
        )));
    }
    Ok(seconds)
}

fn parse_partial(filter: Doc<'_>, sparse: bool) -> Result<Matcher> {
    let matcher = Matcher::parse(filter)?;
    check_partial(matcher.root())?;
    if sparse {
        return Err(cannot(
            "cannot mix \"partialFilterExpression\" and \"sparse\" options",
        ));
    }
    Ok(matcher)
}

/// What a partial filter may say: a document's membership has to follow from single values.
fn check_partial(node: &Node) -> Result<()> {
    match node {
        Node::Always => Ok(()),
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().try_for_each(check_partial),
        Node::Field { predicate, .. } => check_partial_predicate(predicate),
        Node::Nor(_) => Err(not_in_partial("$nor")),
        Node::Expr(_) => Err(Fault::new(224, "$expr is not allowed in this context")),
        Node::Schema(_) => Err(not_in_partial("$jsonSchema")),
        Node::Never => Err(not_in_partial("$alwaysFalse")),
        Node::Sample(_) => Err(not_in_partial("$sampleRate")),
        Node::Near(_) => Err(super::super::matcher::near::not_allowed()),
    }
}

fn check_partial_predicate(predicate: &Predicate) -> Result<()> {
    match predicate {
        Predicate::Equal(_)
        | Predicate::Less(_)
        | Predicate::LessOrEqual(_)
        | Predicate::Greater(_)
        | Predicate::GreaterOrEqual(_)
        | Predicate::Exists
        | Predicate::Geo(_)
        | Predicate::Type(_) => Ok(()),
        Predicate::In { patterns, .. } if patterns.is_empty() => Ok(()),
        Predicate::And(predicates) => predicates.iter().try_for_each(check_partial_predicate),
        Predicate::In { .. } | Predicate::Regex(_) => Err(not_in_partial("regex")),
        Predicate::Not(_) => Err(not_in_partial("$not")),
        Predicate::ElementObject(_) | Predicate::ElementValue(_) => Err(not_in_partial("$elemMatch")),
        Predicate::Size(_) => Err(not_in_partial("$size")),
        Predicate::Mod { .. } => Err(not_in_partial("mod")),
        Predicate::Bits(_) => Err(not_in_partial("bit test")),
    }
}

fn not_in_partial(what: &str) -> Fault {
    cannot(format!("Expression not supported in partial index: {what}\n"))
}

fn check_count(keys: &[IndexField], unique: bool) -> Result<()> {
    let hashed = keys.iter().filter(|key| key.order == Order::Hashed).count();
    if hashed > 1 {
        return Err(Fault::new(
            31303,
            format!("A maximum of one index field is allowed to be hashed but found {hashed}"),
        ));
    }
    if hashed > 0 && unique {
        return Err(Fault::new(
            16764,
            "Currently hashed indexes cannot guarantee uniqueness. Use a regular index.",
        ));
    }
    if keys.len() > MAX_FIELDS {
        return Err(Fault::new(13103, "too many compound keys"));
    }
    Ok(())
}
