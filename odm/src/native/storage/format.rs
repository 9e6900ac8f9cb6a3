//! The bytes of the file, of stored records and of index entries: the only place that knows them.
//!
//! Format 1. The file:
//!
//! | bytes | what |
//! |---|---|
//! | 0..512, 4096..4608 | two slots of the header; the valid one of the higher sequence counts |
//! | 8192.. | redb's pages 1, 2, ...: 4096 bytes each, then XXH3-64 of them xor page number * golden ratio (u64 LE) |
//!
//! A slot: magic, format (u32 LE), 4 zeros, sequence (u64 LE), the 320 bytes at the start of redb's page 0,
//! zeros, XXH3-64 of all that (u64 LE). All else in the first 8192 bytes is zero.
//!
//! In redb's trees:
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

/// The bytes of one of redb's pages.
pub(super) const PAGE_BYTES: usize = 4096;

/// The bytes of the checksum after a page.
pub(super) const PAGE_SUM_BYTES: usize = 8;

/// The bytes of redb's page 0 that it uses.
pub(super) const HEADER_BYTES: usize = 320;

/// The bytes before redb's page 1.
pub(super) const PREAMBLE_BYTES: u64 = 8192;

/// The bytes of a header slot: one sector, which a disk writes whole or not at all.
pub(super) const SLOT_BYTES: usize = 512;

/// Where the header slots are.
pub(super) const SLOT_OFFSETS: [u64; 2] = [0, 4096];

const MAGIC: &[u8; 8] = b"odm\x1a\r\n\xffd";
const SLOT_CONTENT: usize = 24;
const SLOT_SUM: usize = SLOT_BYTES - PAGE_SUM_BYTES;

/// redb's header: its magic number, then a byte of flags.
const REDB_MAGIC: &[u8; 9] = b"redb\x1a\n\xa9\r\n";
const REDB_RECOVERY_REQUIRED: u8 = 2;
const REDB_TWO_PHASE_COMMIT: u8 = 4;

/// The file's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Grows with every header.
    pub(super) sequence: u64,
    /// The start of redb's page 0.
    pub(super) content: [u8; HEADER_BYTES],
}

/// What a slot holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Header(Header),
    Damaged,
    /// A format that this version does not know.
    Newer(u32),
    Foreign,
}

impl Header {
    /// The first header of a file.
    pub(super) fn first(content: &[u8]) -> Header {
        let header = Header {
            sequence: 0,
            content: [0; HEADER_BYTES],
        };
        header.after(content)
    }

    /// The header that comes after this one; `content` is no longer than there is room for.
    pub(super) fn after(&self, content: &[u8]) -> Header {
        let mut after = self.clone();
        after.sequence += 1;
        after.content[..content.len()].copy_from_slice(content);
        after
    }

    /// Whether redb has finished creating the file.
    pub(super) fn is_initialized(&self) -> bool {
        self.content.starts_with(REDB_MAGIC)
    }

    /// Whether pages of the last commit may be missing: the file is in use, was so when its process ended,
    /// or its recovery did not get to its end. A closed file's last commit has two phases.
    pub(super) fn needs_recovery(&self) -> bool {
        let flags = self.content[REDB_MAGIC.len()];
        flags & (REDB_RECOVERY_REQUIRED | REDB_TWO_PHASE_COMMIT) != REDB_TWO_PHASE_COMMIT
    }
}

/// The bytes of a header slot.
pub(super) fn encode_slot(header: &Header) -> [u8; SLOT_BYTES] {
    let mut bytes = [0; SLOT_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    bytes[16..SLOT_CONTENT].copy_from_slice(&header.sequence.to_le_bytes());
    bytes[SLOT_CONTENT..SLOT_CONTENT + HEADER_BYTES].copy_from_slice(&header.content);
    let sum = xxh3_64(&bytes[..SLOT_SUM]);
    bytes[SLOT_SUM..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// What a header slot's bytes say.
pub(super) fn decode_slot(bytes: &[u8; SLOT_BYTES]) -> Slot {
    let mut header = Header {
        sequence: 0,
        content: [0; HEADER_BYTES],
    };
    header
        .content
        .copy_from_slice(&bytes[SLOT_CONTENT..SLOT_CONTENT + HEADER_BYTES]);
    let mut sequence = [0; 8];
    sequence.copy_from_slice(&bytes[16..SLOT_CONTENT]);
    header.sequence = u64::from_le_bytes(sequence);
    let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
    let intact = xxh3_64(&bytes[..SLOT_SUM]).to_le_bytes() == bytes[SLOT_SUM..];
    match (bytes.starts_with(MAGIC), version, intact) {
        (true, VERSION, true) => Slot::Header(header),
        // What is valid in a later format cannot be known here.
        (true, VERSION.., _) if version != VERSION => Slot::Newer(version),
        (true, ..) => Slot::Damaged,
        (false, ..) => Slot::Foreign,
    }
}

/// Appends a page as it is stored.
pub(super) fn seal_page(number: u64, page: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(page);
    out.extend_from_slice(&page_sum(number, page).to_le_bytes());
}

/// The page in what was stored; none when it is not the page that was stored under this number.
pub(super) fn open_page(number: u64, stored: &[u8]) -> Option<&[u8]> {
    let (page, sum) = stored.split_at_checked(PAGE_BYTES)?;
    (page_sum(number, page).to_le_bytes() == *sum).then_some(page)
}

fn page_sum(number: u64, page: &[u8]) -> u64 {
    xxh3_64(page) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

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
