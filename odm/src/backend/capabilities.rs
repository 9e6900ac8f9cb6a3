//! What a backend can do, as data.

/// What a backend can do. Tests skip by it, and patterns choose their path by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// Multi-document transactions.
    pub transactions: bool,
    /// Change streams.
    pub change_streams: bool,
    /// Text indexes and `$text`.
    pub text_indexes: bool,
    /// Hashed indexes.
    pub hashed_indexes: bool,
    /// The aggregation pipeline as an operation.
    pub aggregation: bool,
    /// Durability is chosen when the database is opened, and writes survive the process.
    pub persistent: bool,
    /// `run_command` reaches a command interpreter.
    pub commands: bool,
    /// The store checks itself, repairs its indexes, copies itself while in use, and tells its figures.
    pub maintenance: bool,
    /// The store gives the space of what was removed back to the file system.
    pub compaction: bool,
    /// A snapshot can be read for as long as it is kept.
    pub lasting_snapshots: bool,
}

impl Capabilities {
    /// A backend that can do nothing beyond reading and writing documents.
    pub const fn minimal() -> Capabilities {
        Capabilities {
            transactions: false,
            change_streams: false,
            text_indexes: false,
            hashed_indexes: false,
            aggregation: false,
            persistent: false,
            commands: false,
            maintenance: false,
            compaction: false,
            lasting_snapshots: false,
        }
    }
}
