//! Capped collections: the oldest documents make room for the newest, in the same write.

use super::super::catalog::Collection;
use super::super::fault::{Fault, Result, code};
use super::super::plan::Plan;
use super::super::storage::Write;
use super::walk::{Flow, Walk};
use super::{Deadline, record};

/// Refuses to add or change documents of a capped collection inside a transaction.
pub(super) fn refuse_in_transaction(write: &dyn Write, collection: &Collection) -> Result<()> {
    if collection.rules.capped.is_none() || !write.in_transaction() {
        return Ok(());
    }
    Err(Fault::new(
        code::OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
        format!(
            "Collection '{}' is a capped collection. Writes in transactions are not allowed on capped collections.",
            collection.namespace()
        ),
    ))
}

/// Refuses to remove documents of a capped collection inside a transaction.
pub(super) fn refuse_removal(write: &dyn Write, collection: &Collection) -> Result<()> {
    if collection.rules.capped.is_none() || !write.in_transaction() {
        return Ok(());
    }
    Err(Fault::new(
        code::ILLEGAL_OPERATION,
        format!(
            "Cannot remove from a capped collection in a multi-document transaction: {}",
            collection.namespace()
        ),
    ))
}

/// Counts what a write added and took away.
pub(super) fn note(write: &mut dyn Write, collection: &Collection, documents: i64, bytes: i64) -> Result<()> {
    if collection.rules.capped.is_none() {
        return Ok(());
    }
    write.catalog_mut().note_used(collection.id, documents, bytes)
}

/// Removes the oldest documents until the collection keeps its bounds; the one just inserted always stays.
pub(super) fn make_room(write: &mut dyn Write, collection: &Collection, newest: u64) -> Result<()> {
    let Some(capped) = collection.rules.capped else {
        return Ok(());
    };
    loop {
        let used = write
            .catalog()
            .by_id(collection.id)
            .map(|now| now.used)
            .unwrap_or_default();
        let mut over_bytes = used.bytes.saturating_sub(capped.size);
        let mut over_documents = used.documents.saturating_sub(capped.max);
        if over_bytes == 0 && over_documents == 0 {
            return Ok(());
        }
        let mut oldest: Vec<(u64, Vec<u8>)> = Vec::new();
        // Of a clustered collection those with the least `_id` go first.
        let in_order = Plan::collection(false, true);
        let mut walk = Walk::uncounted(&in_order, collection, Deadline::default());
        walk.documents(&*write, collection, &mut |record, document| {
            if record == newest {
                return Ok(match collection.rules.clustered.is_some() {
                    true => Flow::Continue,
                    false => Flow::Stop,
                });
            }
            over_bytes = over_bytes.saturating_sub(document.len() as u64);
            over_documents = over_documents.saturating_sub(1);
            oldest.push((record, document.to_vec()));
            Ok(if over_bytes == 0 && over_documents == 0 {
                Flow::Stop
            } else {
                Flow::Continue
            })
        })?;
        if oldest.is_empty() {
            return Ok(());
        }
        for (record, document) in oldest {
            record::remove(write, collection, record, &document)?;
        }
    }
}
