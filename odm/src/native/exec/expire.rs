//! Deleting documents whose TTL index says that their time is over.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use super::super::catalog::buckets::BucketId;
use super::super::catalog::rules::Series;
use super::super::catalog::{Collection, IndexEntry};
use super::super::document::{Doc, Value};
use super::super::fault::Result;
use super::super::key;
use super::super::storage::{ALL, Read, Write, format};
use super::record;
use super::scan::RECORD_BYTES;

/// How many documents one run deletes from one index.
const RUN: usize = 1_000;

/// Whether any collection has a TTL index.
pub(crate) fn is_needed(read: &dyn Read) -> bool {
    read.catalog()
        .all()
        .any(|collection| ttl_indexes(collection).next().is_some() || life(collection).is_some())
}

/// How long the documents of a time series live whose collection this is.
fn life(collection: &Collection) -> Option<(&Series, i64)> {
    let series = collection.rules.series.as_deref()?;
    let seconds = series.expire_after_seconds?;
    collection.rules.view.is_none().then_some((series, seconds))
}

/// Deletes expired documents, at most [`RUN`] per index; gives how many. `now` is in milliseconds since the epoch.
pub(crate) fn run(write: &mut dyn Write, now: i64) -> Result<u64> {
    let collections: Vec<Arc<Collection>> = write.catalog().all().cloned().collect();
    let mut deleted = 0;
    for collection in collections {
        if let Some((series, seconds)) = life(&collection) {
            deleted += whole_buckets(write, &collection, series, (seconds, now))?;
        }
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

/// Deletes the buckets that only have expired documents whatever they have, as the server does: a document may live
/// longer by the time that a bucket spans.
fn whole_buckets(
    write: &mut dyn Write,
    collection: &Collection,
    series: &Series,
    (seconds, now): (i64, i64),
) -> Result<u64> {
    let limit = now.div_euclid(1000) - seconds - series.granularity.span();
    let records = collection.records;
    let mut found: Vec<(u64, Vec<u8>)> = Vec::new();
    write.scan(records, ALL, false, &mut |key, stored| {
        let record = key.try_into().map_or(u64::MAX, u64::from_be_bytes);
        if i64::from(BucketId::of(record).begin()) > limit {
            return Ok(ControlFlow::Break(()));
        }
        let document = format::unseal(records, key, stored)?;
        // 32 bits do not tell all times from each other.
        if let Some(Value::DateTime(millis)) = Doc::Raw(document).get(&series.time)
            && millis.div_euclid(1000) <= limit + series.granularity.span()
        {
            found.push((record, document.to_vec()));
        }
        Ok(match found.len() >= RUN {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    })?;
    for (record, document) in &found {
        record::remove(write, collection, *record, document)?;
        series.open.close(*record);
    }
    Ok(found.len() as u64)
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
