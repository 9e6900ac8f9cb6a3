//! What says of the server, its databases and collections as a whole.

use std::ops::{Bound, ControlFlow};
use std::sync::OnceLock;
use std::time::Instant;

use super::super::catalog::Collection;
use super::super::document::{MAX_DOCUMENT_BYTES, Owned};
use super::super::exec::Namespace;
use super::super::fault::{Fault, Result, code};
use super::super::storage::{Read, TreeId, format};
use super::reply::{self, Reply, count, text};
use super::shape::{Shape, Type, truth};
use super::{Call, Job};

/// The MongoDB version whose answers the engine gives.
const VERSION: [i32; 4] = [6, 0, 5, 0];

static PLAIN: Shape = Shape {
    name: "ping",
    fields: &[],
    required: &[],
};

static COLLECTION_STATISTICS: Shape = Shape {
    name: "collStats",
    fields: &[
        ("scale", Type::Number),
        ("verbose", Type::Boolish),
        ("numericOnly", Type::Boolish),
    ],
    required: &[],
};

static DATABASE_STATISTICS: Shape = Shape {
    name: "dbStats",
    fields: &[("scale", Type::Number), ("freeStorage", Type::Number)],
    required: &[],
};

static VALIDATE: Shape = Shape {
    name: "validate",
    fields: &[
        ("full", Type::Boolish),
        ("repair", Type::Boolish),
        ("metadata", Type::Boolish),
        ("checkBSONConformance", Type::Boolish),
        ("background", Type::Boolish),
    ],
    required: &[],
};

static LIST_DATABASES: Shape = Shape {
    name: "listDatabases",
    fields: &[
        ("filter", Type::Object),
        ("nameOnly", Type::Boolish),
        ("authorizedDatabases", Type::Boolish),
    ],
    required: &[],
};

pub(super) fn ping(call: &Call<'_>) -> Result<Job> {
    PLAIN.command(call.doc)?;
    Ok(Job::Reply(reply::ok()))
}

pub(super) fn hello(call: &Call<'_>) -> Result<Job> {
    let primary = if call.name == "hello" {
        "isWritablePrimary"
    } else {
        "ismaster"
    };
    Ok(Job::Reply(
        Reply::new()
            .with(primary, Owned::Bool(true))
            .with("maxBsonObjectSize", Owned::Int32(MAX_DOCUMENT_BYTES as i32))
            .with("maxMessageSizeBytes", Owned::Int32(48_000_000))
            .with("maxWriteBatchSize", Owned::Int32(100_000))
            .with("localTime", Owned::DateTime(call.now.millis))
            .with("minWireVersion", Owned::Int32(0))
            .with("maxWireVersion", Owned::Int32(17))
            .with("readOnly", Owned::Bool(false))
            .done(),
    ))
}

pub(super) fn build_info(_call: &Call<'_>) -> Result<Job> {
    let numbers = VERSION.iter().map(|number| Owned::Int32(*number)).collect();
    let version: Vec<String> = VERSION.iter().take(3).map(ToString::to_string).collect();
    Ok(Job::Reply(
        Reply::new()
            .with("version", text(version.join(".")))
            .with("versionArray", Owned::Array(numbers))
            .with("modules", Owned::Array(Vec::new()))
            .with("storageEngines", Owned::Array(vec![text("odm")]))
            .with("debug", Owned::Bool(cfg!(debug_assertions)))
            .with("bits", Owned::Int32(64))
            .with("maxBsonObjectSize", Owned::Int32(MAX_DOCUMENT_BYTES as i32))
            .done(),
    ))
}

pub(super) fn status(call: &Call<'_>) -> Result<Job> {
    static START: OnceLock<Instant> = OnceLock::new();
    let seconds = START.get_or_init(Instant::now).elapsed().as_secs();
    Ok(Job::Reply(
        Reply::new()
            .with("version", text("6.0.5"))
            .with("process", text("odm"))
            .with("pid", Owned::Int64(i64::from(std::process::id())))
            .with("uptime", Owned::Double(seconds as f64))
            .with("localTime", Owned::DateTime(call.now.millis))
            .done(),
    ))
}

