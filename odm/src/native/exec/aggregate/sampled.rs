//! The documents of a `$sample` that is the first stage: few of many are drawn by their records, where a scan would read all.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::super::super::aggregate::expression::random;
use super::super::super::catalog::Collection;
use super::super::super::fault::Result;
use super::super::super::storage::{ALL, LOOK_UP, Read, format};
use super::super::super::tally::{self, Examined};
use super::super::Deadline;
use super::super::scan::record_of;

/// So many draws may be in vain before a scan is made after all, besides four times those that are expected.
const MOST_DRAWS: u64 = 1_000;

/// Documents of the collection, each set of `size` equally likely; `None` where a scan finds them sooner: many, or few of
/// those that there were.
///
/// # Errors
/// Those of the store, and a time that is up.
pub(super) fn drawn(
    read: &dyn Read,
    collection: &Collection,
    size: u64,
    mut deadline: Deadline,
) -> Result<Option<Vec<Vec<u8>>>> {
    if collection.rules.series.is_some() || size == 0 {
        return Ok(None);
    }
    let entries = read.entries(collection.records)?;
    let (Some(first), Some(last)) = (end(read, collection, false)?, end(read, collection, true)?) else {
        return Ok(None);
    };
    let span = (last - first).saturating_add(1);
    // A record that is drawn may be one that is gone.
    let expected = size as f64 * (span as f64 / entries as f64);
    if expected * LOOK_UP as f64 > entries as f64 {
        return Ok(None);
    }
    let mut seen = HashSet::new();
    let mut documents = Vec::new();
    for _ in 0..MOST_DRAWS + 4 * expected as u64 {
        deadline.tick()?;
        let record = first + ((random() * span as f64) as u64).min(span - 1);
        if !seen.insert(record) {
            continue;
        }
        let key = record.to_be_bytes();
        if let Some(stored) = read.get(collection.records, &key)? {
            documents.push(format::unseal(collection.records, &key, &stored)?.to_vec());
            if documents.len() as u64 == size {
                let examined = Examined {
                    documents: size,
                    ..Examined::default()
                };
                tally::looked_at(Examined::default(), examined);
                return Ok(Some(documents));
            }
        }
    }
    Ok(None)
}

/// The first record, or the last.
fn end(read: &dyn Read, collection: &Collection, reverse: bool) -> Result<Option<u64>> {
    let mut found = None;
    read.scan(collection.records, ALL, reverse, &mut |key, _| {
        found = Some(record_of(key)?);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(found)
}
