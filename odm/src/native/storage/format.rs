//! The bytes of the file, of stored records and of index entries: the only place that knows them.
//!
//! Format 3: format 2 with the types of values in index entries. Format 2: format 1 and a log beside it, which [`log`]
//! describes. The database file:
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
//! | index entry | key, then record id (u64 BE) | the low 4 bytes of the checksum of what follows, LE, then of which types the key's values are (as `key/types` writes them), or nothing |
//! | change | seconds, increment, position within both (u32 BE each) | bytes of the log before it (u64 LE), wall clock (i64 LE, ms), transaction (16 bytes, or zeros), the change, then their checksum |
//! | head of the log of changes | one byte 0 | the log's id (8 bytes), the key of the last change that was removed, the key of the last one known, then their checksum |
//!
//! checksum = rotate-left-32(XXH3-64(tree as u32 BE, key)) xor XXH3-64(bytes).
//!
//! The checksum covers tree and key, so that a record which turns up in another place is found out too: where it is read
//! alone or to be written, and by a check. Other scans of collections leave that to the checksums of the pages.

pub(crate) mod log;

use xxhash_rust::xxh3::xxh3_64;

use super::TreeId;
use super::pending::with_composite;
use crate::native::fault::{Class, Fault, Result, code};

/// The version of everything the engine writes into its store.
pub(crate) const VERSION: u32 = 3;

/// The oldest version whose files open; the first write makes them files of this one.
const OLDEST_VERSION: u32 = 1;

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
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack, when a file is opened"
)]
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

    /// Whether the file was closed. The last commit of such a file has two phases.
    pub(super) fn is_closed(&self) -> bool {
        self.flags() & (REDB_RECOVERY_REQUIRED | REDB_TWO_PHASE_COMMIT) == REDB_TWO_PHASE_COMMIT
    }

    /// Whether pages of the last commit may be missing: they were not on disk yet when the header was written.
    pub(super) fn may_lack_pages(&self) -> bool {
        self.flags() & REDB_TWO_PHASE_COMMIT == 0
    }

    fn flags(&self) -> u8 {
        self.content[REDB_MAGIC.len()]
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
        // What is valid in a later format cannot be known here.
        (true, version, _) if version > VERSION => Slot::Newer(version),
        (true, OLDEST_VERSION..=VERSION, true) => Slot::Header(header),
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

/// The bytes of an index entry's check.
const CHECK_BYTES: usize = 4;

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
    match stored.split_last_chunk() {
        Some((document, sum)) if *sum == checksum(tree, key, document).to_le_bytes() => Ok(document),
        _ => Err(damaged_record(
            "checksum of a stored record does not match",
            tree,
            key,
        )),
    }
}

/// The same for scans, which do not compare the checksum: the pages that the records lie in were compared with theirs when
/// they were read from the file, and a record's own takes a fifth of what a scan does for it.
///
/// # Errors
/// Class `Corrupt` when the bytes have not the length and the end of a document.
#[inline]
pub(crate) fn without_checksum<'a>(tree: TreeId, key: &[u8], stored: &'a [u8]) -> Result<&'a [u8]> {
    match stored.split_last_chunk::<CHECKSUM_BYTES>() {
        Some((document @ [a, b, c, d, .., 0], _))
            if u32::from_le_bytes([*a, *b, *c, *d]) as usize == document.len() =>
        {
            Ok(document)
        }
        _ => Err(damaged_record("a stored record is no document", tree, key)),
    }
}

#[cold]
fn damaged_record(what: &str, tree: TreeId, key: &[u8]) -> Fault {
    damaged(format!("{what} (tree {}, key {})", tree.0, hex(key)))
}

/// Calls `body` with the value to store with an index entry: what the key does not say of its values behind a check of both.
/// It need not be allocated unless it is long.
pub(crate) fn with_sealed_entry<T>(
    tree: TreeId,
    key: &[u8],
    types: &[u8],
    body: impl FnOnce(&[u8]) -> T,
) -> T {
    const INLINE: usize = 48;
    let length = CHECK_BYTES + types.len();
    if length > INLINE {
        return body(&seal_entry(tree, key, types));
    }
    let mut stored = [0; INLINE];
    stored[..CHECK_BYTES].copy_from_slice(&checksum(tree, key, types).to_le_bytes()[..CHECK_BYTES]);
    stored[CHECK_BYTES..length].copy_from_slice(types);
    body(&stored[..length])
}

/// The same value, allocated.
pub(crate) fn seal_entry(tree: TreeId, key: &[u8], types: &[u8]) -> Vec<u8> {
    let check = &checksum(tree, key, types).to_le_bytes()[..CHECK_BYTES];
    [check, types].concat()
}