pub(super) fn list_databases(call: &Call<'_>) -> Result<Job> {
    let fields = LIST_DATABASES.command(call.doc)?;
    call.refuse_outside_admin()?;
    let names_only = fields.flag("nameOnly");
    let filter = fields.object("filter").map(|filter| filter.to_bytes());
    Ok(Job::Read(Box::new(move |read| {
        let matcher = filter
            .as_deref()
            .map(|filter| super::super::matcher::Matcher::parse(super::super::document::Doc::Raw(filter)))
            .transpose()?;
        let mut databases = Vec::new();
        let mut total = 0;
        for name in read.catalog().databases() {
            let mut entry = Reply::new().with("name", text(name));
            if !names_only {
                let mut bytes = 0;
                for collection in read.catalog().collections(name) {
                    bytes += Sizes::of(read, collection)?.all();
                }
                total += bytes;
                entry = entry
                    .with("sizeOnDisk", Owned::Int64(bytes as i64))
                    .with("empty", Owned::Bool(false));
            }
            let entry = entry.inner();
            let keep = match (&matcher, entry.as_value().as_document()) {
                (Some(matcher), Some(doc)) => matcher.matches(doc)?,
                _ => true,
            };
            if keep {
                databases.push(entry);
            }
        }
        let mut reply = Reply::new().with("databases", Owned::Array(databases));
        if !names_only {
            reply = reply
                .with("totalSize", Owned::Int64(total as i64))
                .with("totalSizeMb", Owned::Int64((total >> 20) as i64));
        }
        Ok(reply.done())
    })))
}

/// How much a collection holds.
#[derive(Debug, Default)]
struct Sizes {
    documents: u64,
    bytes: u64,
    /// By index: its name, how many keys, how many bytes.
    indexes: Vec<(String, u64, u64)>,
}

impl Sizes {
    /// Reads the whole collection.
    fn of(read: &dyn Read, collection: &Collection) -> Result<Sizes> {
        let mut sizes = Sizes::default();
        let all = (Bound::Unbounded, Bound::Unbounded);
        let records = collection.records;
        read.scan(records, all, false, &mut |key, stored| {
            sizes.documents += 1;
            sizes.bytes += format::unseal(records, key, stored)?.len() as u64;
            Ok(ControlFlow::Continue(()))
        })?;
        for entry in &collection.indexes {
            let (keys, bytes) = tree_size(read, entry.tree)?;
            sizes.indexes.push((entry.definition.name.clone(), keys, bytes));
        }
        Ok(sizes)
    }

    fn index_bytes(&self) -> u64 {
        self.indexes.iter().map(|(_, _, bytes)| bytes).sum()
    }

    fn all(&self) -> u64 {
        self.bytes + self.index_bytes()
    }
}

fn tree_size(read: &dyn Read, tree: TreeId) -> Result<(u64, u64)> {
    let (mut keys, mut bytes) = (0, 0);
    read.scan(
        tree,
        (Bound::Unbounded, Bound::Unbounded),
        false,
        &mut |key, value| {
            keys += 1;
            bytes += (key.len() + value.len()) as u64;
            Ok(ControlFlow::Continue(()))
        },
    )?;
    Ok((keys, bytes))
}

/// By what sizes are divided.
fn scale(given: Option<i64>) -> Result<u64> {
    match given {
        None => Ok(1),
        Some(scale) if scale >= 1 => Ok(scale.unsigned_abs()),
        Some(scale) => Err(Fault::new(
            51024,
            format!("BSON field 'scale' value must be >= 1, actual value '{scale}'"),
        )),
    }
}

