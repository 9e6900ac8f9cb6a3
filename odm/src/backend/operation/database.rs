//! Operations on databases.

use bson::RawDocumentBuf;

/// Asks how much a collection, or a database, holds.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// Of which database.
    pub database: String,
    /// Of which collection; of all together when absent.
    pub collection: Option<String>,
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
