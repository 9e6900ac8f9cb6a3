//! The bytes of the log file, and of the entry in the database file that says where it stands.
//!
//! Format 2. The file:
//!
//! | bytes | what |
//! |---|---|
//! | 0..512, 4096..4608 | two slots of the header; the valid one of the higher generation, then length, counts |
//! | 8192.. | the records of one generation, one after the other, each at a multiple of 8; after the last one zeros, or what is left of older generations |
//!
//! A slot: magic, format (u32 LE), 4 zeros, the database's id (16 bytes), generation, length (u64 LE each), zeros,
//! XXH3-64 of all that (u64 LE). The length is that of the file, which was synced before.
//!
//! A record: magic (4 bytes), bytes of the body (u32 LE), generation, sequence, the last sequence that was on disk
//! when it was written, XXH3-64 of the body, XXH3-64 of all that and the database's id (u64 LE each), the body.
//!
//! The body is changes in order, each a kind (1 byte: 1 put, 2 remove, 3 clear), the bytes of tree and key (u32 LE),
//! tree and key (as in redb's trees), and for a put the bytes of the value (u32 LE) and the value.
//!
//! The mark is the only entry of redb's table `log`: the database's id, generation, sequence (u64 LE each), whether
//! the log may hold later commits (1 byte), XXH3-64 of all that.

use xxhash_rust::xxh3::xxh3_64;

use super::{PREAMBLE_BYTES, SLOT_BYTES, VERSION};
use crate::native::storage::TreeId;
use crate::native::storage::pending::split;

/// What tells one database from others; in both files.
pub(crate) type DatabaseId = [u8; 16];

/// Where the records begin.
pub(crate) const RECORDS_AT: u64 = PREAMBLE_BYTES;

/// The key of the mark in its table.
pub(crate) const MARK_KEY: &[u8] = b"mark";

const MAGIC: &[u8; 8] = b"odm\x1a\r\n\xffl";
const SLOT_SUM: usize = SLOT_BYTES - 8;
const RECORD_MAGIC: &[u8; 4] = b"\xffrec";
const PUT: u8 = 1;
const REMOVE: u8 = 2;
const CLEAR: u8 = 3;

/// The bytes before a record's body.
pub(crate) const RECORD_HEAD_BYTES: usize = 48;

/// Records begin at multiples of this.
pub(crate) const RECORD_ALIGNMENT: usize = 8;

/// What the database file knows of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) id: DatabaseId,
    /// Of the records that are later than the database file.
    pub(crate) generation: u64,
    /// The last commit that is in the database file.
    pub(crate) sequence: u64,
    /// Whether there may be such records.
    pub(crate) used: bool,
}

const MARK_BYTES: usize = 16 + 8 + 8 + 1;

impl Mark {
    /// The bytes of a mark.
    pub(crate) fn seal(&self) -> Vec<u8> {
        let mut bytes = self.id.to_vec();
        bytes.extend_from_slice(&self.generation.to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.push(u8::from(self.used));
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The mark out of what was stored; none when the bytes are not a mark's.
    pub(crate) fn unseal(stored: &[u8]) -> Option<Mark> {
        let (bytes, sum) = stored.split_at_checked(MARK_BYTES)?;
        let (id, rest) = bytes.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (sequence, used) = rest.split_first_chunk()?;
        if xxh3_64(bytes).to_le_bytes() != *sum || used[0] > 1 {
            return None;
        }
        Some(Mark {
            id: *id,
            generation: u64::from_le_bytes(*generation),
            sequence: u64::from_le_bytes(*sequence),
            used: used[0] == 1,
        })
    }
}

/// The log file's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogHeader {
    pub(crate) id: DatabaseId,
    /// Of the records that are there, or of those that are about to be.
    pub(crate) generation: u64,
    /// The bytes that the file has at least.
    pub(crate) length: u64,
}

/// What a slot of the log's header holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogSlot {
    Header(LogHeader),
    Blank,
    Damaged,
    /// A format that this version does not know.
    Newer(u32),
}

