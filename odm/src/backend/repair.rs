//! What a repair of the stored data found and did.

use std::fmt;

use bson::Bson;

/// What [`Db::repair`](crate::Db::repair) looked at, what was wrong, and what it did about it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether nothing was changed: the findings say what would be done.
    pub dry_run: bool,
    /// Collections looked at.
    pub collections: u64,
    /// Documents looked at.
    pub documents: u64,
    /// Index entries that were compared with the documents, as they were before.
    pub index_entries: u64,
    /// What was wrong; of very many findings the first thousand.
    pub findings: Vec<RepairFinding>,
    /// How many more there are.
    pub unlisted: u64,
    /// How many of all findings, the unlisted ones too, could not be repaired.
    pub left: u64,
}

/// One thing that was wrong with the stored data.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RepairFinding {
    /// The `database.collection`, if it is about one.
    pub namespace: Option<String>,
    /// The index's name, if it is about one.
    pub index: Option<String>,
    /// The engine's number of the document, if it is about one.
    pub record: Option<u64>,
    /// The document's `_id`, where it can be read.
    pub id: Option<Bson>,
    /// What was wrong.
    pub problem: RepairProblem,
    /// What was done.
    pub action: RepairAction,
}

/// What was wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum RepairProblem {
    /// The index lacked an entry for the document.
    MissingEntry,
    /// The index had an entry that no document has.
    ExtraEntry,
    /// The check value of the document's entry did not fit.
    DamagedEntry,
    /// A document has an array where the index was not known to hold several keys of one document.
    MultikeyFlags,
    /// A capped collection's count of its documents and bytes was wrong.
    Count,
    /// Another document has the same key in a unique index. Both stay, both are found through the index, and it
    /// goes on refusing further documents with the key: one of the two is the program's to change or delete.
    UniqueClash {
        /// The other document's `_id`.
        other: Option<Bson>,
    },
    /// The document is damaged, and so are answers that need it. Its index entries stay.
    DamagedDocument {
        /// What is damaged.
        reason: String,
    },
    /// The document can have no keys in the index.
    NotIndexable {
        /// Why.
        reason: String,
    },
    /// There is data that belongs to no collection.
    Unused {
        /// Where.
        place: String,
    },
    /// A record of the catalog, which says which collections and indexes exist, is damaged.
    Catalog {
        /// What is damaged.
        reason: String,
    },
    /// The log of changes is damaged. Opening the database once with [`ChangeLog::off`](crate::ChangeLog::off)
    /// removes it; change streams then begin anew, and old tokens are refused.
    ChangeLog {
        /// What is damaged.
        reason: String,
    },
    /// The store's file is damaged: what it holds there cannot be read.
    Store {
        /// What is damaged.
        reason: String,
    },
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairAction {
    /// The missing entry was added.
    Added,
    /// What was too much was removed.
    Removed,
    /// The damaged entry was written anew.
    Rewritten,
    /// The flags or the count were set right.
    Corrected,
    /// Nothing: it cannot be repaired from what is stored.
    Left,
}

impl RepairReport {
    /// Whether nothing was wrong.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    /// Whether all that was wrong was repaired.
    pub fn is_repaired(&self) -> bool {
        self.left == 0 && (self.is_clean() || !self.dry_run)
    }

    /// The listed findings that could not be repaired.
    pub fn left(&self) -> impl Iterator<Item = &RepairFinding> {
        self.findings
            .iter()
            .filter(|finding| finding.action == RepairAction::Left)
    }
}

impl RepairFinding {
    /// A finding that is about nothing in particular yet.
    pub fn new(problem: RepairProblem, action: RepairAction) -> RepairFinding {
        RepairFinding {
            namespace: None,
            index: None,
            record: None,
            id: None,
            problem,
            action,
        }
    }
}

impl fmt::Display for RepairProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RepairProblem::MissingEntry => f.write_str("the index lacks an entry"),
            RepairProblem::ExtraEntry => f.write_str("the index has an entry that no document has"),
            RepairProblem::DamagedEntry => f.write_str("the entry is damaged"),
            RepairProblem::MultikeyFlags => f.write_str("the index was not known to be multikey"),
            RepairProblem::Count => f.write_str("the count of documents and bytes is wrong"),
            RepairProblem::UniqueClash { other: Some(other) } => {
                write!(f, "the document with the _id {other} has the same key")
            }
            RepairProblem::UniqueClash { other: None } => f.write_str("another document has the same key"),
            RepairProblem::DamagedDocument { reason } => write!(f, "the document is damaged: {reason}"),
            RepairProblem::NotIndexable { reason } => write!(f, "the document has no keys: {reason}"),
            RepairProblem::Unused { place } => write!(f, "data of no collection: {place}"),
            RepairProblem::Catalog { reason } => write!(f, "the catalog is damaged: {reason}"),
            RepairProblem::ChangeLog { reason } => write!(f, "the log of changes is damaged: {reason}"),
            RepairProblem::Store { reason } => write!(f, "the store is damaged: {reason}"),
        }
    }
}

impl fmt::Display for RepairFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}: ")?;
        }
        if let Some(index) = &self.index {
            write!(f, "index {index}: ")?;
        }
        match (&self.id, self.record) {
            (Some(id), _) => write!(f, "_id {id}: ")?,
            (None, Some(record)) => write!(f, "record {record}: ")?,
            (None, None) => {}
        }
        let done = match self.action {
            RepairAction::Added => "added",
            RepairAction::Removed => "removed",
            RepairAction::Rewritten => "rewritten",
            RepairAction::Corrected => "corrected",
            RepairAction::Left => "left as it is",
        };
        write!(f, "{} ({done})", self.problem)
    }
}