/// What an index entry's key does not say of its values: nothing where that was not kept, as before version 3.
///
/// # Errors
/// Class `Corrupt` when key and value do not belong together.
pub(crate) fn unseal_entry<'a>(tree: TreeId, key: &[u8], stored: &'a [u8]) -> Result<&'a [u8]> {
    if let Some((check, types)) = stored.split_at_checked(CHECK_BYTES)
        && check == &checksum(tree, key, types).to_le_bytes()[..CHECK_BYTES]
    {
        return Ok(types);
    }
    Err(damaged(format!(
        "check value of an index entry does not match (tree {}, key {})",
        tree.0,
        hex(key)
    )))
}

/// Where a change stands in the log: commit time, then position within the commit time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChangeKey {
    /// Seconds since the epoch.
    pub(crate) seconds: u32,
    /// Which commit of the second, from 1.
    pub(crate) increment: u32,
    /// Which change of the transaction.
    pub(crate) position: u32,
}

impl ChangeKey {
    pub(crate) const BYTES: usize = 12;

    pub(crate) fn to_bytes(self) -> [u8; ChangeKey::BYTES] {
        let mut bytes = [0; ChangeKey::BYTES];
        bytes[..4].copy_from_slice(&self.seconds.to_be_bytes());
        bytes[4..8].copy_from_slice(&self.increment.to_be_bytes());
        bytes[8..].copy_from_slice(&self.position.to_be_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<ChangeKey> {
        let bytes: &[u8; ChangeKey::BYTES] = bytes.try_into().ok()?;
        let number = |at: usize| {
            bytes
                .get(at..at + 4)
                .and_then(|four| four.try_into().ok())
                .map(u32::from_be_bytes)
        };
        Some(ChangeKey {
            seconds: number(0)?,
            increment: number(4)?,
            position: number(8)?,
        })
    }
}

/// A change as it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredChange<'a> {
    /// How many bytes were logged before it, since the log began.
    pub(crate) before: u64,
    /// Milliseconds since the epoch.
    pub(crate) wall: i64,
    /// The transaction's id; zeros outside of one.
    pub(crate) transaction: [u8; 16],
    pub(crate) body: &'a [u8],
}

const CHANGE_HEAD: usize = 8 + 8 + 16;

/// The bytes of a change.
pub(crate) fn seal_change(key: ChangeKey, change: StoredChange<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(CHANGE_HEAD + change.body.len() + CHECKSUM_BYTES);
    bytes.extend_from_slice(&change.before.to_le_bytes());
    bytes.extend_from_slice(&change.wall.to_le_bytes());
    bytes.extend_from_slice(&change.transaction);
    bytes.extend_from_slice(change.body);
    let sum = checksum(TreeId::CHANGES, &key.to_bytes(), &bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// The change out of what was stored under `key`.
///
/// # Errors
/// Class `Corrupt` when the bytes are not those that were stored there.
pub(crate) fn unseal_change<'a>(key: &[u8], stored: &'a [u8]) -> Result<(ChangeKey, StoredChange<'a>)> {
    let bytes = unseal(TreeId::CHANGES, key, stored)?;
    let parts = || {
        let (before, rest) = bytes.split_first_chunk()?;
        let (wall, rest) = rest.split_first_chunk()?;
        let (transaction, body) = rest.split_first_chunk()?;
        let change = StoredChange {
            before: u64::from_le_bytes(*before),
            wall: i64::from_le_bytes(*wall),
            transaction: *transaction,
            body,
        };
        Some((ChangeKey::from_bytes(key)?, change))
    };
    parts().ok_or_else(|| damaged("a stored change is too short".to_owned()))
}

/// The head of the log of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogHead {
    /// Tells the tokens of this log from those of others.
    pub(crate) id: [u8; 8],
    /// The last change that was removed, or where the log began.
    pub(crate) floor: ChangeKey,
    /// A change that was logged; later ones may have been since.
    pub(crate) last: ChangeKey,
}

impl LogHead {
    /// Before the key of every change, whose first byte is part of a date after 1970.
    pub(crate) const KEY: &[u8] = &[0];

    /// The bytes of a head.
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut bytes = self.id.to_vec();
        bytes.extend_from_slice(&self.floor.to_bytes());
        bytes.extend_from_slice(&self.last.to_bytes());
        seal(TreeId::CHANGES, LogHead::KEY, &bytes)
    }

