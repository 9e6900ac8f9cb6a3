//! What a backend is asked to do, in MongoDB's vocabulary, with raw BSON.

use std::path::PathBuf;
use std::time::Duration;

use bson::{RawBson, RawDocumentBuf};

use super::backup::BackupObserver;
use super::watch::{Watch, WatchScope};

/// A database and a collection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace {
    /// The database's name.
    pub database: String,
    /// The collection's name.
    pub collection: String,
}

impl std::fmt::Display for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.database, self.collection)
    }
}

/// One request to a backend.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Operation {
    /// Answer: [`Response::Write`](super::Response::Write).
    Insert(Insert),
    /// Answer: [`Response::Cursor`](super::Response::Cursor).
    Find(Find),
    /// Answer: [`Response::Cursor`](super::Response::Cursor).
    Aggregate(Aggregate),
    /// Answer: [`Response::Write`](super::Response::Write).
    Update(Update),
    /// Answer: [`Response::Write`](super::Response::Write).
    Delete(Delete),
    /// Inserts, updates and deletes in the order given. Answer: [`Response::Write`](super::Response::Write).
    BulkWrite(BulkWrite),
    /// Answer: [`Response::Document`](super::Response::Document).
    FindAndModify(FindAndModify),
    /// Answer: [`Response::Count`](super::Response::Count).
    Count(Count),
    /// Answer: [`Response::Values`](super::Response::Values).
    Distinct(Distinct),
    /// The server's plan for a find, update or delete. Answer: [`Response::Document`](super::Response::Document).
    Explain(Explain),
    /// Answer: [`Response::Done`](super::Response::Done).
    CreateIndexes(CreateIndexes),
    /// Answer: [`Response::Done`](super::Response::Done).
    DropIndexes(DropIndexes),
    /// Answer: [`Response::Documents`](super::Response::Documents); none when the collection does not exist.
    ListIndexes(ListIndexes),
    /// Answer: [`Response::Done`](super::Response::Done).
    CreateCollection(CreateCollection),
    /// Answer: [`Response::Document`](super::Response::Document), what the server says of a changed index.
    ModifyCollection(ModifyCollection),
    /// Answer: [`Response::Done`](super::Response::Done).
    RenameCollection(RenameCollection),
    /// Answer: [`Response::Statistics`](super::Response::Statistics).
    Statistics(Statistics),
    /// Answer: [`Response::Done`](super::Response::Done); dropping what does not exist is no error.
    DropCollection(DropCollection),
    /// Answer: [`Response::Documents`](super::Response::Documents), `{name, type, options, info}` each.
    ListCollections(ListCollections),
    /// Answer: [`Response::Done`](super::Response::Done).
    DropDatabase(DropDatabase),
    /// A command in MongoDB's vocabulary. Answer: [`Response::Document`](super::Response::Document).
    RunCommand(RunCommand),
    /// Opens a change stream, which begins before this is answered. Answer:
    /// [`Response::Cursor`](super::Response::Cursor) of events, which gives an empty batch when there was none
    /// for a while, and has a resume token.
    Watch(Watch),
    /// Checks the stored data. Answer: [`Response::Check`](super::Response::Check).
    Check(Check),
    /// Makes indexes what the documents say. Answer: [`Response::Repair`](super::Response::Repair).
    Repair(Repair),
    /// Copies everything to a directory. Answer: [`Response::Backup`](super::Response::Backup).
    Backup(Backup),
    /// Gives unused space back. Answer: [`Response::Compact`](super::Response::Compact).
    Compact(Compact),
    /// Asks for the figures of the store. Answer: [`Response::Store`](super::Response::Store).
    MeasureStore(MeasureStore),
}

