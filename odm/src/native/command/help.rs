//! Commands that the server reads only as it runs them, and what it says of them to who asks for help.

use super::super::document::Doc;
use super::reply::{Reply, text};
use super::shape::truth;

/// By any name of the command; what the server says begins with the first.
const LATE: &[(&[&str], &str)] = &[
    (&["find"], "query for documents"),
    (&["count"], "count objects in collection"),
    (
        &["distinct"],
        "{ distinct : 'collection name' , key : 'a.b' , query : {} }",
    ),
    (
        &["collMod"],
        "Sets collection options.\nExample: { collMod: 'foo', viewOn: 'bar'} Example: { collMod: 'foo', index: \
         {keyPattern: {a: 1}, expireAfterSeconds: 600} Example: { collMod: 'foo', index: {name: 'bar', \
         expireAfterSeconds: 600} }\n",
    ),
    (
        &["renameCollection"],
        " example: { renameCollection: foo.a, to: bar.b }",
    ),
    (
        &["compact"],
        "compact collection\nwarning: this operation locks the database and is slow. you can cancel with \
         killOp()\n{ compact : <collection_name>, [force:<bool>] }\n  force - allows to run on a replica set \
         primary\n",
    ),
    (
        &["convertToCapped"],
        "{ convertToCapped:<fromCollectionName>, size:<sizeInBytes> }",
    ),
    (
        &["cloneCollectionAsCapped"],
        "{ cloneCollectionAsCapped:<fromName>, toCollection:<toName>, size:<sizeInBytes> }",
    ),
    (
        &["planCacheClear"],
        "Drops one or all plan cache entries in a collection.",
    ),
    (
        &["planCacheSetFilter"],
        "Sets index filter for a query shape. Overrides existing filter.",
    ),
    (
        &["planCacheClearFilters"],
        "Clears index filter for a single query shape or, if the query shape is omitted, all filters for the \
         collection.",
    ),
    (
        &["planCacheListFilters"],
        "Displays index filters for all query shapes in a collection.",
    ),
    (
        &["collStats", "collstats"],
        "{ collStats:\"blog.posts\" , scale : 1 } scale divides sizes e.g. for KB use 1024\n    avgObjSize - in \
         bytes",
    ),
    (
        &["dbStats", "dbstats"],
        "Get stats on a database. Not instantaneous. Slower for databases with large .ns files.\nExample: { \
         dbStats:1, scale:1 }",
    ),
    (
        &["validate"],
        "Validate contents of a namespace by scanning its data structures for correctness.\nThis is a slow \
         operation.\n\tAdd {full: true} option to do a more thorough check.\n\tAdd {background: true} to validate \
         in the background.\n\tAdd {repair: true} to run repair mode.\nCannot specify both {full: true, \
         background: true}.",
    ),
    (
        &["serverStatus"],
        "returns lots of administrative server statistics",
    ),
    (
        &["hello"],
        "Check if this server is primary for a replica set\n{ hello : 1 }",
    ),
    (
        &["isMaster", "ismaster"],
        "Check if this server is primary for a replica set\n{ isMaster : 1 }",
    ),
    (
        &["buildInfo", "buildinfo"],
        "get version #, etc.\n{ buildinfo:1 }",
    ),
];

/// Whether what stands around the command is looked at before the command itself.
pub(super) fn is_late(command: &str) -> bool {
    LATE.iter().any(|(names, _)| names.contains(&command))
}

/// The answer to a command that is not run but explained to its sender.
pub(super) fn asked(command: &str, doc: Doc<'_>) -> Option<Vec<u8>> {
    let asked = doc.get("help")?;
    let (names, help) = LATE.iter().find(|(names, _)| names.contains(&command))?;
    let name = names.first()?;
    truth(&asked).then(|| {
        Reply::new()
            .with("help", text(format!("help for: {name} {help}")))
            .done()
    })
}