    /// The head out of what was stored.
    ///
    /// # Errors
    /// Class `Corrupt` when the bytes are not a head's.
    pub(crate) fn unseal(stored: &[u8]) -> Result<LogHead> {
        let bytes = unseal(TreeId::CHANGES, LogHead::KEY, stored)?;
        let parts = || {
            let (id, rest) = bytes.split_first_chunk()?;
            let (floor, last) = rest.split_at_checked(ChangeKey::BYTES)?;
            Some(LogHead {
                id: *id,
                floor: ChangeKey::from_bytes(floor)?,
                last: ChangeKey::from_bytes(last)?,
            })
        };
        parts().ok_or_else(|| damaged("the head of the log of changes has another length".to_owned()))
    }
}

/// A fault for damaged bytes.
pub(crate) fn damaged(message: String) -> Fault {
    Fault::of(Class::Corrupt, code::INTERNAL, message)
}

/// Where and what are hashed apart: no copy of the document, and the whole key is covered.
#[inline]
fn checksum(tree: TreeId, key: &[u8], bytes: &[u8]) -> u64 {
    let place = match <[u8; 8]>::try_from(key) {
        // A record's, of which a scan has many: the number of its tree, then its own.
        Ok(record) => {
            let mut place = [0; 12];
            place[..4].copy_from_slice(&tree.0.to_be_bytes());
            place[4..].copy_from_slice(&record);
            xxh3_64(&place)
        }
        Err(_) => with_composite(tree, key, xxh3_64),
    };
    place.rotate_left(32) ^ xxh3_64(bytes)
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
        assert_eq!(hex(&seal_entry(TreeId(7), b"key", &[])), "ec1d8123");
        assert_eq!(
            hex(&seal(TreeId(7), b"key", &[1; 600])[600..]),
            "23a4ec8b64f94594"
        );
    }

    #[test]
    fn scans_take_what_has_the_form_of_a_document() {
        let (tree, key, document) = (TreeId(7), b"key", [5, 0, 0, 0, 0]);
        let sealed = seal(tree, key, &document);
        assert_eq!(without_checksum(tree, key, &sealed).unwrap(), document);
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(unseal(tree, key, &damaged).is_err(), "{at}");
            let is_taken = without_checksum(tree, key, &damaged).is_ok();
            assert_eq!(is_taken, at >= document.len(), "{at}");
        }
        for end in 0..sealed.len() {
            assert!(without_checksum(tree, key, &sealed[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn stored_changes_are_golden() {
        let key = ChangeKey {
            seconds: 0x6b01_57aa,
            increment: 3,
            position: 1,
        };
        let change = StoredChange {
            before: 7,
            wall: 0x0102_0304,
            transaction: [9; 16],
            body: &[5, 0, 0, 0, 0],
        };
        let stored = seal_change(key, change);
        let text = hex(&stored);
        let (head, rest) = text.split_at(2 * CHANGE_HEAD);
        assert_eq!(
            head,
            format!("{}{}{}", "0700000000000000", "0403020100000000", "09".repeat(16))
        );
        assert!(rest.starts_with("0500000000"));
        let (found, opened) = unseal_change(&key.to_bytes(), &stored).unwrap();
        assert_eq!((found, opened.body, opened.before), (key, change.body, 7));
        let head = LogHead {
            id: [1; 8],
            floor: ChangeKey::default(),
            last: key,
        };
        let stored = head.seal();
        assert_eq!(
            hex(&stored[..32]),
            "01010101010101010000000000000000000000006b0157aa0000000300000001"
        );
        assert_eq!(LogHead::unseal(&stored).unwrap(), head);
    }

    #[test]
    fn pages_and_headers_are_golden() {
        let mut stored = Vec::new();
        seal_page(5, &[3; PAGE_BYTES], &mut stored);
        assert_eq!(hex(&stored[PAGE_BYTES..]), "61bdeab00d286595");
        assert_eq!(open_page(5, &stored), Some(&[3; PAGE_BYTES][..]));
        assert_eq!(open_page(6, &stored), None);

        let header = Header::first(b"redb").after(b"more");
        let slot = encode_slot(&header);
        assert_eq!(
            hex(&slot[..28]),
            "6f646d1a0d0aff64030000000000000002000000000000006d6f7265"
        );
        assert_eq!(hex(&slot[SLOT_SUM..]), "a7d5629d1061a030");
        assert_eq!(decode_slot(&slot), Slot::Header(header));
        for bit in 0..SLOT_BYTES * 8 {
            let mut flipped = slot;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!matches!(decode_slot(&flipped), Slot::Header(_)), "bit {bit}");
        }
        assert_eq!(decode_slot(&[0; SLOT_BYTES]), Slot::Foreign);
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