impl Operation {
    /// The command's name in MongoDB's vocabulary.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Insert(_) => "insert",
            Operation::Find(_) => "find",
            Operation::Aggregate(_) => "aggregate",
            Operation::Update(_) => "update",
            Operation::Delete(_) => "delete",
            Operation::BulkWrite(_) => "bulkWrite",
            Operation::FindAndModify(_) => "findAndModify",
            Operation::Count(_) => "count",
            Operation::Distinct(_) => "distinct",
            Operation::Explain(_) => "explain",
            Operation::CreateIndexes(_) => "createIndexes",
            Operation::DropIndexes(_) => "dropIndexes",
            Operation::ListIndexes(_) => "listIndexes",
            Operation::CreateCollection(_) => "create",
            Operation::ModifyCollection(_) => "collMod",
            Operation::RenameCollection(_) => "renameCollection",
            Operation::Statistics(Statistics {
                collection: Some(_), ..
            }) => "collStats",
            Operation::Statistics(_) => "dbStats",
            Operation::DropCollection(_) => "drop",
            Operation::ListCollections(_) => "listCollections",
            Operation::DropDatabase(_) => "dropDatabase",
            Operation::RunCommand(_) => "runCommand",
            Operation::Watch(_) => "watch",
            Operation::Check(_) => "check",
            Operation::Repair(_) => "repair",
            Operation::Backup(_) => "backup",
            Operation::Compact(_) => "compact",
            Operation::MeasureStore(_) => "storeStatistics",
        }
    }

    /// Whether the operation may change data or schema. A command is taken to.
    pub fn is_write(&self) -> bool {
        match self {
            Operation::Find(_)
            | Operation::Aggregate(_)
            | Operation::Count(_)
            | Operation::Distinct(_)
            | Operation::Explain(_)
            | Operation::ListIndexes(_)
            | Operation::ListCollections(_)
            | Operation::Watch(_)
            | Operation::Statistics(_)
            | Operation::Check(_)
            | Operation::Backup(_)
            | Operation::Compact(_)
            | Operation::MeasureStore(_) => false,
            Operation::Insert(_)
            | Operation::Update(_)
            | Operation::Delete(_)
            | Operation::BulkWrite(_)
            | Operation::FindAndModify(_)
            | Operation::CreateIndexes(_)
            | Operation::DropIndexes(_)
            | Operation::CreateCollection(_)
            | Operation::ModifyCollection(_)
            | Operation::RenameCollection(_)
            | Operation::DropCollection(_)
            | Operation::DropDatabase(_)
            | Operation::RunCommand(_)
            | Operation::Repair(_) => true,
        }
    }

    /// The collection the operation is about, if it is about one.
    pub fn namespace(&self) -> Option<&Namespace> {
        match self {
            Operation::Insert(o) => Some(&o.namespace),
            Operation::Find(o) => Some(&o.namespace),
            Operation::Aggregate(o) => Some(&o.namespace),
            Operation::Update(o) => Some(&o.namespace),
            Operation::Delete(o) => Some(&o.namespace),
            Operation::BulkWrite(o) => Some(&o.namespace),
            Operation::FindAndModify(o) => Some(&o.namespace),
            Operation::Count(o) => Some(&o.namespace),
            Operation::Distinct(o) => Some(&o.namespace),
            Operation::Explain(o) => o.operation.namespace(),
            Operation::CreateIndexes(o) => Some(&o.namespace),
            Operation::DropIndexes(o) => Some(&o.namespace),
            Operation::ListIndexes(o) => Some(&o.namespace),
            Operation::CreateCollection(o) => Some(&o.namespace),
            Operation::ModifyCollection(o) => Some(&o.namespace),
            Operation::RenameCollection(o) => Some(&o.namespace),
            Operation::DropCollection(o) => Some(&o.namespace),
            Operation::Watch(o) => match &o.scope {
                WatchScope::Collection(namespace) => Some(namespace),
                WatchScope::Database(_) | WatchScope::Everything => None,
            },
            Operation::ListCollections(_)
            | Operation::Statistics(_)
            | Operation::DropDatabase(_)
            | Operation::RunCommand(_)
            | Operation::Check(_)
            | Operation::Repair(_)
            | Operation::Backup(_)
            | Operation::Compact(_)
            | Operation::MeasureStore(_) => None,
        }
    }
}

/// What every operation with a filter may carry.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// An index by name (a string) or by key pattern (a document).
    pub hint: Option<RawBson>,
    /// A text for the server's log and profiler.
    pub comment: Option<String>,
    /// How long the operation may take on the server.
    pub max_time: Option<Duration>,
    /// A collation document.
    pub collation: Option<RawDocumentBuf>,
    /// Variables for expressions (`let`).
    pub variables: Option<RawDocumentBuf>,
}

/// Inserts documents; each has its `_id` already, as its first field.
#[derive(Clone, Debug)]
pub struct Insert {
    /// Where.
    pub namespace: Namespace,
    /// What.
    pub documents: Vec<RawDocumentBuf>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// A text for the server's log and profiler.
    pub comment: Option<String>,
}

/// Finds documents.
#[derive(Clone, Debug)]
pub struct Find {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub filter: RawDocumentBuf,
    /// In which order.
    pub sort: Option<RawDocumentBuf>,
    /// Which fields.
    pub projection: Option<RawDocumentBuf>,
    /// How many to pass over.
    pub skip: u64,
    /// How many at the most; 0 is no limit.
    pub limit: u64,
    /// How many documents a batch carries; the backend's choice when absent.
    pub batch_size: Option<u32>,
    /// Whether the cursor goes on at the end of the collection, which must be capped.
    pub tail: Option<Tail>,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

/// What a tailable cursor does at the end of its collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// It gives an empty batch at once.
    Poll,
    /// It waits for the next document.
    Await,
}

