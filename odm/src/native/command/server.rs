//! What says of the server, its databases and collections as a whole.

use std::sync::OnceLock;
use std::time::Instant;

use super::super::document::{Kind, MAX_DOCUMENT_BYTES, Owned, Value};
use super::super::exec::{statistics, view};
use super::super::fault::{Fault, Result, code};
use super::reply::{self, Reply, count, text};
use super::shape::{Fields, Shape, Type, truth, wrong_type};
use super::{Call, Job};

/// The MongoDB version whose answers the engine gives.
const VERSION: [i32; 4] = [6, 0, 5, 0];

static PLAIN: Shape = Shape {
    name: "ping",
    fields: &[],
    required: &[],
};

static HELLO: Shape = Shape {
    name: "hello",
    fields: &[
        ("helloOk", Type::Boolish),
        ("hostInfo", Type::String),
        ("topologyVersion", Type::Object),
        ("maxAwaitTimeMS", Type::Number),
        ("forShell", Type::Boolish),
        ("loadBalanced", Type::Bool),
        ("internalClient", Type::Object),
        ("compression", Type::Array),
        ("speculativeAuthenticate", Type::Object),
    ],
    required: &[],
};

static TOPOLOGY_VERSION: Shape = Shape {
    name: "hello.topologyVersion",
    fields: &[("processId", Type::Any), ("counter", Type::Any)],
    required: &["processId", "counter"],
};

static COLLECTION_STATISTICS: Shape = Shape {
    name: "collStats",
    fields: &[
        ("scale", Type::Number),
        ("verbose", Type::Flag),
        ("waitForLock", Type::Flag),
        ("numericOnly", Type::Flag),
    ],
    required: &[],
};

static DATABASE_STATISTICS: Shape = Shape {
    name: "dbStats",
    fields: &[("scale", Type::Any), ("freeStorage", Type::Any)],
    required: &[],
};

static LIST_DATABASES: Shape = Shape {
    name: "listDatabases",
    fields: &[
        ("filter", Type::Object),
        ("nameOnly", Type::Boolish),
        ("authorizedDatabases", Type::Bool),
    ],
    required: &[],
};

pub(super) fn ping(call: &Call<'_>) -> Result<Job> {
    PLAIN.command(call.doc)?;
    Ok(Job::Reply(reply::ok()))
}

