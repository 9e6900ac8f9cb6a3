//! Deleting documents whose TTL index says that their time is over.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::super::catalog::{Collection, IndexEntry};
use super::super::document::Value;
use super::super::fault::Result;
use super::super::key;
use super::super::storage::{Read, Write, format};
use super::record;
use super::walk::RECORD_BYTES;

/// How many documents one run deletes from one index.
const RUN: usize = 1_000;

/// Whether any collection has a TTL index.
pub(crate) fn is_needed(read: &dyn Read) -> bool {
    read.catalog()
        .all()
        .any(|collection| ttl_indexes(collection).next().is_some())
}

/// Deletes expired documents, at most [`RUN`] per index; gives how many. `now` is in milliseconds since the epoch.
pub(crate) fn run(write: &mut dyn Write, now: i64) -> Result<u64> {
    let collections: Vec<Arc<Collection>> = write.catalog().all().cloned().collect();
    let mut deleted = 0;
    for collection in collections {
        for (entry, seconds) in ttl_indexes(&collection) {
            for record in expired(write, entry, now.saturating_sub(seconds.saturating_mul(1000)))? {
                let place = record.to_be_bytes();
                // An earlier index may have taken the document already.
                let Some(stored) = write.get(collection.records, &place)? else {
                    continue;
                };
                let document = format::unseal(collection.records, &place, &stored)?.to_vec();
                record::remove(write, &collection, record, &document)?;
                deleted += 1;
            }
        }
    }
    Ok(deleted)
}

fn ttl_indexes(collection: &Collection) -> impl Iterator<Item = (&IndexEntry, i64)> {
    let clustered = collection.rules.clustered.as_ref();
    let by_id = clustered.and_then(|clustered| clustered.expire_after_seconds);
    collection.indexes.iter().filter_map(move |entry| {
        let seconds = match entry.definition.clustered {
            true => by_id,
            false => entry.definition.expire_after_seconds,
        };
        seconds.map(|seconds| (entry, seconds))
    })
}

/// Records with a date at or before `limit`. The keys of an array's dates stand one by one in the index, so that any
/// expired date counts; other types lie outside the range.
fn expired(read: &dyn Read, entry: &IndexEntry, limit: i64) -> Result<Vec<u64>> {
    let descending = entry
        .definition
        .keys
        .first()
        .is_some_and(|field| field.is_descending());
    let bound = |millis: i64| {
        let mut out = Vec::new();
        key::encode(&Value::DateTime(millis), descending, &mut out);
        out
    };
    let (mut from, mut to) = (bound(i64::MIN), bound(limit));
    if descending {
        std::mem::swap(&mut from, &mut to);
    }
    // The bound is a prefix of the stored keys with that date.
    to.extend_from_slice(&[0xFF; RECORD_BYTES + 1]);
    let mut records = Vec::new();
    read.scan(
        entry.tree,
        (Bound::Included(&from), Bound::Included(&to)),
        false,
        &mut |stored, _| {
            if let Some(id) = stored
                .len()
                .checked_sub(RECORD_BYTES)
                .and_then(|at| stored[at..].try_into().ok())
            {
                records.push(u64::from_be_bytes(id));
            }
            Ok(if records.len() >= RUN {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        },
    )?;
    records.sort_unstable();
    records.dedup();
    Ok(records)
}
