//! One `_id` as a part of a path, and back.
//!
//! Texts, integers, ObjectIds and UUIDs are written as people write them; a text that holds the delimiter or `~` has it
//! escaped (`~2c`), and values of other types are `~~` and the hexadecimal digits of their BSON.

use odm::bson::oid::ObjectId;
use odm::bson::spec::BinarySubtype;
use odm::bson::{Binary, Bson, Document, RawDocumentBuf, doc};

use super::error::{Result, TreeError};
use crate::hexadecimal::hexadecimal;

pub(super) const ESCAPE: char = '~';

/// The segment of an `_id`.
///
/// # Errors
/// An empty text has none.
pub(super) fn encode(id: &Bson, delimiter: char) -> Result<String> {
    Ok(match id {
        Bson::String(text) if text.is_empty() => {
            return Err(TreeError::Segment {
                id: id.clone(),
                reason: "an empty text leaves no trace in a path",
            });
        }
        Bson::String(text) => escape(text, delimiter),
        Bson::Int32(number) => number.to_string(),
        Bson::Int64(number) => number.to_string(),
        // Equal to the integer, so that it is the same key.
        Bson::Double(number) if number.fract() == 0.0 && number.abs() < 9.0e15 => {
            (*number as i64).to_string()
        }
        Bson::ObjectId(id) => id.to_hex(),
        Bson::Binary(Binary {
            subtype: BinarySubtype::Uuid,
            bytes,
        }) if bytes.len() == 16 => hyphenated(bytes),
        other => {
            let document = RawDocumentBuf::try_from(&doc! { "": other }).map_err(|_| TreeError::Segment {
                id: id.clone(),
                reason: "it is no BSON",
            })?;
            format!("~~{}", hexadecimal(document.as_bytes()))
        }
    })
}

/// The values that have this segment: one, or a text and what it reads like.
pub(super) fn decode(segment: &str) -> Vec<Bson> {
    if let Some(digits) = segment.strip_prefix("~~") {
        return tagged(digits).into_iter().collect();
    }
    let Some(text) = unescape(segment) else {
        return Vec::new();
    };
    let mut values = Vec::with_capacity(1);
    if let Ok(number) = text.parse::<i64>()
        && number.to_string() == text
    {
        values.push(Bson::Int64(number));
    }
    if text.len() == 24 && text.bytes().all(is_lower_hexadecimal) {
        values.extend(ObjectId::parse_str(&text).ok().map(Bson::ObjectId));
    }
    values.extend(uuid(&text));
    values.push(Bson::String(text));
    values
}

fn escape(text: &str, delimiter: char) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if character == delimiter || character == ESCAPE || character == '\0' {
            escaped.push_str(&format!("~{:02x}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

fn unescape(segment: &str) -> Option<String> {
    let mut text = String::with_capacity(segment.len());
    let mut rest = segment;
    while let Some(at) = rest.find(ESCAPE) {
        text.push_str(&rest[..at]);
        let digits = rest.get(at + 1..at + 3)?;
        text.push(char::from(u8::from_str_radix(digits, 16).ok()?));
        rest = &rest[at + 3..];
    }
    text.push_str(rest);
    Some(text)
}

fn is_lower_hexadecimal(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok())
        .collect()
}

fn tagged(digits: &str) -> Option<Bson> {
    let raw = RawDocumentBuf::from_bytes(bytes_of(digits)?).ok()?;
    let document = Document::try_from(&raw).ok()?;
    document.into_iter().next().map(|(_, value)| value)
}

fn hyphenated(bytes: &[u8]) -> String {
    let digits = hexadecimal(bytes);
    let parts = [
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ];
    parts.join("-")
}

fn uuid(text: &str) -> Option<Bson> {
    let bytes = bytes_of(&text.replace('-', "")).filter(|bytes| bytes.len() == 16)?;
    (hyphenated(&bytes) == text).then_some(Bson::Binary(Binary {
        subtype: BinarySubtype::Uuid,
        bytes,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(id: impl Into<Bson>, segment: &str) {
        let id = id.into();
        assert_eq!(encode(&id, ',').unwrap(), segment);
        assert!(
            decode(segment).contains(&id),
            "{segment} gives {:?}",
            decode(segment)
        );
    }

    #[test]
    fn plain_values_are_written_plainly() {
        check("Books", "Books");
        check(7_i64, "7");
        check("Pet Supplies", "Pet Supplies");
        let id = ObjectId::new();
        check(id, &id.to_hex());
    }

    #[test]
    fn delimiters_are_escaped() {
        check("Arts, Crafts & Sewing", "Arts~2c Crafts & Sewing");
        check("~", "~7e");
        check("~2c", "~7e2c");
        assert_eq!(encode(&Bson::from("a:b"), ':').unwrap(), "a~3ab");
    }

    #[test]
    fn other_types_go_there_and_back() {
        for id in [
            Bson::Boolean(true),
            Bson::Document(doc! { "a": 1, "b": "," }),
            Bson::Double(1.5),
        ] {
            let segment = encode(&id, ',').unwrap();
            assert!(segment.starts_with("~~") && !segment.contains(','));
            assert_eq!(decode(&segment), [id]);
        }
        let uuid = Bson::Binary(Binary {
            subtype: BinarySubtype::Uuid,
            bytes: (0..16).collect(),
        });
        assert_eq!(
            encode(&uuid, ',').unwrap(),
            "00010203-0405-0607-0809-0a0b0c0d0e0f"
        );
        assert!(decode("00010203-0405-0607-0809-0a0b0c0d0e0f").contains(&uuid));
    }

    #[test]
    fn what_reads_like_two_types_has_two_values() {
        assert_eq!(decode("10"), [Bson::Int64(10), Bson::from("10")]);
        assert_eq!(decode("010"), [Bson::from("010")]);
    }

    #[test]
    fn nothing_is_no_segment() {
        assert!(encode(&Bson::from(""), ',').is_err());
        assert!(decode("~zz").is_empty());
        assert!(decode("~~zz").is_empty());
        assert!(decode("~é").is_empty());
    }
}
