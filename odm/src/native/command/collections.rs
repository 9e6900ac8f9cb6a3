//! `create`, `drop`, `dropDatabase`, `listCollections`, `renameCollection` and `collMod`.

use super::super::catalog::rules;
use super::super::collation::Collation;
use super::super::document::{Doc, Owned, Value};
use super::super::exec::{Namespace, alter, check_database, collections, series, view};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::cursor::{Opened, Rows};
use super::reply::{self, Reply, count, text};
use super::shape::{Fields, Shape, Type, is_generic, out_of_range, truth, whole, wrong_type};
use super::{Call, Job, expected_uuid, generic, indexes, uuid};

static CREATE: Shape = Shape {
    name: "create",
    fields: &[
        ("capped", Type::Boolish),
        ("autoIndexId", Type::Boolish),
        ("idIndex", Type::Object),
        (
            "size",
            Type::Checked(&Type::Number, |value| {
                rules::capped_size("size", value).map(|_| ())
            }),
        ),
        (
            "max",
            Type::Checked(&Type::Number, |value| rules::capped_max("max", value).map(|_| ())),
        ),
        ("storageEngine", Type::Object),
        ("validator", Type::Object),
        (
            "validationLevel",
            Type::Checked(&Type::String, |value| {
                rules::choice("create", "validationLevel", value).map(|_| ())
            }),
        ),
        (
            "validationAction",
            Type::Checked(&Type::String, |value| {
                rules::choice("create", "validationAction", value).map(|_| ())
            }),
        ),
        ("indexOptionDefaults", Type::Part(&CREATE_DEFAULTS)),
        ("viewOn", Type::Checked(&Type::String, check_view_on)),
        ("pipeline", Type::Documents),
        (
            "collation",
            Type::Checked(&Type::Object, |value| {
                value.as_document().map_or(Ok(()), Collation::check_form)
            }),
        ),
        ("recordPreImages", Type::Boolish),
        ("changeStreamPreAndPostImages", Type::Part(&CREATE_IMAGES)),
        (
            "timeseries",
            Type::Checked(&Type::Object, rules::series::check_form),
        ),
        ("clusteredIndex", Type::Own(rules::check_clustered)),
        ("expireAfterSeconds", Type::Number),
        (
            "encryptedFields",
            Type::Checked(&Type::Object, rules::check_encrypted),
        ),
        ("temp", Type::Boolish),
        ("flags", Type::Number),
    ],
    required: &[],
};

static DROP: Shape = Shape {
    name: "drop",
    fields: &[("collectionUUID", Type::Uuid)],
    required: &[],
};

static DROP_DATABASE: Shape = Shape {
    name: "dropDatabase",
    fields: &[],
    required: &[],
};

static LIST: Shape = Shape {
    name: "listCollections",
    fields: &[
        ("cursor", Type::Object),
        ("filter", Type::Object),
        ("nameOnly", Type::Bool),
        ("authorizedCollections", Type::Bool),
        ("includePendingDrops", Type::Boolish),
    ],
    required: &[],
};

static LIST_CURSOR: Shape = Shape {
    name: "listCollections.cursor",
    fields: &[("batchSize", Type::Number)],
    required: &[],
};

static INDEX_CURSOR: Shape = Shape {
    name: "listIndexes.cursor",
    fields: &[("batchSize", Type::Number)],
    required: &[],
};

static RENAME: Shape = Shape {
    name: "renameCollection",
    fields: &[
        ("to", Type::String),
        ("dropTarget", Type::Any),
        ("stayTemp", Type::Bool),
        ("collectionUUID", Type::Uuid),
    ],
    required: &["to"],
};

static MODIFY: Shape = Shape {
    name: "collMod",
    fields: &[
        ("index", Type::Part(&MODIFY_INDEX)),
        ("validator", Type::Object),
        (
            "validationLevel",
            Type::Checked(&Type::String, |value| {
                rules::choice("collMod", "validationLevel", value).map(|_| ())
            }),
        ),
        (
            "validationAction",
            Type::Checked(&Type::String, |value| {
                rules::choice("collMod", "validationAction", value).map(|_| ())
            }),
        ),
        ("viewOn", Type::Checked(&Type::String, check_view_on)),
        ("pipeline", Type::Documents),
        ("recordPreImages", Type::Boolish),
        ("changeStreamPreAndPostImages", Type::Part(&MODIFY_IMAGES)),
        ("expireAfterSeconds", Type::Own(check_expiry)),
        (
            "timeseries",
            Type::Checked(&Type::Object, |value| {
                rules::series::granularity(value).map(|_| ())
            }),
        ),
        ("dryRun", Type::Boolish),
        (
            "cappedSize",
            Type::Checked(&Type::Number, |value| {
                rules::capped_size("cappedSize", value).map(|_| ())
            }),
        ),
        (
            "cappedMax",
            Type::Checked(&Type::Number, |value| {
                rules::capped_max("cappedMax", value).map(|_| ())
            }),
        ),
        ("isTimeseriesNamespace", Type::Bool),
        ("collectionUUID", Type::Uuid),
    ],
    required: &[],
};

