//! What a check of the stored data found.

/// What [`Db::check`](crate::Db::check) looked at, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Collections looked at.
    pub collections: u64,
    /// Documents whose checksum, shape and `_id` were looked at.
    pub documents: u64,
    /// Index entries that were compared with their documents.
    pub index_entries: u64,
    /// What is wrong, in words; empty when all is well.
    pub problems: Vec<CheckProblem>,
}

/// One thing that is wrong with the stored data.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckProblem {
    /// The `database.collection`, if it is about one.
    pub namespace: Option<String>,
    /// What is wrong.
    pub message: String,
}

impl CheckReport {
    /// What was looked at, and what is wrong.
    pub fn new(
        collections: u64,
        documents: u64,
        index_entries: u64,
        problems: Vec<CheckProblem>,
    ) -> CheckReport {
        CheckReport {
            collections,
            documents,
            index_entries,
            problems,
        }
    }

    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

impl CheckProblem {
    /// A problem, of a `database.collection` or of the store itself.
    pub fn new(namespace: Option<String>, message: impl Into<String>) -> CheckProblem {
        CheckProblem {
            namespace,
            message: message.into(),
        }
    }
}

impl std::fmt::Display for CheckProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