impl LogHeader {
    /// The bytes of a slot.
    pub(crate) fn encode(&self) -> [u8; SLOT_BYTES] {
        let mut bytes = [0; SLOT_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.id);
        bytes[32..40].copy_from_slice(&self.generation.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.length.to_le_bytes());
        let sum = xxh3_64(&bytes[..SLOT_SUM]);
        bytes[SLOT_SUM..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// What a slot's bytes say.
    pub(crate) fn decode(bytes: &[u8; SLOT_BYTES]) -> LogSlot {
        if bytes.iter().all(|byte| *byte == 0) {
            return LogSlot::Blank;
        }
        let version = u32::from_le_bytes([bytes[8], bytes[9], bytes[10], bytes[11]]);
        if bytes.starts_with(MAGIC) && version > VERSION {
            // What is valid in a later format cannot be known here.
            return LogSlot::Newer(version);
        }
        if xxh3_64(&bytes[..SLOT_SUM]).to_le_bytes() != bytes[SLOT_SUM..] || !bytes.starts_with(MAGIC) {
            return LogSlot::Damaged;
        }
        let mut id = [0; 16];
        id.copy_from_slice(&bytes[16..32]);
        LogSlot::Header(LogHeader {
            id,
            generation: number(bytes, 32),
            length: number(bytes, 40),
        })
    }
}

/// Eight bytes of a longer string.
fn number(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

/// What a record says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordHead {
    pub(crate) generation: u64,
    pub(crate) sequence: u64,
    /// The last sequence that was known to be on disk when this one was written.
    pub(crate) synced: u64,
}

/// A head as it was found, with what it says of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundHead {
    pub(crate) head: RecordHead,
    length: usize,
    sum: u64,
}

impl FoundHead {
    /// The head at the start of `bytes`; none when there is no intact one of this database.
    pub(crate) fn read(bytes: &[u8], id: &DatabaseId) -> Option<FoundHead> {
        let bytes = bytes.get(..RECORD_HEAD_BYTES)?;
        if !bytes.starts_with(RECORD_MAGIC) || number(bytes, 40) != head_sum(&bytes[..40], id) {
            return None;
        }
        Some(FoundHead {
            head: RecordHead {
                generation: number(bytes, 8),
                sequence: number(bytes, 16),
                synced: number(bytes, 24),
            },
            length: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize,
            sum: number(bytes, 32),
        })
    }

    /// The body after the head at the start of `bytes`; none when it is not the one that was written.
    pub(crate) fn body<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let body = bytes.get(RECORD_HEAD_BYTES..)?.get(..self.length)?;
        (xxh3_64(body) == self.sum).then_some(body)
    }

    /// The bytes from this record's start to the next one's.
    pub(crate) fn stride(&self) -> usize {
        (RECORD_HEAD_BYTES + self.length).next_multiple_of(RECORD_ALIGNMENT)
    }
}

/// Of the 40 bytes before it.
fn head_sum(head: &[u8], id: &DatabaseId) -> u64 {
    let mut bytes = [0; 40 + 16];
    bytes[..40].copy_from_slice(head);
    bytes[40..].copy_from_slice(id);
    xxh3_64(&bytes)
}

/// A record in the making.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    bytes: Vec<u8>,
}

impl Default for Record {
    fn default() -> Record {
        Record {
            bytes: vec![0; RECORD_HEAD_BYTES],
        }
    }
}

impl Record {
    /// Forgets the changes.
    pub(crate) fn reset(&mut self) {
        self.bytes.truncate(RECORD_HEAD_BYTES);
    }

    /// The bytes that the record takes up to the next one.
    pub(crate) fn stride(&self) -> usize {
        self.bytes.len().next_multiple_of(RECORD_ALIGNMENT)
    }

    /// Adds a change; `composite` is tree and key. No value: the key is removed.
    pub(crate) fn write(&mut self, composite: &[u8], value: Option<&[u8]>) {
        self.bytes.push(if value.is_some() { PUT } else { REMOVE });
        self.push_sized(composite);
        if let Some(value) = value {
            self.push_sized(value);
        }
    }