static CREATE_IMAGES: Shape = Shape {
    name: "create.changeStreamPreAndPostImages",
    fields: &[("enabled", Type::Bool)],
    required: &["enabled"],
};

static MODIFY_IMAGES: Shape = Shape {
    name: "collMod.changeStreamPreAndPostImages",
    fields: &[("enabled", Type::Bool)],
    required: &["enabled"],
};

static CREATE_DEFAULTS: Shape = Shape {
    name: "create.indexOptionDefaults",
    fields: &[("storageEngine", Type::Object)],
    required: &[],
};

static MODIFY_INDEX: Shape = Shape {
    name: "collMod.index",
    fields: &[
        ("name", Type::String),
        ("keyPattern", Type::Object),
        ("expireAfterSeconds", Type::Number),
        ("hidden", Type::Boolish),
        ("unique", Type::Boolish),
        ("prepareUnique", Type::Boolish),
        ("forceNonUnique", Type::Boolish),
    ],
    required: &[],
};

/// A view is on something.
fn check_view_on(value: Value<'_>) -> Result<()> {
    match value {
        Value::String("") => rules::view_on("create", value).map(|_| ()),
        _ => Ok(()),
    }
}

fn check_expiry(value: Value<'_>) -> Result<()> {
    match value {
        Value::String(_) | Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal128(_) => {
            Ok(())
        }
        other => Err(wrong_type(
            "collMod.expireAfterSeconds",
            other,
            "types '[string, long']",
        )),
    }
}

pub(super) fn create(call: &Call<'_>) -> Result<Job> {
    let fields = CREATE.command(call.doc)?;
    let namespace = call.namespace()?;
    let on_view = fields.string("viewOn").is_some();
    let options = options(call);
    // Beside a time series it is refused whatever it says.
    if let Some(index) = fields.object("idIndex")
        && fields.get("timeseries").is_none()
    {
        // What is wrong with some of the other options is told before.
        generic::check(call.name, call.doc)?;
        rules::check_before_id_index(Doc::Raw(&options))?;
        check_id_index(index, &fields)?;
    }
    let (outdated, unindexed) = match fields.get("autoIndexId") {
        None => (false, false),
        Some(own) => (true, !on_view && !truth(&own)),
    };
    Ok(Job::Write(Box::new(move |write| {
        collections::create(write, &namespace, Some(Doc::Raw(&options)))?;
        if unindexed {
            return Err(Fault::new(
                50001,
                format!(
                    "autoIndexId:false is not allowed for collection {namespace} because it can be replicated"
                ),
            ));
        }
        let reply = match outdated {
            true => Reply::new().with(
                "note",
                text("The autoIndexId option is deprecated and will be removed in a future release"),
            ),
            false => Reply::new(),
        };
        Ok(reply.done())
    })))
}

/// Checks the description of `_id`'s index.
fn check_id_index(spec: Doc<'_>, fields: &Fields<'_>) -> Result<()> {
    for other in ["viewOn", "autoIndexId"] {
        if fields.get(other).is_some() {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                format!("'idIndex' is not allowed with '{other}': {spec}"),
            ));
        }
    }
    let definition = IndexDefinition::parse(spec).map_err(|fault| {
        let told = fault
            .message()
            .strip_prefix(&format!("Error in specification {spec} :: caused by :: "));
        told.map(|told| Fault::new(fault.code(), told.to_owned()))
            .unwrap_or(fault)
    })?;
    if definition.is_id() {
        return Ok(());
    }
    Err(Fault::new(
        code::BAD_VALUE,
        format!(
            "The field 'key' for an _id index must be {{_id: 1}}, but got {}",
            definition.key_pattern()
        ),
    ))
}

