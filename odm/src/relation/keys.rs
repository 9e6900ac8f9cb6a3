//! The keys that are asked for.

use bson::{RawArrayBuf, RawBson, RawBsonRef};

use super::identity::Identity;

/// How many keys go into one query.
pub(super) const KEYS: usize = 50_000;
/// About how many bytes of keys go into one query: half of what MongoDB takes in one message.
const BYTES: usize = 8 << 20;

/// Different keys in the order of their first use.
#[derive(Clone, Default)]
pub(crate) struct Keys {
    seen: std::collections::HashSet<Identity>,
    values: Vec<RawBson>,
    sizes: Vec<usize>,
}

impl Keys {
    pub(crate) fn add(&mut self, key: RawBsonRef<'_>) {
        let identity = Identity::of(key);
        // Type, index as the element's name, the value.
        let size = identity.len() + 12;
        if self.seen.insert(identity) {
            self.values.push(key.into());
            self.sizes.push(size);
        }
    }

    /// Adds what references to a document hold; null, by which nothing is referred to, is none.
    pub(super) fn add_reference(&mut self, key: RawBsonRef<'_>) {
        if !matches!(key, RawBsonRef::Null | RawBsonRef::Undefined) {
            self.add(key);
        }
    }

    /// About how many bytes they take in a query.
    pub(super) fn bytes(&self) -> usize {
        self.sizes.iter().sum()
    }

    /// Those that are not among the others.
    pub(super) fn without(self, others: &Keys) -> Keys {
        let mut left = Keys::default();
        for key in &self.values {
            if !others.seen.contains(&Identity::of(key.as_raw_bson_ref())) {
                left.add(key.as_raw_bson_ref());
            }
        }
        left
    }

    pub(super) fn extend(&mut self, others: Keys) {
        for key in &others.values {
            self.add(key.as_raw_bson_ref());
        }
    }

    pub(super) fn into_array(self) -> RawArrayBuf {
        self.values.into_iter().collect()
    }

    /// The keys as arrays, each small enough for one query.
    pub(crate) fn chunks(self) -> Vec<RawArrayBuf> {
        let mut chunks = Vec::new();
        let (mut chunk, mut count, mut bytes) = (RawArrayBuf::new(), 0, 0);
        for (value, size) in self.values.into_iter().zip(self.sizes) {
            if count == KEYS || (count > 0 && bytes + size > BYTES) {
                chunks.push(std::mem::take(&mut chunk));
                (count, bytes) = (0, 0);
            }
            chunk.push(value);
            count += 1;
            bytes += size;
        }
        if count > 0 {
            chunks.push(chunk);
        }
        chunks
    }
}
