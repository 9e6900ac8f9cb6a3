//! The command door: MongoDB's commands as documents in, the server's replies as documents out.
//!
//! A command is parsed here into the requests that the typed operations are made of too; nothing runs before
//! its whole document was found to be well-formed. Each family of commands has a file.

mod absent;
mod aggregate;
mod api;
mod capped;
mod change_stream;
mod collections;
mod concern;
mod count;
mod cursor;
mod data_size;
mod explain;
mod find;
mod find_and_modify;
mod frame;
mod generic;
mod help;
mod indexes;
mod plan_cache;
mod query;
mod reply;
mod server;
mod session;
mod shape;
mod transaction;
mod validate;
mod write;

use std::time::Duration;

use self::absent::NOT_HERE;
pub(crate) use self::change_stream::Watching;
pub(crate) use self::concern::Concern;
pub(crate) use self::cursor::{Cursors, More, Opened};
pub(crate) use self::reply::{Verb, written, written_out};
pub(crate) use self::transaction::{reads, refuse_in_transaction};
use super::collation::Collation;
use super::document::{Doc, Value};
use super::exec::aggregate::AggregateRequest;
use super::exec::output::Target;
use super::exec::statement::Batch;
use super::exec::{Deadline, Namespace, check_database};
use super::fault::{Fault, Result, code};
use super::storage::{Read, Write};
use super::update::Now;

/// A read that answers with a reply.
pub(crate) type ReadJob = Box<dyn FnOnce(&dyn Read) -> Result<Vec<u8>> + Send>;

/// A write that answers with a reply; it may be run again before it has written.
pub(crate) type WriteJob = Box<dyn FnMut(&mut dyn Write) -> Result<Vec<u8>> + Send>;

/// Opens a cursor.
pub(crate) type OpenJob = Box<dyn FnOnce(&dyn Read) -> Result<Opened> + Send>;

/// What the engine does for a command.
pub(crate) enum Job {
    /// The reply is known.
    Reply(Vec<u8>),
    Read(ReadJob),
    /// Documents, by cursor.
    Open(OpenJob),
    /// Changes, by cursor.
    Watch(Box<Watching>),
    /// The next batch of a cursor.
    More(More),
    /// Closes cursors.
    Kill {
        ids: Vec<i64>,
    },
    /// Statements; each is atomic by itself.
    Batch(Batch, Verb),
    Write(WriteJob),
    /// A pipeline whose results are written; the reply is an empty cursor.
    Output(AggregateRequest, Target, Now),
}

/// The commands to which the server says that a collection's name is a bad value, where it is no string.
const CHECKED_BY_TYPE: &[&str] = &[
    "collMod",
    "create",
    "createIndexes",
    "delete",
    "drop",
    "dropIndexes",
    "find",
    "findAndModify",
    "findandmodify",
    "insert",
    "killCursors",
    "listIndexes",
    "update",
];

/// The commands that a server lets name a collection by its UUID.
const READERS: &[&str] = &["aggregate", "count", "distinct", "find", "listIndexes"];

/// A command as it came.
#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    database: &'a str,
    /// Its first field.
    name: &'a str,
    target: Value<'a>,
    doc: Doc<'a>,
    now: Now,
}

/// Parses a command, which has passed the gate; with what its write concern asks for.
///
/// # Errors
/// 59 for a command that does not exist, 40415 for a field that it does not have, 14 for a field of the wrong
/// type, 73 for a name that is none, and what the command's own parts complain about.
pub(crate) fn parse(database: &str, doc: Doc<'_>, now: Now) -> Result<(Job, Concern)> {
    let Some(first) = doc.elements().next() else {
        return Err(Fault::new(code::COMMAND_NOT_FOUND, "no such command: ''"));
    };
    check_database(database)?;
    if let Some(other) = doc.get("$db") {
        match other {
            Value::String(own) if own == database => {}
            Value::String(own) => {
                return Err(Fault::new(
                    code::INVALID_NAMESPACE,
                    format!("the command's $db '{own}' is not the database '{database}' it was sent to"),
                ));
            }
            other => {
                return Err(Fault::new(
                    code::TYPE_MISMATCH,
                    format!(
                        "BSON field '$db' is the wrong type '{}', expected type 'string'",
                        other.kind().alias()
                    ),
                ));
            }
        }
    }
    let call = Call {
        database,
        name: first.name_str(),
        target: first.value(),
        doc,
        now,
    };
    if NOT_HERE.contains(&call.name) {
        return Err(not_here(call.name));
    }
    let Some(command) = command(call.name) else {
        return Err(unknown(call.name));
    };
    frame::check_version(&call)?;
    let job = if help::is_late(call.name) {
        check_around(&call)?;
        match help::asked(call.name, doc) {
            Some(reply) => Job::Reply(reply),
            None => command(&call)?,
        }
    } else {
        let job = command(&call)?;
        check_around(&call)?;
        job
    };
    let concern = Concern::of(doc, &job);
    Ok((job, concern))
}

/// Checks what is not of the command itself.
fn check_around(call: &Call<'_>) -> Result<()> {
    frame::check(call)?;
    generic::check(call.name, call.doc)
}

fn not_here(name: &str) -> Fault {
    Fault::unsupported(format!("the embedded engine does not run {name}"))
}

fn unknown(name: &str) -> Fault {
    Fault::new(code::COMMAND_NOT_FOUND, format!("no such command: '{name}'"))
}

type Parse = for<'a> fn(&Call<'a>) -> Result<Job>;

fn command(name: &str) -> Option<Parse> {
    let found = COMMANDS.iter().find(|(names, _)| names.contains(&name));
    found.map(|(_, parse)| *parse)
}

