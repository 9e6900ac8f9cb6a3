//! Which commands run inside a transaction.

use super::super::fault::{Fault, Result, code};

/// Those that do.
const RUN: &[&str] = &[
    "aggregate",
    "create",
    "createIndexes",
    "delete",
    "distinct",
    "find",
    "findAndModify",
    "findandmodify",
    "getMore",
    "insert",
    "killCursors",
    "update",
];

/// Those that are about no data: the server has other words for them.
const ABOUT_THE_SERVER: &[&str] = &["buildInfo", "buildinfo", "hello", "isMaster", "ismaster", "ping"];

/// Refuses a command that does not run inside a transaction, which stays as it is.
///
/// # Errors
/// 263, or 59 when there is no such command.
pub(crate) fn refuse_in_transaction(name: &str) -> Result<()> {
    if RUN.contains(&name) {
        return Ok(());
    }
    if super::command(name).is_none() && !super::NOT_HERE.contains(&name) {
        return Err(super::unknown(name));
    }
    let text = if ABOUT_THE_SERVER.contains(&name) {
        "This command is not supported in transactions".to_owned()
    } else if name == "count" {
        "Cannot run 'count' in a multi-document transaction. Please see \
         http://dochub.mongodb.org/core/transaction-count for a recommended alternative."
            .to_owned()
    } else {
        format!("Cannot run '{name}' in a multi-document transaction.")
    };
    Err(Fault::new(code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION, text))
}

/// Whether the command reads and does not write.
pub(crate) fn reads(name: &str) -> bool {
    matches!(name, "aggregate" | "distinct" | "find" | "getMore")
}
