//! Giving the records of a log to whoever opens its database.

use crate::native::fault::Result;
use crate::native::storage::format::log::{Broken, Change, Mark, Records};
use crate::native::storage::{Pending, format};

/// Replays the records after a mark; gives the sequence of the last one.
///
/// # Errors
/// Those of `apply`; of class `Corrupt` when records that were synced are missing.
pub(in super::super) fn replay(
    mark: &Mark,
    bytes: &[u8],
    apply: &mut dyn FnMut(&mut Pending) -> Result<()>,
) -> Result<u64> {
    let mut records = Records::after(mark, bytes);
    loop {
        let changes = match records.next() {
            Ok(None) => return Ok(records.last()),
            Ok(Some(changes)) => changes,
            Err(broken) => return Err(format::damaged(explain(broken))),
        };
        let mut pending = Pending::default();
        for change in changes {
            match change {
                Change::Put(tree, key, value) => pending.put(tree, key, value),
                Change::Remove(tree, key) => pending.remove(tree, key),
                Change::Clear(tree) => pending.clear(tree),
            }
        }
        apply(&mut pending)?;
    }
}

fn explain(broken: Broken) -> String {
    match broken {
        Broken::Lost(sequence) => format!("record {sequence} of the log is damaged"),
        Broken::Malformed(sequence) => format!("record {sequence} of the log has another form"),
        Broken::Later => "the database file is older than its log".to_owned(),
    }
}