/// The name of a command that may have been called by another of its names.
fn own_name(called: &str) -> &str {
    let found = COMMANDS.iter().find(|(names, _)| names.contains(&called));
    found
        .and_then(|(names, _)| names.first())
        .map_or(called, |name| name)
}

/// The commands, each with its names; those that are sent often come first.
const COMMANDS: &[(&[&str], Parse)] = &[
    (&["insert"], write::insert),
    (&["update"], write::update),
    (&["delete"], write::delete),
    (&["find"], find::find),
    (&["getMore"], find::get_more),
    (&["killCursors"], find::kill_cursors),
    (&["aggregate"], aggregate::aggregate),
    (&["count"], count::count),
    (&["distinct"], count::distinct),
    (
        &["findAndModify", "findandmodify"],
        find_and_modify::find_and_modify,
    ),
    (&["create"], collections::create),
    (&["drop"], collections::drop),
    (&["dropDatabase"], collections::drop_database),
    (&["listCollections"], collections::list),
    (&["renameCollection"], collections::rename),
    (&["collMod"], collections::modify),
    (&["convertToCapped"], capped::convert),
    (&["cloneCollectionAsCapped"], capped::clone),
    (&["createIndexes"], indexes::create),
    (&["dropIndexes", "deleteIndexes"], indexes::drop),
    (&["listIndexes"], indexes::list),
    (&["planCacheClear"], plan_cache::clear),
    (&["planCacheSetFilter"], plan_cache::set_filter),
    (&["planCacheClearFilters"], plan_cache::clear_filters),
    (&["planCacheListFilters"], plan_cache::list_filters),
    (&["explain"], explain::explain),
    (&["collStats", "collstats"], server::collection_statistics),
    (&["dataSize", "datasize"], data_size::measure),
    (&["dbStats", "dbstats"], server::database_statistics),
    (&["compact"], server::compact),
    (&["validate"], validate::validate),
    (&["reIndex"], server::rebuild_indexes),
    (&["listDatabases"], server::list_databases),
    (&["validateDBMetadata"], api::validate),
    (&["serverStatus"], server::status),
    (&["ping"], server::ping),
    (&["hello"], server::hello),
    (&["isMaster", "ismaster"], server::hello),
    (&["buildInfo", "buildinfo"], server::build_info),
];

/// The names of the commands that are here, and of those that are not.
#[cfg(test)]
pub(crate) fn names() -> (Vec<&'static str>, &'static [&'static str]) {
    let here = COMMANDS.iter().map(|(names, _)| names[0]);
    (here.collect(), NOT_HERE)
}

impl Call<'_> {
    /// The collection that the first field names.
    fn namespace(&self) -> Result<Namespace> {
        self.collection(&self.target)
    }

    /// The text that a collection's name has to be.
    fn text_of<'v>(&self, name: &Value<'v>) -> Result<&'v str> {
        let code = match CHECKED_BY_TYPE.contains(&self.name) {
            true => code::BAD_VALUE,
            false => code::INVALID_NAMESPACE,
        };
        const UUID: u8 = 4;
        match name {
            Value::String(text) => Ok(text),
            // Those that only read may name a collection so there.
            Value::Binary { subtype: UUID, .. } if !READERS.contains(&self.name) => Err(Fault::new(
                code,
                "Collection name must be provided. UUID is not valid in this context",
            )),
            other => Err(Fault::new(
                code,
                format!("collection name has invalid type {}", other.kind().alias()),
            )),
        }
    }

    fn collection(&self, name: &Value<'_>) -> Result<Namespace> {
        let collection = self.text_of(name)?;
        if collection.contains('\0') {
            return Err(Fault::new(
                code::INVALID_NAMESPACE,
                "namespaces cannot have embedded null characters",
            ));
        }
        let namespace = Namespace {
            database: self.database.to_owned(),
            collection: collection.to_owned(),
        };
        match self.name {
            "insert" | "update" | "delete" | "findAndModify" | "findandmodify" | "create"
            | "createIndexes" => {
                namespace.check()?;
            }
            "find" | "count" | "distinct" => namespace.check_sought(false)?,
            _ => namespace.check_sought(true)?,
        }
        Ok(namespace)
    }

    /// When the command must have ended.
    fn deadline(&self) -> Result<Deadline> {
        Ok(Deadline::after(
            generic::max_time(self.name, self.doc)?.map(Duration::from_millis),
        ))
    }

    fn refuse_outside_admin(&self) -> Result<()> {
        if self.database == "admin" {
            return Ok(());
        }
        Err(Fault::new(
            13,
            format!("{} may only be run against the admin database.", self.name),
        ))
    }
}

/// The UUID that the collection must have, if the command says one.
fn expected_uuid(fields: &shape::Fields<'_>) -> Result<Option<[u8; 16]>> {
    fields.get("collectionUUID").map(|given| uuid(&given)).transpose()
}

fn uuid(value: &Value<'_>) -> Result<[u8; 16]> {
    match value {
        Value::Binary { subtype: 4, bytes } => <[u8; 16]>::try_from(*bytes)
            .map_err(|_| Fault::new(207, "uuid must be a 16-byte binary field with UUID (4) subtype")),
        _ => Err(Fault::new(
            code::TYPE_MISMATCH,
            "BSON field 'collectionUUID' is the wrong binData type, expected type 'UUID'",
        )),
    }
}

/// How strings compare, if the command says.
fn collation(fields: &shape::Fields<'_>) -> Result<Option<Collation>> {
    match fields.object("collation") {
        Some(doc) => Collation::parse(doc),
        None => Ok(None),
    }
}
