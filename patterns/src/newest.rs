//! What the primary has.

use odm::Db;
use odm::backend::ReadPreference;

/// The database as its primary has it: other members may lack the last writes. A snapshot is what it is, and a transaction
/// reads from the primary already.
pub(crate) fn newest(db: &Db) -> Db {
    db.with_read_preference(ReadPreference::Primary)
        .unwrap_or_else(|_| db.clone())
}
