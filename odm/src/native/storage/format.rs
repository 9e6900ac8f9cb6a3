//! The bytes of stored records and index entries: the only place that knows them.
//!
//! Format 1:
//!
//! | what | key | value |
//! |---|---|---|
//! | record (document, catalog entry) | as its tree has it | the bytes, then their checksum (u64 LE) |
//! | index entry | key, then record id (u64 BE) | the low 4 bytes of the checksum of no bytes, LE |
//!
//! checksum = rotate-left-32(XXH3-64(tree as u32 BE, key)) xor XXH3-64(bytes).
//!
//! The checksum covers tree and key, so that a record which turns up in another place is found out too.

use xxhash_rust::xxh3::xxh3_64;

use super::TreeId;
use super::pending::with_composite;
use crate::native::fault::{Class, Fault, Result, code};

/// The version of everything the engine writes into its store.
pub(crate) const VERSION: u32 = 1;

/// The bytes a record's checksum takes.
pub(crate) const CHECKSUM_BYTES: usize = 8;

/// The value of an index entry.
pub(crate) type EntryCheck = [u8; 4];

/// A document's bytes as they are stored under `key` of `tree`.
pub(crate) fn seal(tree: TreeId, key: &[u8], document: &[u8]) -> Vec<u8> {
    let mut stored = Vec::with_capacity(document.len() + CHECKSUM_BYTES);
    stored.extend_from_slice(document);
    stored.extend_from_slice(&checksum(tree, key, document).to_le_bytes());
    stored
}

/// The document's bytes out of what was stored.
///
/// # Errors
/// Class `Corrupt` when the bytes are not those that were stored under this key of this tree.
pub(crate) fn unseal<'a>(tree: TreeId, key: &[u8], stored: &'a [u8]) -> Result<&'a [u8]> {
    let split = stored.len().checked_sub(CHECKSUM_BYTES);
    if let Some((document, sum)) = split.and_then(|at| stored.split_at_checked(at))
        && sum == checksum(tree, key, document).to_le_bytes()
    {
        return Ok(document);
    }
    Err(damaged(format!(
        "checksum of a stored record does not match (tree {}, key {})",
        tree.0,
        hex(key)
    )))
}

/// The value to store with an index entry.
pub(crate) fn seal_entry(tree: TreeId, key: &[u8]) -> EntryCheck {
    let sum = checksum(tree, key, &[]).to_le_bytes();
    [sum[0], sum[1], sum[2], sum[3]]
}

/// Checks an index entry.
///
/// # Errors
/// Class `Corrupt` when key and value do not belong together.
pub(crate) fn check_entry(tree: TreeId, key: &[u8], stored: &[u8]) -> Result<()> {
    if stored == seal_entry(tree, key) {
        return Ok(());
    }
    Err(damaged(format!(
        "check value of an index entry does not match (tree {}, key {})",
        tree.0,
        hex(key)
    )))
}

/// A fault for damaged bytes.
pub(crate) fn damaged(message: String) -> Fault {
    Fault::of(Class::Corrupt, code::INTERNAL, message)
}

/// Where and what are hashed apart: no copy of the document, and the whole key is covered.
fn checksum(tree: TreeId, key: &[u8], bytes: &[u8]) -> u64 {
    with_composite(tree, key, xxh3_64).rotate_left(32) ^ xxh3_64(bytes)
}

/// The bytes in hexadecimal, for messages.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums were computed with the reference implementation.
    #[test]
    fn stored_bytes_are_golden() {
        let document = [5, 0, 0, 0, 0];
        assert_eq!(
            hex(&seal(TreeId(7), b"key", &document)),
            "050000000097f51f38641cd6d3"
        );
        assert_eq!(hex(&seal_entry(TreeId(7), b"key")), "ec1d8123");
        assert_eq!(
            hex(&seal(TreeId(7), b"key", &[1; 600])[600..]),
            "23a4ec8b64f94594"
        );
    }

    #[test]
    fn other_places_and_flipped_bits_are_found_out() {
        let stored = seal(TreeId(7), b"key", &[9; 40]);
        assert_eq!(unseal(TreeId(7), b"key", &stored).unwrap(), [9; 40]);
        assert!(unseal(TreeId(8), b"key", &stored).is_err());
        assert!(unseal(TreeId(7), b"kez", &stored).is_err());
        for bit in 0..stored.len() * 8 {
            let mut flipped = stored.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(
                unseal(TreeId(7), b"key", &flipped).unwrap_err().class(),
                Class::Corrupt
            );
        }
        assert!(unseal(TreeId(7), b"key", &[1, 2]).is_err());
    }
}
