//! Hashed fields. Only equality is visible, so the hash is this engine's own: not MongoDB's MD5.

use xxhash_rust::xxh3::xxh3_64;

use super::super::collation::Collation;
use super::super::document::Value;

/// The first byte of a hashed component; no other component starts with it.
const HASHED: u8 = 50;

/// Appends the component: the byte, then XXH3 of the value's ascending component. Values that are equal
/// (1 and 1.0) have equal components, so they have equal hashes.
pub(super) fn encode(value: &Value<'_>, collation: &Collation, out: &mut Vec<u8>) {
    out.push(HASHED);
    let start = out.len();
    collation.encode(value, false, out);
    let hash = xxh3_64(&out[start..]);
    out.truncate(start);
    out.extend_from_slice(&hash.to_be_bytes());
}
