//! Reading the newest first.

use odm::Result;
use odm::bson::{Bson, DateTime, doc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::buckets::{BUCKETS, Buckets, Kind};
use crate::computed::Amount;
use crate::value;

/// Some entries of a series, the newest first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BucketPage<E> {
    /// The entries.
    pub entries: Vec<E>,
    /// Where the next page begins; `None` behind the oldest entry.
    pub next: Option<BucketPlace>,
}

/// A place between entries of a series. New entries do not move it; the removal of one that is older, in the same bucket,
/// shows one entry twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BucketPlace {
    bucket: i64,
    at: DateTime,
    position: i64,
}

impl<S: Serialize + DeserializeOwned, E: DeserializeOwned, V: Amount, K> Buckets<S, E, V, K> {
    /// Some entries, the newest first: by time where buckets are of a span of time, otherwise by arrival. One round trip
    /// for each batch of buckets, of which as many are read as are needed.
    ///
    /// # Errors
    /// `Decode` when a bucket does not fit the types.
    pub async fn page(&self, series: &S, entries: usize, from: Option<BucketPlace>) -> Result<BucketPage<E>> {
        let series = value::to_bson(series)?;
        let last = from.as_ref().map_or(Bson::MaxKey, |place| place.bucket.into());
        let older = self.buckets.find(BUCKETS.between(&series, Bson::MinKey, last));
        let mut older = older.sort_raw(doc! { "_id": -1 }).batch_size(4).stream();
        // Who wants all of them says so by a number that is no length.
        let mut page = Vec::with_capacity(entries.min(1_000));
        let (mut next, mut has_more) = (None, false);
        'buckets: while let Some(bucket) = older.try_next().await? {
            let number = BUCKETS.number_of(&bucket);
            let mut of_bucket: Vec<(DateTime, i64, Bson)> = self
                .entries(&bucket)?
                .zip(0_i64..)
                .map(|((at, entry), position)| match self.kind {
                    Kind::Span(_) => (at, position, entry),
                    // The order of arrival is that of positions.
                    Kind::Count(_) => (DateTime::from_millis(0), position, entry),
                })
                .collect();
            of_bucket.sort_by_key(|(at, position, _)| (*at, *position));
            for (at, position, entry) in of_bucket.into_iter().rev() {
                let is_seen = from.as_ref().is_some_and(|place| {
                    number == place.bucket && (at, position) >= (place.at, place.position)
                });
                if is_seen {
                    continue;
                }
                if page.len() == entries {
                    has_more = true;
                    break 'buckets;
                }
                page.push(value::from_bson(entry)?);
                next = Some(BucketPlace {
                    bucket: number,
                    at,
                    position,
                });
            }
        }
        Ok(BucketPage {
            entries: page,
            next: next.filter(|_| has_more),
        })
    }
}
