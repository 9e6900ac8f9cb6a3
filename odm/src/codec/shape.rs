//! The nesting of BSON that comes from outside, measured without recursion.

use bson::{Bson, Document};

use crate::error::{Error, ErrorKind, Result};

/// How deep documents and arrays may be nested, the outermost counted: 200 levels below a command are what MongoDB takes.
/// A decoder's stack takes no more than a few beyond, where nothing is optimised.
pub(crate) const MAX_DEPTH: usize = 201;

/// The fewest bytes that one more level of nesting takes: type, empty name, length, terminator.
const LEVEL: usize = 7;

/// Checks that documents are nested at most [`MAX_DEPTH`] deep and that their lengths agree.
///
/// Documents that cannot be nested deeper are not walked: too short ones, and those with too few bytes that could
/// open a level. What else is wrong with them the decoder finds.
///
/// # Errors
/// `InvalidArgument` for too deep nesting, `Corrupt` for bytes that are no BSON.
pub(crate) fn check_depth(bytes: &[u8]) -> Result<()> {
    if bytes.len() <= MAX_DEPTH * LEVEL || openings(bytes) < MAX_DEPTH {
        return Ok(());
    }
    walk(bytes).ok_or_else(|| Error::new(ErrorKind::Corrupt, "malformed bson"))?
}

/// How many bytes are as the types of what opens a level: document, array, code with scope. No branch, so that it
/// becomes vector instructions.
fn openings(bytes: &[u8]) -> usize {
    bytes
        .chunks(usize::from(u8::MAX))
        .map(|chunk| {
            let count: u8 = chunk
                .iter()
                .map(|&byte| u8::from(byte == 0x03) | u8::from(byte == 0x04) | u8::from(byte == 0x0F))
                .sum();
            usize::from(count)
        })
        .sum()
}

/// `None` when the bytes are no BSON.
fn walk(bytes: &[u8]) -> Option<Result<()>> {
    let mut ends = vec![end(bytes, 0, bytes.len())?];
    let mut at = 4;
    while let Some(&limit) = ends.last() {
        let kind = *bytes.get(at)?;
        at += 1;
        if kind == 0 {
            if at != limit {
                return None;
            }
            ends.pop();
            continue;
        }
        at += name(bytes, at, limit)?;
        let opened = match kind {
            0x03 | 0x04 => Some(at),
            // Code, then its scope, which ends where the value does.
            0x0F => Some(at + 4 + 4 + length(bytes, at + 4)?),
            _ => None,
        };
        match opened {
            Some(start) => {
                if ends.len() >= MAX_DEPTH {
                    return Some(Err(too_deep()));
                }
                ends.push(end(bytes, start, limit)?);
                at = start + 4;
            }
            None => at += size(bytes, kind, at, limit)?,
        }
        if at >= limit {
            return None;
        }
    }
    (at == bytes.len()).then_some(Ok(()))
}

fn length(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(i32::from_le_bytes(bytes.try_into().ok()?)).ok()
}

/// Where the document that starts here ends.
fn end(bytes: &[u8], start: usize, limit: usize) -> Option<usize> {
    let end = start.checked_add(length(bytes, start)?)?;
    (end <= limit && end >= start + 5).then_some(end)
}

/// The size of a name with its NUL.
fn name(bytes: &[u8], at: usize, limit: usize) -> Option<usize> {
    Some(name_end(bytes.get(at..limit)?)? + 1)
}

/// Where the name that starts these bytes has its NUL: names are short, so eight bytes are looked at in one step.
#[inline]
pub(super) fn name_end(bytes: &[u8]) -> Option<usize> {
    // Most end in the first step.
    if let Some(first) = bytes.first_chunk()
        && let Some(end) = nul_in(*first)
    {
        return Some(end);
    }
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate().skip(1) {
        if let Some(end) = nul_in(*word) {
            return Some(at * 8 + end);
        }
    }
    let end = rest.iter().position(|&byte| byte == 0)?;
    Some(words.len() * 8 + end)
}