/// Runs a pipeline.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Where.
    pub namespace: Namespace,
    /// The stages.
    pub pipeline: Vec<RawDocumentBuf>,
    /// How many documents a batch carries.
    pub batch_size: Option<u32>,
    /// Whether the server may use temporary files.
    pub allow_disk_use: bool,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

/// How a document changes.
#[derive(Clone, Debug)]
pub enum Modification {
    /// Update operators: `{$set: ..}`.
    Operators(RawDocumentBuf),
    /// The new document; `_id` may be absent.
    Replacement(RawDocumentBuf),
    /// An aggregation pipeline of `$set`, `$unset`, `$replaceWith`, ...
    Pipeline(Vec<RawDocumentBuf>),
}

/// One update of a batch.
#[derive(Clone, Debug)]
pub struct UpdateStatement {
    /// Which documents.
    pub filter: RawDocumentBuf,
    /// How they change.
    pub modification: Modification,
    /// Whether all that match, or one. Never with a replacement.
    pub multi: bool,
    /// Whether to insert when none matches.
    pub upsert: bool,
    /// Filters for `$[name]`.
    pub array_filters: Vec<RawDocumentBuf>,
    /// An index by name or by key pattern.
    pub hint: Option<RawBson>,
    /// A collation document.
    pub collation: Option<RawDocumentBuf>,
}

/// Updates documents.
#[derive(Clone, Debug)]
pub struct Update {
    /// Where.
    pub namespace: Namespace,
    /// What.
    pub statements: Vec<UpdateStatement>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// Comment, time limit, variables; hint and collation are each statement's own.
    pub options: ReadOptions,
}

/// One deletion of a batch.
#[derive(Clone, Debug)]
pub struct DeleteStatement {
    /// Which documents.
    pub filter: RawDocumentBuf,
    /// Whether all that match, or one.
    pub multi: bool,
    /// An index by name or by key pattern.
    pub hint: Option<RawBson>,
    /// A collation document.
    pub collation: Option<RawDocumentBuf>,
}

/// Deletes documents.
#[derive(Clone, Debug)]
pub struct Delete {
    /// Where.
    pub namespace: Namespace,
    /// What.
    pub statements: Vec<DeleteStatement>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// Comment, time limit, variables; hint and collation are each statement's own.
    pub options: ReadOptions,
}

/// One write of a mixed batch.
#[derive(Clone, Debug)]
pub enum WriteStatement {
    /// Inserts a document.
    Insert(RawDocumentBuf),
    /// Updates documents.
    Update(UpdateStatement),
    /// Deletes documents.
    Delete(DeleteStatement),
}

/// Writes of several kinds.
#[derive(Clone, Debug)]
pub struct BulkWrite {
    /// Where.
    pub namespace: Namespace,
    /// What, in this order.
    pub statements: Vec<WriteStatement>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// Comment, time limit, variables.
    pub options: ReadOptions,
}

