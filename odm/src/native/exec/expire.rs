//! Deleting documents whose TTL index says that their time is over.

use std::ops::{Bound, ControlFlow};

use super::super::catalog::buckets::BucketId;
use super::super::catalog::rules::Series;
use super::super::catalog::{Collection, CollectionId, IndexEntry};
use super::super::document::{Doc, Value};
use super::super::fault::{Class, Fault, Result};
use super::super::key;
use super::super::storage::{Read, TreeId, Write, format};
use super::record;
use super::scan::RECORD_BYTES;

/// How many documents one run looks at.
const RUN: usize = 1_000;

/// What makes documents of a collection expire, and how far it was gone through.
#[derive(Clone, Debug)]
pub(crate) struct Expiry {
    /// The name of the collection.
    pub(crate) namespace: String,
    collection: CollectionId,
    /// None for a time series, whose documents expire by their buckets.
    index: Option<TreeId>,
    /// The last key that was looked at.
    after: Option<Vec<u8>>,
}

/// What a run has done.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) deleted: u64,
    /// What there may be more of.
    pub(crate) rest: Option<Expiry>,
    /// Why documents were left that nobody holds, for the first of them.
    pub(crate) left: Option<Fault>,
}

/// All that makes documents expire.
pub(crate) fn all(read: &dyn Read) -> Vec<Expiry> {
    let of = |collection: &Collection, index| Expiry {
        namespace: collection.namespace().to_string(),
        collection: collection.id,
        index,
        after: None,
    };
    let mut all = Vec::new();
    for collection in read.catalog().all() {
        if life(collection).is_some() {
            all.push(of(collection, None));
        }
        all.extend(ttl_indexes(collection).map(|(entry, _)| of(collection, Some(entry.tree))));
    }
    all
}

/// How long the documents of a time series live whose collection this is.
fn life(collection: &Collection) -> Option<(&Series, i64)> {
    let series = collection.rules.series.as_deref()?;
    let seconds = series.expire_after_seconds?;
    collection.rules.view.is_none().then_some((series, seconds))
}

/// The documents that a run found.
struct Expired {
    records: Vec<u64>,
    /// The last key that was looked at, where there may be more.
    last: Option<Vec<u8>>,
}

/// Deletes the expired documents among the next [`RUN`]; `now` is in milliseconds since the epoch. What a running
/// transaction holds stays until another time, and so does a document that is damaged.
///
/// # Errors
/// The store's, and what the index or the collection has that cannot be read.
pub(crate) fn run(write: &mut dyn Write, expiry: &Expiry, now: i64) -> Result<Ran> {
    let mut ran = Ran {
        deleted: 0,
        rest: None,
        left: None,
    };
    let Some(collection) = write.catalog().by_id(expiry.collection).cloned() else {
        return Ok(ran);
    };
    let after = expiry.after.as_deref();
    let series = life(&collection);
    let found = match expiry.index {
        None => match series {
            Some((series, seconds)) => whole_buckets(write, &collection, series, (seconds, now), after)?,
            None => return Ok(ran),
        },
        Some(tree) => match ttl_indexes(&collection).find(|(entry, _)| entry.tree == tree) {
            Some((entry, seconds)) => expired(
                write,
                entry,
                now.saturating_sub(seconds.saturating_mul(1000)),
                after,
            )?,
            None => return Ok(ran),
        },
    };
    for record in found.records {
        match remove(write, &collection, record) {
            Ok(true) => {
                ran.deleted += 1;
                if let Some((series, _)) = series {
                    series.open.close(record);
                }
            }
            // An earlier index, or an earlier date of the document, has taken it already.
            Ok(false) => {}
            Err(fault) => match fault.class() {
                Class::Blocked => {}
                // Of the document alone, of which nothing is written then.
                Class::Corrupt | Class::Request | Class::Unsupported => {
                    ran.left.get_or_insert(fault);
                }
                _ => return Err(fault),
            },
        }
    }
    ran.rest = found.last.map(|last| Expiry {
        after: Some(last),
        ..expiry.clone()
    });
    Ok(ran)
}

/// Removes a document; `false` when there is none. All that may be wrong with it is found before the first write.
fn remove(write: &mut dyn Write, collection: &Collection, record: u64) -> Result<bool> {
    let place = record.to_be_bytes();
    let Some(stored) = write.get(collection.records, &place)? else {
        return Ok(false);
    };
    let document = format::unseal(collection.records, &place, &stored)?;
    record::remove(write, collection, record, document)?;
    Ok(true)
}

/// Finds the buckets that only have expired documents whatever they have, as the server does: a document may live longer
/// by the time that a bucket spans.
fn whole_buckets(
    read: &dyn Read,
    collection: &Collection,
    series: &Series,
    (seconds, now): (i64, i64),
    after: Option<&[u8]>,
) -> Result<Expired> {
    let limit = now.div_euclid(1000) - seconds - series.granularity.span();
    let mut found = Expired {
        records: Vec::new(),
        last: None,
    };
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    read.scan(
        collection.records,
        (from, Bound::Unbounded),
        false,
        &mut |key, stored| {
            let record = key.try_into().map_or(u64::MAX, u64::from_be_bytes);
            if i64::from(BucketId::of(record).begin()) > limit {
                return Ok(ControlFlow::Break(()));
            }
            // 32 bits do not tell all times from each other. What is damaged is found again where it is to be removed.
            let is_expired = match format::unseal(collection.records, key, stored) {
                Err(_) => true,
                Ok(document) => match Doc::Raw(document).get(&series.time) {
                    Some(Value::DateTime(millis)) => {
                        millis.div_euclid(1000) <= limit + series.granularity.span()
                    }
                    _ => false,
                },
            };
            if is_expired {
                found.records.push(record);
            }
            Ok(match found.records.len() >= RUN {
                true => {
                    found.last = Some(key.to_vec());
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            })
        },
    )?;
    Ok(found)
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
fn expired(read: &dyn Read, entry: &IndexEntry, limit: i64, after: Option<&[u8]>) -> Result<Expired> {
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
    let from = after.map_or(Bound::Included(&*from), Bound::Excluded);
    let mut found = Expired {
        records: Vec::new(),
        last: None,
    };
    read.scan(
        entry.tree,
        (from, Bound::Included(&to)),
        false,
        &mut |stored, _| {
            if let Some(id) = stored
                .len()
                .checked_sub(RECORD_BYTES)
                .and_then(|at| stored[at..].try_into().ok())
            {
                found.records.push(u64::from_be_bytes(id));
            }
            Ok(match found.records.len() >= RUN {
                true => {
                    found.last = Some(stored.to_vec());
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            })
        },
    )?;
    found.records.sort_unstable();
    found.records.dedup();
    Ok(found)
}
