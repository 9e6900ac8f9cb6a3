//! The gate: every byte string from outside passes an iterative shape check before anything reads it.

use super::doc::payload_length;
use super::value::Kind;

/// The largest document, in bytes: 16 MiB.
pub(crate) const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// The largest document that the server can even build: a margin of 16 KiB over what it stores.
pub(crate) const BUILDABLE_BYTES: usize = MAX_DOCUMENT_BYTES + 16 * 1024;

/// How deep the documents and arrays of a stored document may nest, the outermost counted. What mongod 6.0.5 accepts;
/// its manual says 100.
pub(crate) const MAX_DEPTH: usize = 180;

/// The same of what is sent: a whole command, with all that it holds.
pub(crate) const MAX_SENT_DEPTH: usize = 201;

/// The same of records: what was sent, with what is around it.
const MAX_RECORD_DEPTH: usize = 255;

/// Why bytes are not a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A length that does not fit its place, a missing terminator, an unknown type, bad UTF-8, ...
    Shape(&'static str),
    /// Nested deeper than is allowed.
    TooDeep,
}

/// Checks that the bytes of a record are exactly one well-formed document.
pub(crate) fn validate(bytes: &[u8]) -> Result<(), Malformed> {
    validate_within(bytes, MAX_RECORD_DEPTH)
}

/// Checks that `bytes` are exactly one well-formed document, nested at most so deep. Iterative: hostile nesting cannot
/// exhaust the stack.
pub(crate) fn validate_within(bytes: &[u8], most: usize) -> Result<(), Malformed> {
    // The ends of the open frames; the innermost last. `scope` frames of code end inside their code frame.
    let mut ends: Vec<usize> = Vec::with_capacity(4);
    let mut at = open_frame(bytes, 0, bytes.len())?;
    if at.1 != bytes.len() {
        return Err(Malformed::Shape("document length differs from its bytes"));
    }
    ends.push(at.1);
    let mut position = at.0;
    while let Some(&end) = ends.last() {
        let byte = *bytes.get(position).ok_or(Malformed::Shape("truncated"))?;
        if byte == 0 {
            if position + 1 != end {
                return Err(Malformed::Shape("terminator before the end"));
            }
            position = end;
            ends.pop();
            continue;
        }
        let kind = Kind::from_byte(byte).ok_or(Malformed::Shape("unknown type"))?;
        let name = cstring(bytes, position + 1, end)?;
        let payload = bytes.get(name..end - 1).ok_or(Malformed::Shape("truncated"))?;
        let length = payload_length(kind, payload).ok_or(Malformed::Shape("bad length"))?;
        if length > payload.len() {
            return Err(Malformed::Shape("value runs past its document"));
        }
        let payload = &payload[..length];
        match kind {
            Kind::Document | Kind::Array => {
                if ends.len() >= most {
                    return Err(Malformed::TooDeep);
                }
                at = open_frame(bytes, name, end - 1)?;
                ends.push(at.1);
                position = at.0;
                continue;
            }
            Kind::String | Kind::Code | Kind::Symbol => string(payload)?,
            Kind::Bool if payload[0] > 1 => return Err(Malformed::Shape("bool is neither 0 nor 1")),
            Kind::Regex if std::str::from_utf8(payload).is_err() => {
                return Err(Malformed::Shape("regex is not UTF-8"));
            }
            Kind::DbPointer => string(&payload[..length - 12])?,
            Kind::Binary if payload[4] == 2 => {
                let inner = payload
                    .get(5..9)
                    .ok_or(Malformed::Shape("binary without inner length"))?;
                if inner != (length as i32 - 9).to_le_bytes() {
                    return Err(Malformed::Shape("binary with a wrong inner length"));
                }
            }
            Kind::CodeWithScope => {
                // length, string, document: the scope is checked as a frame of its own.
                let code = payload.get(4..).ok_or(Malformed::Shape("code without text"))?;
                let text = payload_length(Kind::String, code).ok_or(Malformed::Shape("bad length"))?;
                string(
                    code.get(..text)
                        .ok_or(Malformed::Shape("code runs past its frame"))?,
                )?;
                if ends.len() >= most {
                    return Err(Malformed::TooDeep);
                }
                at = open_frame(bytes, name + 4 + text, name + length)?;
                if at.1 != name + length {
                    return Err(Malformed::Shape("scope does not end with its code"));
                }
                ends.push(at.1);
                position = at.0;
                continue;
            }
            _ => {}
        }
        position = name + length;
    }
    Ok(())
}

/// Reads a frame's length at `start`; gives the position after it and the frame's end, which is at most
/// `limit`.
fn open_frame(bytes: &[u8], start: usize, limit: usize) -> Result<(usize, usize), Malformed> {
    let prefix = bytes.get(start..start + 4).ok_or(Malformed::Shape("truncated"))?;
    let length = i32::from_le_bytes([prefix[0], prefix[1], prefix[2], prefix[3]]);
    let length = usize::try_from(length).map_err(|_| Malformed::Shape("negative length"))?;
    if length < 5 || start + length > limit {
        return Err(Malformed::Shape("bad length"));
    }
    Ok((start + 4, start + length))
}

/// The position after the zero byte that ends the name at `start`.
fn cstring(bytes: &[u8], start: usize, end: usize) -> Result<usize, Malformed> {
    let rest = bytes.get(start..end).ok_or(Malformed::Shape("truncated"))?;
    let mut seen = 0;
    let length = rest
        .iter()
        .position(|b| {
            seen |= *b;
            *b == 0
        })
        .ok_or(Malformed::Shape("name without end"))?;
    // Most names are ASCII, which need not be looked at again.
    if !seen.is_ascii() && std::str::from_utf8(&rest[..length]).is_err() {
        return Err(Malformed::Shape("name is not UTF-8"));
    }
    Ok(start + length + 1)
}

/// Checks a string payload: length, text, zero.
fn string(payload: &[u8]) -> Result<(), Malformed> {
    match payload.get(4..).and_then(<[u8]>::split_last) {
        Some((0, text)) if text.is_ascii() || std::str::from_utf8(text).is_ok() => Ok(()),
        Some((0, _)) => Err(Malformed::Shape("string is not UTF-8")),
        _ => Err(Malformed::Shape("string without terminator")),
    }
}