/// Where the first NUL is.
#[inline]
fn nul_in(word: [u8; 8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let word = u64::from_le_bytes(word);
    // The lowest high bit that is left is that of the first NUL.
    let nul = word.wrapping_sub(ONES) & !word & HIGHS;
    (nul != 0).then(|| nul.trailing_zeros() as usize / 8)
}

/// The size of the value that starts these bytes; `None` when it has none, or ends after them.
#[inline]
pub(super) fn value_size(kind: u8, bytes: &[u8]) -> Option<usize> {
    let size = match kind {
        // What most values are, at once.
        0x02 => length(bytes, 0)?.checked_add(4)?,
        0x10 => 4,
        0x01 | 0x09 | 0x12 => 8,
        _ => size(bytes, kind, 0, bytes.len())?,
    };
    (size <= bytes.len()).then_some(size)
}

#[inline]
fn size(bytes: &[u8], kind: u8, at: usize, limit: usize) -> Option<usize> {
    Some(match kind {
        0x06 | 0x0A | 0xFF | 0x7F => 0,
        0x08 => 1,
        0x10 => 4,
        0x01 | 0x09 | 0x11 | 0x12 => 8,
        0x07 => 12,
        0x13 => 16,
        0x02 | 0x0D | 0x0E => length(bytes, at)?.checked_add(4)?,
        0x03 | 0x04 | 0x0F => length(bytes, at)?,
        0x05 => length(bytes, at)?.checked_add(5)?,
        0x0C => length(bytes, at)?.checked_add(16)?,
        0x0B => {
            let pattern = name(bytes, at, limit)?;
            pattern + name(bytes, at + pattern, limit)?
        }
        _ => return None,
    })
}

/// The same for a document in memory: its conversion to bytes recurses.
pub(super) fn check_document(document: &Document) -> Result<()> {
    enum Level<'a> {
        Document(bson::document::Iter<'a>),
        Array(std::slice::Iter<'a, Bson>),
    }
    let mut levels = vec![Level::Document(document.iter())];
    while let Some(level) = levels.last_mut() {
        let value = match level {
            Level::Document(fields) => fields.next().map(|(_, value)| value),
            Level::Array(values) => values.next(),
        };
        let opened = match value {
            None => {
                levels.pop();
                continue;
            }
            Some(Bson::Document(document)) => Level::Document(document.iter()),
            Some(Bson::Array(values)) => Level::Array(values.iter()),
            Some(Bson::JavaScriptCodeWithScope(code)) => Level::Document(code.scope.iter()),
            Some(_) => continue,
        };
        if levels.len() >= MAX_DEPTH {
            return Err(too_deep());
        }
        levels.push(opened);
    }
    Ok(())
}

pub(super) fn too_deep() -> Error {
    Error::new(
        ErrorKind::InvalidArgument,
        "documents are nested more than 200 deep",
    )
    .with_code(15)
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, doc, rawdoc};

    use super::*;

    fn nested(depth: usize) -> Vec<u8> {
        let mut bytes = vec![5, 0, 0, 0, 0];
        for _ in 1..depth {
            let mut outer = Vec::with_capacity(bytes.len() + 8);
            outer.extend(i32::try_from(bytes.len() + 8).unwrap().to_le_bytes());
            outer.extend([3, b'a', 0]);
            outer.append(&mut bytes);
            outer.push(0);
            bytes = outer;
        }
        bytes
    }

    #[test]
    fn nesting_is_limited() {
        assert!(check_depth(&nested(MAX_DEPTH)).is_ok());
        let error = check_depth(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(check_depth(&nested(5_000)).is_err());
    }

    #[test]
    fn documents_in_memory_are_limited_too() {
        let mut document = doc! {};
        for _ in 1..MAX_DEPTH {
            document = doc! { "a": [document] };
        }
        assert!(check_document(&document).is_err());
        assert!(check_document(&doc! { "a": { "b": [1, { "c": 2 }] } }).is_ok());
        // Dropping a document of a hundred levels is no trouble.
    }

    #[test]
    fn every_type_is_passed_over() {
        let filler = "x".repeat(MAX_DEPTH * LEVEL);
        let document = rawdoc! {
            "double": 1.5, "string": filler, "document": { "a": 1 }, "array": [1, [2]],
            "binary": bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![1, 2, 3] },
            "oid": bson::oid::ObjectId::new(), "bool": true, "date": bson::DateTime::now(), "null": bson::RawBson::Null,
            "regex": bson::Regex { pattern: bson::raw::cstr!("a").into(), options: bson::raw::cstr!("i").into() },
            "code": bson::RawBson::JavaScriptCode("x".into()),
            "scope": bson::RawJavaScriptCodeWithScope { code: "x".into(), scope: rawdoc! { "y": { "z": 1 } } },
            "int": 1, "timestamp": bson::Timestamp { time: 1, increment: 2 }, "long": 1_i64,
            "decimal": "1.5".parse::<bson::Decimal128>().unwrap(),
            "min": bson::RawBson::MinKey, "max": bson::RawBson::MaxKey,
        };
        assert!(walk(document.as_bytes()).unwrap().is_ok());
    }

    #[test]
    fn names_end_at_their_first_nul() {
        for length in 0..40 {
            let name: Vec<u8> = (1..=length).map(|byte| byte * 6).collect();
            assert_eq!(name_end(&name), None);
            for behind in [
                vec![0],
                vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 0],
                vec![0; 20],
                vec![0, 0x80],
            ] {
                let bytes = [name.clone(), behind].concat();
                assert_eq!(name_end(&bytes), Some(usize::from(length)));
            }
        }
        // A borrow reaches the byte behind the NUL, which comes first.
        assert_eq!(name_end(&[0x80, 0xFF, 0, 1, 0, 0, 0, 0]), Some(2));
    }

    #[test]
    fn wrong_lengths_are_found() {
        let mut document = RawDocumentBuf::new();
        document.append(bson::raw::cstr!("a"), rawdoc! { "b": "x".repeat(2000) });
        let good = document.into_bytes();
        for at in [7, 14] {
            let mut bad = good.clone();
            bad[at] ^= 0x7f;
            assert!(walk(&bad).is_none());
        }
        assert!(walk(&good[..good.len() - 1]).is_none());
    }
}
