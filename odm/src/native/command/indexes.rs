//! `createIndexes`, `dropIndexes` and `listIndexes`.

use super::super::document::{Doc, Kind, Owned, Value};
use super::super::exec::collections::check_uuid;
use super::super::exec::{Namespace, indexes, series, view};
use super::super::fault::{Fault, Result, code};
use super::super::index::IndexDefinition;
use super::super::storage::Read;
use super::collections::batch_size;
use super::cursor::{Opened, Rows};
use super::generic::MOST_MEMBERS;
use super::reply::{Reply, count, text};
use super::shape::{Shape, Type, whole, wrong_type};
use super::{Call, Job, expected_uuid};

static CREATE: Shape = Shape {
    name: "createIndexes",
    fields: &[
        ("indexes", Type::Documents),
        ("commitQuorum", Type::Any),
        ("collectionUUID", Type::Uuid),
        ("ignoreUnknownIndexOptions", Type::Boolish),
        ("isTimeseriesNamespace", Type::Bool),
        ("v", Type::Number),
    ],
    required: &["indexes"],
};

static DROP: Shape = Shape {
    name: "dropIndexes",
    fields: &[
        ("index", Type::Own(check_dropped)),
        ("collectionUUID", Type::Uuid),
        ("isTimeseriesNamespace", Type::Bool),
    ],
    required: &["index"],
};

static LIST: Shape = Shape {
    name: "listIndexes",
    fields: &[
        ("cursor", Type::Object),
        ("includeBuildUUIDs", Type::Boolish),
        ("includeIndexBuildInfo", Type::Boolish),
        ("isTimeseriesNamespace", Type::Bool),
    ],
    required: &[],
};

pub(super) fn create(call: &Call<'_>) -> Result<Job> {
    let fields = CREATE.command(call.doc)?;
    let namespace = call.namespace()?;
    namespace.check_writable()?;
    let quorum = Quorum::read(fields.get("commitQuorum"))?;
    let expected = expected_uuid(&fields)?;
    let lenient = fields.flag("ignoreUnknownIndexOptions");
    let specs: Vec<Vec<u8>> = fields
        .documents("indexes")
        .into_iter()
        .map(|spec| match lenient {
            true => IndexDefinition::known_options(spec),
            false => spec.to_bytes(),
        })
        .collect();
    if specs.is_empty() {
        return Err(Fault::new(
            code::BAD_VALUE,
            "Must specify at least one index to create",
        ));
    }
    if let Err(missed) = quorum.check() {
        // A wrong specification is told before.
        for spec in &specs {
            IndexDefinition::form(Doc::Raw(spec))?;
        }
        return Err(missed);
    }
    Ok(Job::Write(Box::new(move |write| {
        check_uuid(write.catalog(), &namespace, expected)?;
        let before = size(&*write, &namespace);
        indexes::create(write, &namespace, &specs)?;
        let after = size(&*write, &namespace).unwrap_or(1);
        let mut reply = Reply::new()
            .with("numIndexesBefore", count(before.unwrap_or(1)))
            .with("numIndexesAfter", count(after));
        let unchanged = after == before.unwrap_or(1);
        if before.is_none() || !unchanged {
            reply = reply
                .with("createdCollectionAutomatically", Owned::Bool(before.is_none()))
                .with("commitQuorum", quorum.shown());
        }
        if unchanged {
            reply = reply.with("note", text("all indexes already exist"));
        } else if after < before.unwrap_or(1) + specs.len() as u64 {
            reply = reply.with("note", text("index already exists"));
        }
        Ok(reply.done())
    })))
}

/// Which members have to have built an index before it is used; here there is the one.
enum Quorum {
    Members(i64),
    Mode(String),
}

impl Quorum {
    fn read(value: Option<Value<'_>>) -> Result<Quorum> {
        match value {
            None | Some(Value::Null | Value::Undefined) => Ok(Quorum::Mode("votingMembers".to_owned())),
            Some(Value::String("")) => Err(Fault::new(
                code::FAILED_TO_PARSE,
                "commitQuorum can't be an empty string",
            )),
            Some(Value::String(mode)) => Ok(Quorum::Mode(mode.to_owned())),
            Some(other) => match whole(&other) {
                Some(members @ 0..=MOST_MEMBERS) => Ok(Quorum::Members(members)),
                Some(_) => Err(Fault::new(
                    code::FAILED_TO_PARSE,
                    "commitQuorum has to be a non-negative number and not greater than 50",
                )),
                None => Err(wrong_type(
                    "createIndexes.commitQuorum",
                    other,
                    "types '[long, int, decimal, double, string']",
                )),
            },
        }
    }

