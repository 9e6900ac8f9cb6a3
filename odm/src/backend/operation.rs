//! What a backend is asked to do, in MongoDB's vocabulary, with raw BSON.

mod collection;
mod database;
mod index;
mod maintenance;
mod read;
mod shape;
mod write;

use std::time::Duration;

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

pub use self::collection::{
    CollectionOptions, CreateCollection, DropCollection, ModifyCollection, RenameCollection,
};
pub use self::database::{DropDatabase, ListCollections, RunCommand, Statistics};
pub use self::index::{CreateIndexes, DropIndexes, IndexSpec, ListIndexes};
pub use self::maintenance::{Backup, Check, Compact, Flush, MeasureStore, Repair};
pub use self::read::{Aggregate, Count, Distinct, Find, Tail};
pub use self::write::{
    BulkWrite, Delete, DeleteStatement, FindAndModify, Insert, Modification, Update, UpdateStatement,
    WriteStatement,
};
use super::watch::{Watch, WatchScope};

/// A database and a collection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Namespace {
    /// The database's name.
    pub database: String,
    /// The collection's name.
    pub collection: String,
}

impl Namespace {
    /// Another collection of the database.
    pub(crate) fn beside(&self, collection: &str) -> Namespace {
        Namespace {
            database: self.database.clone(),
            collection: collection.to_owned(),
        }
    }
}

impl std::fmt::Display for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.database)?;
        f.write_str(".")?;
        f.write_str(&self.collection)
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
    /// Makes acknowledged writes durable that are not. Answer: [`Response::Done`](super::Response::Done).
    Flush(Flush),
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
            Operation::Flush(_) => "flush",
            Operation::MeasureStore(_) => "storeStatistics",
        }
    }

    /// The same with replacements that may have a field whose name begins with `$`.
    pub(crate) fn with_any_names(mut self) -> Operation {
        let named = |modification: &mut Modification| {
            let own = std::mem::replace(modification, Modification::Pipeline(Vec::new()));
            *modification = own.with_any_names();
        };
        match &mut self {
            Operation::Update(update) => {
                let statements = update.statements.iter_mut();
                statements.for_each(|statement| named(&mut statement.modification));
            }
            Operation::BulkWrite(bulk) => bulk.statements.iter_mut().for_each(|statement| {
                if let WriteStatement::Update(update) = statement {
                    named(&mut update.modification);
                }
            }),
            Operation::FindAndModify(find) => find.modification.iter_mut().for_each(named),
            _ => {}
        }
        self
    }

    /// Whether the operation may change data or schema. A command is taken to.
    pub fn is_write(&self) -> bool {
        match self {
            Operation::Aggregate(aggregate) => aggregate.is_write(),
            Operation::Find(_)
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
            | Operation::Flush(_)
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

    /// Whether it is about documents, and not about collections, indexes or the whole database.
    pub(crate) fn is_of_documents(&self) -> bool {
        matches!(
            self,
            Operation::Insert(_)
                | Operation::Find(_)
                | Operation::Aggregate(_)
                | Operation::Update(_)
                | Operation::Delete(_)
                | Operation::BulkWrite(_)
                | Operation::FindAndModify(_)
                | Operation::Count(_)
                | Operation::Distinct(_)
                | Operation::Explain(_)
                | Operation::Watch(_)
        )
    }

    /// Whether it may insert a document when none matches.
    pub(crate) fn is_upsert(&self) -> bool {
        match self {
            Operation::Update(update) => update.statements.iter().any(|statement| statement.upsert),
            Operation::FindAndModify(change) => change.upsert,
            Operation::Explain(explain) => explain.operation.is_upsert(),
            _ => false,
        }
    }

    /// The options of a read, or of the search of a write, with the collation of its only statement.
    pub(crate) fn search_options(&self) -> ReadOptions {
        let of = |options: &ReadOptions, collation: Option<&Option<RawDocumentBuf>>| ReadOptions {
            collation: collation.cloned().unwrap_or_else(|| options.collation.clone()),
            ..options.clone()
        };
        match self {
            Operation::Find(find) => find.options.clone(),
            Operation::Count(count) => count.options.clone(),
            Operation::Distinct(distinct) => distinct.options.clone(),
            Operation::FindAndModify(change) => change.options.clone(),
            Operation::Aggregate(aggregate) => aggregate.options.clone(),
            Operation::Update(update) => of(
                &update.options,
                update.statements.first().map(|statement| &statement.collation),
            ),
            Operation::Delete(delete) => of(
                &delete.options,
                delete.statements.first().map(|statement| &statement.collation),
            ),
            Operation::Explain(explain) => explain.operation.search_options(),
            _ => ReadOptions::default(),
        }
    }

    /// The `_id` of the only document that it updates or deletes, where its filter says it.
    pub(crate) fn written_id(&self) -> Option<RawBson> {
        let filter = match self {
            Operation::FindAndModify(change) => &change.filter,
            Operation::Update(update) => match update.statements.as_slice() {
                [only] => &only.filter,
                _ => return None,
            },
            Operation::Delete(delete) => match delete.statements.as_slice() {
                [only] => &only.filter,
                _ => return None,
            },
            _ => return None,
        };
        id_of(filter).map(RawBson::from)
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
            | Operation::Flush(_)
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
    /// How long the operation may take on the server: in milliseconds, of which a part counts for a whole one. More
    /// than `i32::MAX` of them may be no limit.
    pub max_time: Option<Duration>,
    /// A collation document.
    pub collation: Option<RawDocumentBuf>,
    /// Variables for expressions (`let`).
    pub variables: Option<RawDocumentBuf>,
}

/// Asks how an operation would be executed.
#[derive(Clone, Debug)]
pub struct Explain {
    /// A find, aggregate, count, distinct, update, delete or findAndModify.
    pub operation: Box<Operation>,
    /// Whether to run it and count (`executionStats`), or only to plan (`queryPlanner`).
    pub execute: bool,
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
    Flush,
    MeasureStore,
);

/// The `_id` that a filter asks for, if it asks for one alone.
pub(crate) fn id_of(filter: &RawDocument) -> Option<RawBsonRef<'_>> {
    match filter.get("_id").ok()?? {
        RawBsonRef::Document(condition) => match condition.iter().next() {
            Some(Ok((name, id))) if name.as_str() == "$eq" => Some(id),
            Some(Ok((name, _))) if name.as_str().starts_with('$') => None,
            _ => Some(RawBsonRef::Document(condition)),
        },
        RawBsonRef::RegularExpression(_) => None,
        id => Some(id),
    }
}