pub(super) fn drop(call: &Call<'_>) -> Result<Job> {
    let fields = DROP.command(call.doc)?;
    let namespace = call.namespace()?;
    let expected = expected_uuid(&fields)?;
    Ok(Job::Write(Box::new(move |write| {
        collections::check_uuid(write.catalog(), &namespace, expected)?;
        let found = write
            .catalog()
            .collection(&namespace.database, &namespace.collection);
        if found.is_some() && matches!(&*namespace.collection, "system.js" | "system.users") {
            return Err(Fault::new(
                code::ILLEGAL_OPERATION,
                format!("can't drop system collection {namespace}"),
            ));
        }
        let front = series::series_of(write.catalog(), &namespace);
        if let Some(lone) = series::lone_buckets(write.catalog(), &namespace) {
            let indexes = indexes::size(&*write, &lone).unwrap_or(0);
            collections::drop(write, &lone)?;
            return Ok(Reply::new().with("nIndexesWas", count(indexes)).done());
        }
        let namespace = front.as_ref().unwrap_or(&namespace);
        let is_view = view::view_of(write.catalog(), namespace).is_some()
            && !series::is_series(write.catalog(), namespace);
        let indexes = indexes::size(&*write, namespace).filter(|_| !is_view);
        if !collections::drop(write, namespace)? {
            return Err(Fault::new(code::NAMESPACE_NOT_FOUND, "ns not found"));
        }
        let mut reply = Reply::new();
        if let Some(indexes) = indexes {
            reply = reply.with("nIndexesWas", count(indexes));
        }
        if front.is_none() && namespace.collection.starts_with(series::BUCKETS) {
            return Ok(reply.done());
        }
        Ok(reply.with("ns", text(namespace.to_string())).done())
    })))
}

pub(super) fn drop_database(call: &Call<'_>) -> Result<Job> {
    DROP_DATABASE.command(call.doc)?;
    check_one(&call.target)?;
    let database = call.database.to_owned();
    Ok(Job::Write(Box::new(move |write| {
        collections::drop_database(write, &database)?;
        Ok(Reply::new().done())
    })))
}

/// Refuses all but the 1 by which a database is dropped.
fn check_one(target: &Value<'_>) -> Result<()> {
    const NAME: &str = "dropDatabase.dropDatabase";
    match whole(target) {
        Some(1) => Ok(()),
        Some(_) => Err(Fault::new(5_255_100, "Have to pass 1 as 'drop' parameter")),
        None if matches!(target, Value::Null | Value::Undefined) => Err(Fault::new(
            40_414,
            format!("BSON field '{NAME}' is missing but a required field"),
        )),
        None => Err(wrong_type(NAME, *target, "types '[long, int, decimal, double']")),
    }
}

/// How many documents the first batch of a listing is to have.
pub(super) fn batch_size(of: &str, cursor: Option<Doc<'_>>) -> Result<Option<usize>> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let shape = match of {
        "listIndexes.cursor" => &INDEX_CURSOR,
        _ => &LIST_CURSOR,
    };
    match shape.part(cursor)?.number("batchSize") {
        Some(size) if size < 0 => Err(out_of_range("batchSize", size)),
        size => Ok(size.and_then(|size| usize::try_from(size).ok())),
    }
}

pub(super) fn list(call: &Call<'_>) -> Result<Job> {
    let fields = LIST.command(call.doc)?;
    let batch_size = batch_size("listCollections.cursor", fields.object("cursor"))?;
    let names_only = fields.flag("nameOnly");
    let filter = fields.object("filter").unwrap_or(Doc::empty()).to_bytes();
    let database = call.database.to_owned();
    Ok(Job::Open(Box::new(move |read| {
        let found = if names_only {
            let matcher = collections::listing_filter(Doc::Raw(&filter))?;
            let all = collections::list(read, &database, Doc::empty())?;
            let mut found = Vec::new();
            for document in all.iter().map(|document| name_and_type(document)) {
                if matcher.matches(Doc::Raw(&document))? {
                    found.push(document);
                }
            }
            found
        } else {
            collections::list(read, &database, Doc::Raw(&filter))?
        };
        Ok(Opened {
            ns: format!("{database}.$cmd.listCollections"),
            rows: Rows::Held(found.into()),
            batch_size,
            single: false,
            listing: true,
            stays: false,
        })
    })))
}

fn name_and_type(document: &[u8]) -> Vec<u8> {
    let fields: Vec<(String, Owned)> = Doc::Raw(document)
        .elements()
        .filter(|element| matches!(element.name(), b"name" | b"type"))
        .map(|element| (element.name_str().to_owned(), element.value().into()))
        .collect();
    Doc::Fields(&fields).to_bytes()
}