    /// Whether the one member is enough.
    fn check(&self) -> Result<()> {
        match self {
            Quorum::Members(0 | 1) => Ok(()),
            Quorum::Members(_) => Err(Fault::new(
                278,
                "Not enough data-bearing nodes to satisfy commit quorum",
            )),
            Quorum::Mode(mode) if matches!(&**mode, "votingMembers" | "majority") => Ok(()),
            Quorum::Mode(mode) => Err(Fault::new(
                79,
                format!("No write concern mode named '{mode}' found in replica set configuration"),
            )),
        }
    }

    fn shown(&self) -> Owned {
        match self {
            Quorum::Members(members) => count(members.unsigned_abs()),
            Quorum::Mode(mode) => text(&**mode),
        }
    }
}

/// How many indexes a collection has; that a collection is clustered is no index.
pub(super) fn size(read: &dyn Read, namespace: &Namespace) -> Option<u64> {
    let stored_in = series::stored_in(read.catalog(), namespace);
    let collection = read
        .catalog()
        .collection(&stored_in.database, &stored_in.collection)?;
    let indexes = collection.indexes.iter();
    Some(indexes.filter(|entry| !entry.definition.clustered).count() as u64)
}

/// Names or one key pattern; the first of several values tells what all are to be.
fn check_dropped(index: Value<'_>) -> Result<()> {
    const NAME: &str = "dropIndexes.index";
    let Value::Array(items) = index else {
        return match index {
            Value::String(_) | Value::Document(_) => Ok(()),
            other => Err(wrong_type(NAME, other, "types '[string, object']")),
        };
    };
    let wrong = items.values().position(|item| item.kind() != Kind::String);
    match wrong.and_then(|at| Some((at, items.values().nth(at)?))) {
        None => Ok(()),
        Some((0, _)) => Err(wrong_type(NAME, index, "types '[string']")),
        Some((at, item)) => Err(wrong_type(&format!("{NAME}.{at}"), item, "type 'string'")),
    }
}

pub(super) fn drop(call: &Call<'_>) -> Result<Job> {
    let fields = DROP.command(call.doc)?;
    let namespace = call.namespace()?;
    let index = fields.get("index").unwrap_or(Value::Null);
    let which = Owned::from(index);
    let expected = expected_uuid(&fields)?;
    Ok(Job::Write(Box::new(move |write| {
        check_uuid(write.catalog(), &namespace, expected)?;
        let before = size(&*write, &namespace).unwrap_or(0);
        indexes::drop(write, &namespace, &which.as_value())?;
        let all = match which.as_value() {
            Value::String(name) => name == "*",
            Value::Array(items) => items.at(0).is_some_and(|first| first.as_str() == Some("*")),
            _ => false,
        };
        let mut reply = Reply::new().with("nIndexesWas", count(before));
        if all {
            reply = reply.with("msg", text("non-_id indexes dropped for collection"));
        }
        Ok(reply.done())
    })))
}

pub(super) fn list(call: &Call<'_>) -> Result<Job> {
    let fields = LIST.command(call.doc)?;
    let namespace = call.namespace()?;
    if fields.flag("includeBuildUUIDs") && fields.flag("includeIndexBuildInfo") {
        return Err(Fault::new(
            code::INVALID_OPTIONS,
            "The includeBuildUUIDs flag and includeBuildIndexInfo flag cannot both be set to true",
        ));
    }
    let batch_size = batch_size("listIndexes.cursor", fields.object("cursor"))?;
    let with_builds = fields.flag("includeIndexBuildInfo");
    let of_buckets = fields.flag("isTimeseriesNamespace");
    Ok(Job::Open(Box::new(move |read| {
        let found = indexes::list(read, &namespace);
        if found.as_ref().is_some_and(|found| !found.is_empty()) {
            view::refuse_buckets(read.catalog(), &namespace)?;
        }
        match series::is_series(read.catalog(), &namespace) {
            true if of_buckets => {
                return Err(Fault::new(
                    code::COMMAND_NOT_SUPPORTED_ON_VIEW,
                    format!("Namespace {namespace} is a timeseries collection"),
                ));
            }
            true => {}
            false => view::refuse(read.catalog(), &namespace)?,
        }
        let Some(mut found) = found else {
            return Err(Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("ns does not exist: {namespace}"),
            ));
        };
        if with_builds {
            found = found.into_iter().map(beside_its_build).collect();
        }
        Ok(Opened {
            ns: namespace.to_string(),
            rows: Rows::Held(found.into()),
            batch_size,
            single: false,
            listing: true,
            stays: false,
        })
    })))
}

/// An index as it is listed where one that is being built has `indexBuildInfo` too.
fn beside_its_build(spec: Vec<u8>) -> Vec<u8> {
    let fields = vec![("spec".to_owned(), Owned::RawDocument(spec))];
    Doc::Fields(&fields).to_bytes()
}