    /// Adds the removal of all keys of a tree.
    pub(crate) fn clear(&mut self, tree: TreeId) {
        self.bytes.push(CLEAR);
        self.push_sized(&tree.0.to_be_bytes());
    }

    /// No key and no value is as long as 4 GiB.
    fn push_sized(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    /// The record's bytes, then zeros up to a length of at least `room`.
    pub(crate) fn seal(&mut self, head: RecordHead, id: &DatabaseId, room: usize) -> &[u8] {
        let length = self.bytes.len() - RECORD_HEAD_BYTES;
        let sum = xxh3_64(&self.bytes[RECORD_HEAD_BYTES..]);
        self.bytes[..4].copy_from_slice(RECORD_MAGIC);
        self.bytes[4..8].copy_from_slice(&(length as u32).to_le_bytes());
        self.bytes[8..16].copy_from_slice(&head.generation.to_le_bytes());
        self.bytes[16..24].copy_from_slice(&head.sequence.to_le_bytes());
        self.bytes[24..32].copy_from_slice(&head.synced.to_le_bytes());
        self.bytes[32..40].copy_from_slice(&sum.to_le_bytes());
        let sum = head_sum(&self.bytes[..40], id);
        self.bytes[40..48].copy_from_slice(&sum.to_le_bytes());
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        &self.bytes
    }
}

/// A change in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    Put(TreeId, &'a [u8], &'a [u8]),
    Remove(TreeId, &'a [u8]),
    Clear(TreeId),
}

/// The changes of a record's body; none when it is not well-formed.
pub(crate) fn changes(mut body: &[u8]) -> Option<Vec<Change<'_>>> {
    fn sized<'a>(body: &mut &'a [u8]) -> Option<&'a [u8]> {
        let (length, rest) = body.split_first_chunk()?;
        let (bytes, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        *body = rest;
        Some(bytes)
    }
    let mut changes = Vec::new();
    while let Some((kind, rest)) = body.split_first() {
        body = rest;
        let composite = sized(&mut body).filter(|composite| composite.len() >= 4)?;
        let (tree, key) = split(composite);
        changes.push(match *kind {
            PUT => Change::Put(tree, key, sized(&mut body)?),
            REMOVE => Change::Remove(tree, key),
            CLEAR if key.is_empty() => Change::Clear(tree),
            _ => return None,
        });
    }
    Some(changes)
}

/// The records of a generation, as far as they go.
#[derive(Debug)]
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    id: DatabaseId,
    generation: u64,
    at: usize,
    /// The sequence of the next one.
    next: u64,
}

/// Why records end where they must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// This record was on disk and is not there any more.
    Lost(u64),
    /// This one is there, and is not well-formed.
    Malformed(u64),
    /// There are records of a later generation.
    Later,
}

impl<'a> Records<'a> {
    /// The records after the one of the mark's sequence; `bytes` are the file's from [`RECORDS_AT`] on.
    pub(crate) fn after(mark: &Mark, bytes: &'a [u8]) -> Records<'a> {
        Records {
            bytes,
            id: mark.id,
            generation: mark.generation,
            at: 0,
            next: mark.sequence + 1,
        }
    }

    /// The sequence of the last record that was given, or that of the mark.
    pub(crate) fn last(&self) -> u64 {
        self.next - 1
    }

    /// The next record's changes; none after the last one.
    ///
    /// # Errors
    /// What comes after the last one proves that there were more.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<Change<'a>>>, Broken> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if let Some(found) = FoundHead::read(rest, &self.id)
            && (found.head.generation, found.head.sequence) == (self.generation, self.next)
            && let Some(body) = found.body(rest)
        {
            let changes = changes(body).ok_or(Broken::Malformed(self.next))?;
            self.at += found.stride();
            self.next += 1;
            return Ok(Some(changes));
        }
        self.look_ahead()
    }