/// Changes or removes one document and gives it back.
#[derive(Clone, Debug)]
pub struct FindAndModify {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub filter: RawDocumentBuf,
    /// Which first.
    pub sort: Option<RawDocumentBuf>,
    /// Which fields come back.
    pub projection: Option<RawDocumentBuf>,
    /// How it changes; `None` removes it.
    pub modification: Option<Modification>,
    /// Whether the document comes back as it is after the change.
    pub return_new: bool,
    /// Whether to insert when none matches.
    pub upsert: bool,
    /// Filters for `$[name]`.
    pub array_filters: Vec<RawDocumentBuf>,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

/// Counts documents exactly.
#[derive(Clone, Debug)]
pub struct Count {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub filter: RawDocumentBuf,
    /// How many to pass over.
    pub skip: u64,
    /// At how many to stop; 0 is no limit.
    pub limit: u64,
    /// Whether the collection's stored size may be given; the filter is then empty.
    pub estimated: bool,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

/// The distinct values of a path.
#[derive(Clone, Debug)]
pub struct Distinct {
    /// Where.
    pub namespace: Namespace,
    /// The dotted path.
    pub key: String,
    /// Among which documents.
    pub filter: RawDocumentBuf,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}

/// Asks how an operation would be executed.
#[derive(Clone, Debug)]
pub struct Explain {
    /// A find, aggregate, count, distinct, update, delete or findAndModify.
    pub operation: Box<Operation>,
    /// Whether to run it and count (`executionStats`), or only to plan (`queryPlanner`).
    pub execute: bool,
}

/// An index: `{key: .., name: .., unique: .., ...}`, as `createIndexes` takes it and `listIndexes` gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexSpec(pub RawDocumentBuf);

/// Builds indexes, creating the collection where it is missing.
#[derive(Clone, Debug)]
pub struct CreateIndexes {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub indexes: Vec<IndexSpec>,
}

/// Drops indexes.
#[derive(Clone, Debug)]
pub struct DropIndexes {
    /// Where.
    pub namespace: Namespace,
    /// A name, a key pattern, an array of names, or `"*"` for all but that of `_id`.
    pub index: RawBson,
}

/// Lists the indexes of a collection.
#[derive(Clone, Debug)]
pub struct ListIndexes {
    /// Where.
    pub namespace: Namespace,
}

/// What a collection is created with: the fields of MongoDB's `create` command but the name.
pub type CollectionOptions = RawDocumentBuf;

/// Creates a collection.
#[derive(Clone, Debug)]
pub struct CreateCollection {
    /// Where.
    pub namespace: Namespace,
    /// With what.
    pub options: CollectionOptions,
}

/// Changes a collection's options, or those of one of its indexes.
#[derive(Clone, Debug)]
pub struct ModifyCollection {
    /// Which.
    pub namespace: Namespace,
    /// The fields of MongoDB's `collMod` command but the name.
    pub changes: RawDocumentBuf,
}

/// Gives a collection another name.
#[derive(Clone, Debug)]
pub struct RenameCollection {
    /// Which.
    pub namespace: Namespace,
    /// Its new name; the database may be another.
    pub to: Namespace,
    /// Whether a collection that has the name is dropped for it.
    pub drop_target: bool,
}

/// Asks how much a collection, or a database, holds.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Of which database.
    pub database: String,
    /// Of which collection; of all together when absent.
    pub collection: Option<String>,
}

/// Drops a collection.
#[derive(Clone, Debug)]
pub struct DropCollection {
    /// Which.
    pub namespace: Namespace,
}

/// Lists the collections of a database.
#[derive(Clone, Debug)]
pub struct ListCollections {
    /// Of which database.
    pub database: String,
    /// Which: a filter over `{name, type, options, info}`.
    pub filter: RawDocumentBuf,
}

/// Drops a database.
#[derive(Clone, Debug)]
pub struct DropDatabase {
    /// Which.
    pub database: String,
}

/// Runs a command.
#[derive(Clone, Debug)]
pub struct RunCommand {
    /// On which database.
    pub database: String,
    /// The command; its first field names it.
    pub command: RawDocumentBuf,
}

/// Cross-checks documents, checksums and indexes, and the store itself.
#[derive(Clone, Debug)]
pub struct Check {
    /// Of which database; all of them when absent.
    pub database: Option<String>,
}

/// Makes index entries, flags and counts what the documents say.
#[derive(Clone, Debug)]
pub struct Repair {
    /// Of which database; all of them when absent.
    pub database: Option<String>,
    /// Of which collection; all of the database when absent.
    pub collection: Option<String>,
    /// Whether to change nothing, and say what would be done.
    pub dry_run: bool,
}

/// Copies everything that one commit left to a directory, as a database of its own.
#[derive(Clone, Debug)]
pub struct Backup {
    /// Where; missing or empty.
    pub directory: PathBuf,
    /// Whether what is damaged is copied as it is, instead of being an error.
    pub damaged_too: bool,
    /// Who is told how far it is.
    pub observer: Option<BackupObserver>,
}

/// Gives unused space of the file back to the file system.
#[derive(Clone, Copy, Debug)]
pub struct Compact;

/// Asks for the figures of the store.
#[derive(Clone, Copy, Debug)]
pub struct MeasureStore {
    /// Whether to say what the file's space is used for, which reads most of it.
    pub space: bool,
}

macro_rules! operations {
    ($($operation:ident),* $(,)?) => {
        $(impl From<$operation> for Operation {
            fn from(operation: $operation) -> Operation {
                Operation::$operation(operation)
            }
        })*
    };
}

operations!(
    Insert,
    Find,
    Aggregate,
    Update,
    Delete,
    BulkWrite,
    FindAndModify,
    Count,
    Distinct,
    Explain,
    CreateIndexes,
    DropIndexes,
    ListIndexes,
    CreateCollection,
    ModifyCollection,
    RenameCollection,
    Statistics,
    DropCollection,
    ListCollections,
    DropDatabase,
    RunCommand,
    Watch,
    Check,
    Repair,
    Backup,
    Compact,
    MeasureStore,
);
