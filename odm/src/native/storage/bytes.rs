//! Keys and values that wait for the file.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Bytes that do not change. Those that are short enough are kept where they are, without an allocation; clones of others
/// share them.
#[derive(Clone)]
pub(crate) enum Bytes<const SHORT: usize> {
    Short(u8, [u8; SHORT]),
    Long(Arc<[u8]>),
}

/// A composite key: most index entries' are short.
pub(crate) type Key = Bytes<38>;

/// A value: the check values of index entries are short, documents are not.
pub(crate) type Stored = Bytes<22>;

impl<const SHORT: usize> Bytes<SHORT> {
    /// The bytes of both, one after the other.
    #[inline]
    pub(crate) fn joined(one: &[u8], other: &[u8]) -> Bytes<SHORT> {
        let length = one.len() + other.len();
        if length > SHORT {
            return Bytes::Long([one, other].concat().into());
        }
        let mut bytes = [0; SHORT];
        bytes[..one.len()].copy_from_slice(one);
        bytes[one.len()..length].copy_from_slice(other);
        // No array is as long as 256 bytes here.
        Bytes::Short(length as u8, bytes)
    }
}

impl<const SHORT: usize> From<&[u8]> for Bytes<SHORT> {
    #[inline]
    fn from(bytes: &[u8]) -> Bytes<SHORT> {
        match bytes.len() > SHORT {
            true => Bytes::Long(bytes.into()),
            false => Bytes::joined(bytes, &[]),
        }
    }
}

impl<const SHORT: usize> Deref for Bytes<SHORT> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Short(length, bytes) => &bytes[..usize::from(*length)],
            Bytes::Long(bytes) => bytes,
        }
    }
}

impl<const SHORT: usize> Borrow<[u8]> for Bytes<SHORT> {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl<const SHORT: usize> PartialEq for Bytes<SHORT> {
    #[inline]
    fn eq(&self, other: &Bytes<SHORT>) -> bool {
        **self == **other
    }
}

impl<const SHORT: usize> Eq for Bytes<SHORT> {}

impl<const SHORT: usize> PartialOrd for Bytes<SHORT> {
    #[inline]
    fn partial_cmp(&self, other: &Bytes<SHORT>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const SHORT: usize> Ord for Bytes<SHORT> {
    #[inline]
    fn cmp(&self, other: &Bytes<SHORT>) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl<const SHORT: usize> fmt::Debug for Bytes<SHORT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_the_same_wherever_they_are_kept() {
        let all: Vec<u8> = (0..60).collect();
        let mut kept: Vec<Key> = Vec::new();
        for length in 0..=all.len() {
            let (one, other) = all[..length].split_at(length / 3);
            let bytes = Key::joined(one, other);
            assert_eq!(*bytes, all[..length]);
            assert_eq!(bytes, Key::from(&all[..length]));
            assert_eq!(matches!(bytes, Bytes::Long(_)), length > 38);
            kept.push(bytes.clone());
        }
        assert!(kept.is_sorted() && kept[20] < Key::from(&[9][..]));
        assert_eq!((size_of::<Key>(), size_of::<Option<Stored>>()), (40, 24));
    }
}
