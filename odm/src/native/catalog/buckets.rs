//! Where the documents of a time series go.
//!
//! The documents of a source that are close in time stand together, in buckets, as the server keeps them: a record id is
//! the begin of the bucket in seconds (32 bits), its number among those that begin then (22 bits), and the document's
//! place in it (10 bits). So the order of records is the order in which the server reads the collection.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// The bits of a record id that are a document's place in its bucket.
const PLACE_BITS: u32 = 10;

/// The bits that are a bucket's number among those that begin in one second.
const NUMBER_BITS: u32 = 22;

/// The most documents of a bucket.
const MOST_DOCUMENTS: u64 = 1_000;

/// So many sources have an open bucket; with one more, all begin anew.
const MOST_OPEN: usize = 10_000;

/// The first record id of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketId(u64);

impl BucketId {
    /// The bucket that a record is in.
    pub(crate) fn of(record: u64) -> BucketId {
        BucketId(record >> PLACE_BITS << PLACE_BITS)
    }

    /// The first bucket that begins at these seconds since the epoch.
    pub(crate) fn first_at(seconds: i64) -> BucketId {
        // As on the server, whose ids have 32 bits of them.
        BucketId(u64::from(seconds as u32) << (PLACE_BITS + NUMBER_BITS))
    }

    /// The last record id of the buckets that begin when this one does.
    pub(crate) fn last_record_then(self) -> u64 {
        self.0 | ((1 << (PLACE_BITS + NUMBER_BITS)) - 1)
    }

    /// The bucket behind this one, perhaps of the next second; none behind the last.
    pub(crate) fn next(self) -> Option<BucketId> {
        self.0.checked_add(1 << PLACE_BITS).map(BucketId)
    }

    /// The first record id.
    pub(crate) fn first_record(self) -> u64 {
        self.0
    }

    /// When it begins, in seconds since the epoch as far as 32 bits say it.
    pub(crate) fn begin(self) -> u32 {
        (self.0 >> (PLACE_BITS + NUMBER_BITS)) as u32
    }
}

/// The open bucket of each source.
#[derive(Debug, Default)]
pub(crate) struct OpenBuckets {
    by_source: Mutex<HashMap<Vec<u8>, Open>>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    id: BucketId,
    /// Milliseconds since the epoch; the end is not in it.
    begin: i64,
    end: i64,
    documents: u64,
}

impl OpenBuckets {
    /// The next record id of a source for a document of this time, if its open bucket takes it.
    pub(crate) fn next(&self, source: &[u8], millis: i64) -> Option<u64> {
        let mut open = self.lock();
        let own = open.get_mut(source)?;
        if millis < own.begin || millis >= own.end || own.documents >= MOST_DOCUMENTS {
            return None;
        }
        let record = own.id.first_record() + own.documents;
        own.documents += 1;
        Some(record)
    }

    /// Opens a bucket of a source, in place of the one it has; gives its first record id.
    pub(crate) fn open(&self, source: Vec<u8>, id: BucketId, (begin, end): (i64, i64)) -> u64 {
        let mut open = self.lock();
        if open.len() >= MOST_OPEN {
            open.clear();
        }
        let bucket = Open {
            id,
            begin,
            end,
            documents: 1,
        };
        open.insert(source, bucket);
        id.first_record()
    }

    /// Closes the bucket that a changed or removed record is in.
    pub(crate) fn close(&self, record: u64) {
        let id = BucketId::of(record);
        self.lock().retain(|_, open| open.id != id);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Vec<u8>, Open>> {
        self.by_source.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_id_says_its_bucket_and_when_that_begins() {
        let first = BucketId::first_at(1_700_000_040);
        let bucket = first.next().unwrap();
        let record = bucket.first_record() + 999;
        assert_eq!(BucketId::of(record), bucket);
        assert_eq!(bucket.begin(), 1_700_000_040);
        assert!(record < bucket.next().unwrap().first_record());
        assert!(bucket.last_record_then() >= bucket.first_record() + 1023);
        assert_eq!(
            bucket.last_record_then() + 1,
            BucketId::first_at(1_700_000_041).first_record()
        );
        assert_eq!(BucketId::of(u64::MAX).next(), None);
    }

    #[test]
    fn a_bucket_takes_what_is_in_its_time_until_it_is_full() {
        let open = OpenBuckets::default();
        let id = BucketId::first_at(60);
        assert_eq!(open.next(b"a", 60_000), None);
        assert_eq!(
            open.open(b"a".to_vec(), id, (60_000, 3_660_000)),
            id.first_record()
        );
        assert_eq!(open.next(b"a", 60_000), Some(id.first_record() + 1));
        assert_eq!(open.next(b"a", 3_659_999), Some(id.first_record() + 2));
        assert_eq!(open.next(b"a", 3_660_000), None);
        assert_eq!(open.next(b"a", 59_999), None);
        assert_eq!(open.next(b"b", 60_000), None);
        for place in 3..MOST_DOCUMENTS {
            assert_eq!(open.next(b"a", 60_000), Some(id.first_record() + place));
        }
        assert_eq!(open.next(b"a", 60_000), None);
        open.close(id.first_record() + 5);
        assert!(open.lock().is_empty());
    }
}