pub(super) fn collection_statistics(call: &Call<'_>) -> Result<Job> {
    let fields = COLLECTION_STATISTICS.command(call.doc)?;
    let namespace = call.namespace()?;
    let scale = scale(fields.number("scale"))?;
    Ok(Job::Read(Box::new(move |read| {
        let sizes = match find(read, &namespace) {
            Some(collection) => Sizes::of(read, collection)?,
            None => Sizes::default(),
        };
        let mut reply = Reply::new()
            .with("ns", text(namespace.to_string()))
            .with("size", count(sizes.bytes / scale))
            .with("count", count(sizes.documents));
        if let Some(average) = sizes.bytes.checked_div(sizes.documents) {
            reply = reply.with("avgObjSize", count(average));
        }
        let index_sizes = sizes.indexes.iter();
        let index_sizes = index_sizes.fold(Reply::new(), |reply, (name, _, bytes)| {
            reply.with(name, count(bytes / scale))
        });
        Ok(reply
            .with("storageSize", count(sizes.bytes / scale))
            .with("capped", Owned::Bool(false))
            .with("nindexes", count(sizes.indexes.len() as u64))
            .with("totalIndexSize", count(sizes.index_bytes() / scale))
            .with("totalSize", count(sizes.all() / scale))
            .with("indexSizes", index_sizes.inner())
            .with("scaleFactor", count(scale))
            .done())
    })))
}

pub(super) fn database_statistics(call: &Call<'_>) -> Result<Job> {
    let fields = DATABASE_STATISTICS.command(call.doc)?;
    let scale = scale(fields.number("scale"))?;
    let database = call.database.to_owned();
    Ok(Job::Read(Box::new(move |read| {
        let (mut collections, mut documents, mut bytes, mut indexes, mut index_bytes) = (0, 0, 0, 0, 0);
        for collection in read.catalog().collections(&database) {
            let sizes = Sizes::of(read, collection)?;
            collections += 1;
            documents += sizes.documents;
            bytes += sizes.bytes;
            indexes += sizes.indexes.len() as u64;
            index_bytes += sizes.index_bytes();
        }
        let average = bytes.checked_div(documents).unwrap_or(0);
        let scaled = |bytes: u64| Owned::Double((bytes / scale) as f64);
        Ok(Reply::new()
            .with("db", text(&*database))
            .with("collections", Owned::Int64(collections))
            .with("views", Owned::Int64(0))
            .with("objects", Owned::Int64(documents as i64))
            .with("avgObjSize", Owned::Double(average as f64))
            .with("dataSize", scaled(bytes))
            .with("storageSize", scaled(bytes))
            .with("indexes", Owned::Int64(indexes as i64))
            .with("indexSize", scaled(index_bytes))
            .with("totalSize", scaled(bytes + index_bytes))
            .with("scaleFactor", Owned::Double(scale as f64))
            .done())
    })))
}

/// Reads every document and every key; the engine's own check goes deeper.
pub(super) fn validate(call: &Call<'_>) -> Result<Job> {
    let fields = VALIDATE.command(call.doc)?;
    let namespace = call.namespace()?;
    if fields.get("repair").is_some_and(|repair| truth(&repair)) {
        return Err(Fault::unsupported("the embedded engine does not repair"));
    }
    Ok(Job::Read(Box::new(move |read| {
        let Some(collection) = find(read, &namespace) else {
            return Err(Fault::new(
                code::NAMESPACE_NOT_FOUND,
                format!("Collection '{namespace}' does not exist to validate."),
            ));
        };
        let sizes = Sizes::of(read, collection)?;
        let (mut keys, mut details) = (Reply::new(), Reply::new());
        for (name, number, _) in &sizes.indexes {
            keys = keys.with(name, count(*number));
            details = details.with(name, Reply::new().with("valid", Owned::Bool(true)).inner());
        }
        let none = || Owned::Array(Vec::new());
        Ok(Reply::new()
            .with("ns", text(namespace.to_string()))
            .with("nInvalidDocuments", count(0))
            .with("nrecords", count(sizes.documents))
            .with("nIndexes", count(sizes.indexes.len() as u64))
            .with("keysPerIndex", keys.inner())
            .with("indexDetails", details.inner())
            .with("valid", Owned::Bool(true))
            .with("repaired", Owned::Bool(false))
            .with("warnings", none())
            .with("errors", none())
            .with("extraIndexEntries", none())
            .with("missingIndexEntries", none())
            .with("corruptRecords", none())
            .done())
    })))
}

fn find<'a>(read: &'a dyn Read, namespace: &Namespace) -> Option<&'a Collection> {
    read.catalog()
        .collection(&namespace.database, &namespace.collection)
        .map(|collection| &**collection)
}
