//! Repairing what follows from the documents.

use super::setters::runs;
use crate::backend::{self, RepairReport};
use crate::db::Db;
use crate::error::Result;

/// Makes index entries, multikey flags and the counts of capped collections what the documents say. See
/// [`Db::repair`].
#[derive(Clone, Debug)]
#[must_use = "an action does nothing until it is awaited"]
pub struct Repair {
    db: Db,
    operation: backend::Repair,
}

impl Repair {
    pub(crate) fn new(db: &Db) -> Repair {
        Repair {
            db: db.clone(),
            operation: backend::Repair {
                database: Some(db.name().to_owned()),
                collection: None,
                dry_run: false,
            },
        }
    }

    /// Only this collection of the database.
    pub fn collection(mut self, name: impl Into<String>) -> Repair {
        self.operation.collection = Some(name.into());
        self
    }

    /// All databases of the engine.
    pub fn every_database(mut self) -> Repair {
        self.operation.database = None;
        self
    }

    /// Changes nothing: the report says what would be done.
    pub fn dry_run(mut self) -> Repair {
        self.operation.dry_run = true;
        self
    }

    async fn run(self) -> Result<RepairReport> {
        self.db.execute(self.operation.into()).await?.repair()
    }
}

runs!([] Repair => RepairReport);