pub(super) fn hello(call: &Call<'_>) -> Result<Job> {
    let fields = HELLO.loose_command(call.doc)?;
    check_greeting(&fields)?;
    let primary = if call.name == "hello" {
        "isWritablePrimary"
    } else {
        "ismaster"
    };
    let reply = match fields.get("helloOk") {
        Some(_) => Reply::new().with("helloOk", Owned::Bool(true)),
        None => Reply::new(),
    };
    Ok(Job::Reply(
        reply
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

/// Refuses what no client greets with. Who waits for changes of a set says which it knows, and how long it waits.
fn check_greeting(fields: &Fields<'_>) -> Result<()> {
    if let Some(version) = fields.object("topologyVersion") {
        TOPOLOGY_VERSION.part(version)?;
        for element in version.elements() {
            let value = element.value();
            let expected = match element.name_str() {
                "processId" if value.kind() != Kind::ObjectId => "type 'objectId'",
                "counter" if value.kind() != Kind::Int64 => "type 'long'",
                _ => continue,
            };
            let name = format!("hello.topologyVersion.{}", element.name_str());
            return Err(wrong_type(&name, value, expected));
        }
    }
    let wait = fields.count("maxAwaitTimeMS")?;
    if fields
        .object("speculativeAuthenticate")
        .is_some_and(|doc| doc.is_empty())
    {
        return Err(Fault::new(
            code::BAD_VALUE,
            "hello.speculativeAuthenticate must be a non-empty Object",
        ));
    }
    let why = match (fields.get("topologyVersion").is_some(), wait.is_some()) {
        (true, false) => "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'",
        (false, true) => "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'",
        _ => return Ok(()),
    };
    Err(Fault::new(31_368, why))
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
    call.refuse_outside_admin()?;
    let fields = LIST_DATABASES.command(call.doc)?;
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
                let found = statistics::of_database(read, name)?;
                let bytes = found.storage + found.index_bytes();
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

/// The same for a database, where the server gives failures no code.
fn database_scale(fields: &Fields<'_>) -> Result<u64> {
    let bad = |text: &'static str| Err(Fault::new(0, text));
    match fields.number("scale") {
        Some(scale) if scale >= 1 => Ok(scale.unsigned_abs()),
        Some(_) => bad("scale has to be > 0"),
        None if fields.flag("scale") => bad("scale has to be a number > 0"),
        None => Ok(1),
    }
}

pub(super) fn collection_statistics(call: &Call<'_>) -> Result<Job> {
    let fields = COLLECTION_STATISTICS.loose_command(call.doc)?;
    let namespace = call.namespace()?;
    let scale = scale(fields.number("scale"))?;
    Ok(Job::Read(Box::new(move |read| {
        let found = statistics::of_collection(read, &namespace)?;
        let reply = Reply::new().with("ns", text(namespace.to_string()));
        Ok(reply.with_all(found.stored(scale)).done())
    })))
}

pub(super) fn database_statistics(call: &Call<'_>) -> Result<Job> {
    // The server takes a text for the rest of the database's name.
    if let Value::String(rest) = call.target {
        return Err(Fault::new(
            code::INVALID_NAMESPACE,
            format!("Invalid db name: {}.{rest}", call.database),
        ));
    }
    let fields = DATABASE_STATISTICS.loose_command(call.doc)?;
    let scale = database_scale(&fields)?;
    let free = fields.flag("freeStorage");
    let database = call.database.to_owned();
    Ok(Job::Read(Box::new(move |read| {
        if read.catalog().collections(&database).next().is_none() {
            return Ok(nothing(&database, scale, free));
        }
        let found = statistics::of_database(read, &database)?;
        let average = match found.documents {
            0 => 0.0,
            documents => found.size as f64 / documents as f64,
        };
        let scaled = |bytes: u64| Owned::Double(bytes as f64 / scale as f64);
        // Space is free in the file, not in a database.
        let free = |reply: Reply, name| match free {
            true => reply.with(name, scaled(0)),
            false => reply,
        };
        let mut reply = Reply::new()
            .with("db", text(&*database))
            .with("collections", count(found.collections))
            .with("views", count(found.views))
            .with("objects", count(found.documents))
            .with("avgObjSize", Owned::Double(average))
            .with("dataSize", scaled(found.size))
            .with("storageSize", scaled(found.storage));
        reply = free(reply, "freeStorageSize")
            .with("indexes", count(found.indexes.len() as u64))
            .with("indexSize", scaled(found.index_bytes()));
        reply = free(reply, "indexFreeStorageSize")
            .with("totalSize", scaled(found.storage + found.index_bytes()));
        Ok(free(reply, "totalFreeStorageSize")
            .with("scaleFactor", Owned::Double(scale as f64))
            .done())
    })))
}

/// The figures of a database that does not exist.
fn nothing(database: &str, scale: u64, free: bool) -> Vec<u8> {
    /// Each with whether it is a figure of free space.
    const ZEROS: &[(&str, bool)] = &[
        ("collections", false),
        ("views", false),
        ("objects", false),
        ("avgObjSize", false),
        ("dataSize", false),
        ("storageSize", false),
        ("freeStorageSize", true),
        ("indexes", false),
        ("indexSize", false),
        ("indexFreeStorageSize", true),
        ("totalSize", false),
        ("totalFreeStorageSize", true),
    ];
    let zeros = ZEROS.iter().filter(|(_, is_free)| free || !is_free);
    let reply = Reply::new().with("db", text(database));
    zeros
        .fold(reply, |reply, (name, _)| reply.with(name, Owned::Int32(0)))
        .with(
            "scaleFactor",
            Owned::Int32(i32::try_from(scale).unwrap_or(i32::MAX)),
        )
        .with("fsUsedSize", Owned::Int32(0))
        .with("fsTotalSize", Owned::Int32(0))
        .done()
}

/// Space belongs to the whole store here, whose own compaction gives it back: by one collection none is freed.
pub(super) fn compact(call: &Call<'_>) -> Result<Job> {
    let namespace = call.namespace()?;
    if namespace.collection.starts_with("system.") {
        return Err(Fault::new(
            code::ILLEGAL_OPERATION,
            "can't compact a system namespace",
        ));
    }
    if !call.doc.get("force").is_some_and(|force| truth(&force)) {
        return Err(Fault::new(
            code::ILLEGAL_OPERATION,
            "will not run compact on an active replica set primary as this is a slow blocking operation. use force:true to force",
        ));
    }
    Ok(Job::Read(Box::new(move |read| {
        if view::view_of(read.catalog(), &namespace).is_some() {
            return Err(Fault::new(
                code::COMMAND_NOT_SUPPORTED_ON_VIEW,
                "can't compact a view",
            ));
        }
        let found = read
            .catalog()
            .collection(&namespace.database, &namespace.collection);
        match found {
            Some(_) => Ok(Reply::new().with("bytesFreed", count(0)).done()),
            None => Err(Fault::new(code::NAMESPACE_NOT_FOUND, "collection does not exist")),
        }
    })))
}

/// As every replica set, which the engine answers like, it has no such command: each index is what it should be.
pub(super) fn rebuild_indexes(call: &Call<'_>) -> Result<Job> {
    let namespace = call.namespace()?;
    Ok(Job::Read(Box::new(move |_| {
        Err(Fault::new(
            code::ILLEGAL_OPERATION,
            format!(
                "reIndex is only allowed on a standalone mongod instance. Cannot reIndex '{namespace}' while replication is active"
            ),
        ))
    })))
}