pub(super) fn rename(call: &Call<'_>) -> Result<Job> {
    call.refuse_outside_admin()?;
    let fields = RENAME.command(call.doc)?;
    if let Some(other) = call.doc.get("dropTarget")
        && !matches!(other, Value::Bool(_) | Value::Binary { .. })
    {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field 'renameCollection.dropTarget' is the wrong type '{}', expected types '[bool, binData]'",
                other.kind().alias()
            ),
        ));
    }
    let drop_target = fields.flag("dropTarget");
    let Value::String(from) = call.target else {
        return Err(Fault::new(
            code::TYPE_MISMATCH,
            format!(
                "BSON field 'renameCollection.renameCollection' is the wrong type '{}', expected type 'string'",
                call.target.kind().alias()
            ),
        ));
    };
    let from = whole_name(from, "source")?;
    let to = whole_name(fields.string("to").unwrap_or_default(), "target")?;
    let expected = expected_uuid(&fields)?;
    let expected_target = match fields.get("dropTarget") {
        Some(given @ Value::Binary { .. }) => Some(uuid(&given)?),
        _ => None,
    };
    Ok(Job::Write(Box::new(move |write| {
        alter::refuse_in_transaction(write, "renameCollection")?;
        if from == to {
            return Err(alter::same_name());
        }
        if from.collection.starts_with(series::BUCKETS) {
            return Err(alter::of_buckets());
        }
        if from.database != to.database && (expected.is_some() || expected_target.is_some()) {
            return Err(Fault::new(
                code::INVALID_OPTIONS,
                "Cannot provide an expected collection UUID when renaming between databases",
            ));
        }
        collections::check_uuid(write.catalog(), &from, expected)?;
        collections::check_uuid(write.catalog(), &to, expected_target)?;
        alter::rename(write, &from, &to, drop_target)?;
        Ok(reply::ok())
    })))
}

/// `database.collection`, taken apart; `which` of the two names it is.
pub(super) fn whole_name(name: &str, which: &str) -> Result<Namespace> {
    let namespace = taken_apart(name, which)?;
    let refused = |why: &str| {
        Fault::new(
            code::ILLEGAL_OPERATION,
            format!("error with {which} namespace: {why}"),
        )
    };
    if namespace.database.contains('$') {
        return Err(refused(&format!("Invalid namespace: {name}")));
    }
    if namespace.check().is_err() {
        let own = &namespace.collection;
        let why = match own.starts_with('.') || own.contains('$') || name.len() <= MOST_BYTES {
            true => format!("Invalid collection name: {own}"),
            false => format!("Fully qualified namespace is too long. Namespace: {name} Max: {MOST_BYTES}"),
        };
        return Err(refused(&why));
    }
    namespace
        .check_writable()
        .map_err(|fault| refused(fault.message()))?;
    Ok(namespace)
}

/// How long the name of a collection may be, with its database's.
const MOST_BYTES: usize = 255;

/// The same, of a name that need not be one that a collection can have.
pub(super) fn taken_apart(name: &str, which: &str) -> Result<Namespace> {
    let bad = || {
        let text = match which {
            "target" => format!("Invalid target namespace: {name}"),
            _ => format!("Invalid namespace specified '{name}'"),
        };
        Fault::new(code::INVALID_NAMESPACE, text)
    };
    if name.contains('\0') {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            "namespaces cannot have embedded null characters",
        ));
    }
    let (database, collection) = name.split_once('.').ok_or_else(bad)?;
    if collection.is_empty() || check_database(&database.replace('$', "")).is_err() {
        return Err(bad());
    }
    Ok(Namespace {
        database: database.to_owned(),
        collection: collection.to_owned(),
    })
}

pub(super) fn modify(call: &Call<'_>) -> Result<Job> {
    let fields = MODIFY.command(call.doc)?;
    let namespace = call.namespace()?;
    let expected = expected_uuid(&fields)?;
    let changes = options(call);
    Ok(Job::Write(Box::new(move |write| {
        // Of a time series it is not looked at.
        if !series::is_series(write.catalog(), &namespace) {
            collections::check_uuid(write.catalog(), &namespace, expected)?;
        }
        let said = alter::modify(write, &namespace, Doc::Raw(&changes))?;
        let said = Doc::Raw(&said)
            .elements()
            .filter(|element| element.name() != b"ok");
        let reply = said.fold(Reply::new(), |reply, element| {
            reply.with(element.name_str(), element.value().into())
        });
        Ok(reply.done())
    })))
}

/// What a command says of its collection, without what any command may carry.
fn options(call: &Call<'_>) -> Vec<u8> {
    let options: Vec<(String, Owned)> = call
        .doc
        .elements()
        .skip(1)
        .filter(|element| !is_generic(element.name_str()) && element.name() != b"collectionUUID")
        // Of two types, and none of them is null.
        .filter(|element| {
            (call.name == "collMod" && element.name() == b"expireAfterSeconds")
                || !matches!(element.value(), Value::Null | Value::Undefined)
        })
        .map(|element| (element.name_str().to_owned(), element.value().into()))
        .collect();
    Doc::Fields(&options).to_bytes()
}