    /// Looks for what cannot be there if this is the end. A head is enough: whoever wrote it knew.
    fn look_ahead(&self) -> Result<Option<Vec<Change<'a>>>, Broken> {
        for at in (self.at..self.bytes.len()).step_by(RECORD_ALIGNMENT) {
            let Some(found) = FoundHead::read(&self.bytes[at..], &self.id) else {
                continue;
            };
            if found.head.generation > self.generation {
                return Err(Broken::Later);
            }
            if found.head.generation == self.generation && found.head.synced >= self.next {
                return Err(Broken::Lost(self.next));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::storage::format::hex;

    const ID: DatabaseId = [7; 16];

    fn record(generation: u64, sequence: u64, synced: u64, size: usize) -> Vec<u8> {
        let mut record = Record::default();
        record.write(b"\0\0\0\x05key", Some(&vec![sequence as u8; size]));
        record.write(b"\0\0\0\x05gone", None);
        record.clear(TreeId(9));
        let head = RecordHead {
            generation,
            sequence,
            synced,
        };
        let stride = record.stride();
        record.seal(head, &ID, stride).to_vec()
    }

    fn mark(generation: u64, sequence: u64) -> Mark {
        Mark {
            id: ID,
            generation,
            sequence,
            used: true,
        }
    }

    /// How many records there are, and how they end.
    fn count(mark: &Mark, bytes: &[u8]) -> (u64, Result<(), Broken>) {
        let mut records = Records::after(mark, bytes);
        loop {
            match records.next() {
                Ok(Some(_)) => {}
                Ok(None) => return (records.last() - mark.sequence, Ok(())),
                Err(broken) => return (records.last() - mark.sequence, Err(broken)),
            }
        }
    }

    #[test]
    fn logged_bytes_are_golden() {
        let bytes = record(3, 8, 7, 2);
        assert_eq!(
            hex(&bytes[..32]),
            "ff72656328000000030000000000000008000000000000000700000000000000"
        );
        assert_eq!(
            hex(&bytes[48..]),
            [
                "0107000000000000056b6579020000000808",
                "020800000000000005676f6e65",
                "030400000000000009"
            ]
            .concat()
        );
        let head = FoundHead::read(&bytes, &ID).unwrap();
        assert_eq!(head.stride(), bytes.len());
        assert_eq!(
            changes(head.body(&bytes).unwrap()).unwrap(),
            [
                Change::Put(TreeId(5), b"key", &[8, 8]),
                Change::Remove(TreeId(5), b"gone"),
                Change::Clear(TreeId(9)),
            ]
        );
        assert_eq!(FoundHead::read(&bytes, &[8; 16]), None);
        assert_eq!(changes(&[9, 4, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(changes(&[1, 4, 0, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(changes(&[2, 3, 0, 0, 0, 0, 0, 0]), None);
    }

    /// Tree, key, value, whether the tree is cleared instead.
    type Written = (u32, Vec<u8>, Option<Vec<u8>>, bool);

    /// Any changes come out of any record as they went in, and nothing out of a body that is cut.
    #[test]
    fn changes_come_out_as_they_went_in() {
        let mut seed = 12_345u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % limit
        };
        for sequence in 1..300 {
            let written: Vec<Written> = (0..below(9))
                .map(|_| {
                    let key = (0..below(150)).map(|_| below(256) as u8).collect();
                    let value = (below(3) > 0).then(|| vec![below(256) as u8; below(5000) as usize]);
                    (below(1 << 32) as u32, key, value, below(6) == 0)
                })
                .collect();
            let mut record = Record::default();
            for (tree, key, value, clear) in &written {
                match clear {
                    true => record.clear(TreeId(*tree)),
                    false => record.write(&[&tree.to_be_bytes()[..], key].concat(), value.as_deref()),
                }
            }
            let head = RecordHead {
                generation: below(1 << 30),
                sequence,
                synced: sequence - 1,
            };
            let stride = record.stride();
            let bytes = record.seal(head, &ID, stride + below(3) as usize * 64).to_vec();
            let found = FoundHead::read(&bytes, &ID).unwrap();
            assert_eq!((found.head, found.stride()), (head, stride));
            let body = found.body(&bytes).unwrap();
            let expected: Vec<Change<'_>> = written
                .iter()
                .map(|(tree, key, value, clear)| match (clear, value) {
                    (true, _) => Change::Clear(TreeId(*tree)),
                    (false, Some(value)) => Change::Put(TreeId(*tree), key, value),
                    (false, None) => Change::Remove(TreeId(*tree), key),
                })
                .collect();
            assert_eq!(changes(body).unwrap(), expected);
            for _ in 0..20 {
                // Whatever it gives, it does not panic.
                let cut = below(body.len() as u64 + 1) as usize;
                assert!(changes(&body[..cut]).is_none_or(|found| expected.starts_with(&found)));
            }
        }
    }

    #[test]
    fn headers_and_marks_are_golden() {
        let header = LogHeader {
            id: ID,
            generation: 2,
            length: 0x4_0000,
        };
        let slot = header.encode();
        assert_eq!(
            hex(&slot[..48]),
            "6f646d1a0d0aff6c0300000000000000".to_owned()
                + &"07".repeat(16)
                + "02000000000000000000040000000000"
        );
        assert_eq!(LogHeader::decode(&slot), LogSlot::Header(header));
        for bit in 0..SLOT_BYTES * 8 {
            let mut flipped = slot;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(
                !matches!(LogHeader::decode(&flipped), LogSlot::Header(_)),
                "bit {bit}"
            );
        }
        assert_eq!(LogHeader::decode(&[0; SLOT_BYTES]), LogSlot::Blank);

        let stored = mark(4, 5).seal();
        assert_eq!(
            hex(&stored[..MARK_BYTES]),
            "07".repeat(16) + "0400000000000000050000000000000001"
        );
        assert_eq!(Mark::unseal(&stored), Some(mark(4, 5)));
        for bit in 0..stored.len() * 8 {
            let mut flipped = stored.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Mark::unseal(&flipped), None, "bit {bit}");
        }
        assert_eq!(Mark::unseal(&stored[1..]), None);
    }

    /// Every flipped bit of three synced records is found out, but in the last one, which could be torn.
    #[test]
    fn a_damaged_record_is_the_end_only_if_it_may_be_torn() {
        let parts: Vec<Vec<u8>> = (1..=3)
            .map(|n| record(6, 10 + n, 9 + n, 20 * n as usize))
            .collect();
        let mut bytes = parts.concat();
        bytes.extend(record(5, 90, 89, 300));
        let mark = mark(6, 10);
        assert_eq!(count(&mark, &bytes), (3, Ok(())));
        let mut start = 0;
        for (at, part) in parts.iter().enumerate() {
            let used = FoundHead::read(part, &ID).unwrap().length + RECORD_HEAD_BYTES;
            for bit in start * 8..(start + used) * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let broken = match at {
                    2 => Ok(()),
                    _ => Err(Broken::Lost(11 + at as u64)),
                };
                assert_eq!(count(&mark, &flipped), (at as u64, broken), "bit {bit}");
            }
            start += part.len();
        }
    }

    #[test]
    fn records_of_other_generations_are_never_given() {
        let bytes = [
            record(6, 11, 10, 30),
            record(6, 12, 10, 30),
            record(6, 13, 10, 30),
        ]
        .concat();
        assert_eq!(count(&mark(7, 13), &bytes), (0, Ok(())));
        assert_eq!(count(&mark(5, 2), &bytes), (0, Err(Broken::Later)));
        // None was synced: the second may be torn though the third is whole.
        let mut torn = bytes.clone();
        torn[bytes.len() / 2] ^= 1;
        assert_eq!(count(&mark(6, 10), &torn), (1, Ok(())));
        // A record of this generation behind an older one is not reached.
        let stale = [record(6, 11, 10, 30), record(5, 12, 11, 30)].concat();
        assert_eq!(count(&mark(6, 10), &stale), (1, Ok(())));
        // Cut anywhere: those that are whole are there.
        let padding = 4;
        for length in 0..bytes.len() {
            let whole = (length + padding) / (bytes.len() / 3);
            assert_eq!(count(&mark(6, 10), &bytes[..length]), (whole as u64, Ok(())));
        }
    }
}
