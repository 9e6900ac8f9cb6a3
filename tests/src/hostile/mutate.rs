//! Mutations of bytes and of documents.

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, Regex, Timestamp, doc};

use crate::random::Random;

/// Changes some bytes: flips, hostile lengths, cuts, repetitions, parts of another input.
pub fn bytes(random: &mut Random, mut bytes: Vec<u8>, other: &[u8]) -> Vec<u8> {
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return bytes;
        }
        let at = random.below(bytes.len());
        match random.below(7) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = *random.pick(&[0, 1, 2, 3, 4, 5, 0x0B, 0x0F, 0x11, 0x13, 0x7F, 0x80, 0xFF]),
            2 => {
                let length: i32 =
                    *random.pick(&[-1, 0, 1, 4, 5, 255, 65_536, i32::MAX, i32::MIN, 16_777_217]);
                for (place, byte) in bytes[at..].iter_mut().zip(length.to_le_bytes()) {
                    *place = byte;
                }
            }
            3 => bytes.truncate(at),
            4 => {
                let end = (at + random.below(64)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            5 => {
                let end = (at + random.below(16)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ if !other.is_empty() => {
                let start = random.below(other.len());
                let end = (start + random.below(64)).min(other.len());
                bytes.splice(at..at, other[start..end].iter().copied());
            }
            _ => {}
        }
    }
    // Often the outermost length is right, so that the rest is looked at.
    if bytes.len() >= 5 && !random.one_in(4) {
        let length = bytes.len() as i32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        if let Some(last) = bytes.last_mut() {
            *last = 0;
        }
    }
    bytes
}

/// Changes a part of a document: another value, another name, a field more or less.
pub fn document(random: &mut Random, document: &mut Document) {
    let names: Vec<String> = document.keys().cloned().collect();
    if names.is_empty() {
        document.insert(name(random), value(random, 2));
        return;
    }
    let chosen = random.pick(&names).clone();
    match random.below(8) {
        0 => {
            document.remove(&chosen);
        }
        1 => {
            document.insert(name(random), value(random, 2));
        }
        2 => {
            if let Some(value) = document.remove(&chosen) {
                document.insert(name(random), value);
            }
        }
        3 => {
            document.insert(chosen, value(random, 3));
        }
        _ => match document.get_mut(&chosen) {
            Some(Bson::Document(inner)) => self::document(random, inner),
            Some(Bson::Array(items)) if !items.is_empty() => {
                let at = random.below(items.len());
                match &mut items[at] {
                    Bson::Document(inner) => self::document(random, inner),
                    other => *other = value(random, 2),
                }
            }
            Some(other) => *other = value(random, 2),
            None => {}
        },
    }
}

const NAMES: &[&str] = &[
    "",
    "a",
    "a.b",
    "a.0",
    "a.00",
    "a..b",
    ".",
    "$",
    "$a",
    "$where",
    "$text",
    "$search",
    "$expr",
    "$in",
    "$not",
    "$elemMatch",
    "$jsonSchema",
    "$regex",
    "$options",
    "$mod",
    "$size",
    "$type",
    "$meta",
    "$each",
    "$slice",
    "$position",
    "$sort",
    "$[]",
    "a.$[]",
    "a.$[e]",
    "a.$",
    "$match",
    "$group",
    "$lookup",
    "$unwind",
    "$facet",
    "$cond",
    "$let",
    "$map",
    "$reduce",
    "$function",
    "$add",
    "$toDate",
    "$dateToString",
    "$substrCP",
    "$range",
    "$regexFind",
    "$zip",
    "$getField",
    "$setField",
    "$convert",
    "$round",
    "$pow",
    "$split",
    "$replaceAll",
    "$indexOfCP",
    "$sortArray",
    "_id",
    "$ref",
    "$id",
    "\u{feff}",
    "ß",
];

/// A field name that somebody treats specially.
pub fn name(random: &mut Random) -> String {
    (*random.pick(NAMES)).to_owned()
}

/// A value, often at a border.
pub fn value(random: &mut Random, depth: usize) -> Bson {
    match random.below(if depth == 0 { 17 } else { 22 }) {
        0 => Bson::Null,
        1 => Bson::Undefined,
        2 => Bson::MinKey,
        3 => Bson::MaxKey,
        4 => Bson::Boolean(random.one_in(2)),
        5 | 6 => Bson::Int32(*random.pick(&[0, 1, -1, 2, 7, 100, 1000, i32::MAX, i32::MIN])),
        7 => Bson::Int64(*random.pick(&[0, 1, -1, i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1, 1 << 32])),
        8 | 9 => Bson::Double(*random.pick(&[
            0.0,
            -0.0,
            0.5,
            1.5,
            -1.0,
            1e300,
            1e-300,
            5e-324,
            f64::MAX,
            f64::MIN,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            9_007_199_254_740_993.0,
        ])),
        10 => {
            let mut bytes = [0; 16];
            for half in bytes.chunks_mut(8) {
                half.copy_from_slice(&random.bits().to_le_bytes());
            }
            Bson::Decimal128(bson::Decimal128::from_bytes(bytes))
        }
        11 => Bson::DateTime(bson::DateTime::from_millis(*random.pick(&[
            0,
            1,
            -1,
            i64::MAX,
            i64::MIN,
            253_402_300_800_000,
            -62_135_596_800_001,
        ]))),
        12 => Bson::Timestamp(Timestamp {
            time: random.bits() as u32,
            increment: random.bits() as u32,
        }),
        13 => Bson::ObjectId(bson::oid::ObjectId::from_bytes([random.bits() as u8; 12])),
        14 => Bson::Binary(Binary {
            subtype: BinarySubtype::from(random.bits() as u8 & 0x87),
            bytes: vec![7; random.below(40)],
        }),
        15 => pattern(random),
        16 => Bson::String(text(random)),
        17 | 18 => Bson::Array((0..random.below(4)).map(|_| value(random, depth - 1)).collect()),
        19 => Bson::Document(doc! { "$cond": [value(random, depth - 1), "$a", "$$ROOT"] }),
        _ => Bson::Document(
            (0..random.below(4))
                .map(|_| (name(random), value(random, depth - 1)))
                .collect(),
        ),
    }
}

/// A text: paths, formats, names, numbers, letters of several bytes.
pub fn text(random: &mut Random) -> String {
    const PARTS: &[&str] = &[
        "",
        "a",
        "$a",
        "$$ROOT",
        "$$",
        "$a.b.0",
        "%Y-%m-%dT%H:%M:%S.%LZ",
        "%",
        "%G-%V",
        "UTC",
        "Europe/Rome",
        "+99:99",
        "2020-02-30T25:61:61Z",
        "NaN",
        "1e999999",
        "-1E-7000",
        "9999999999999999999999999999999999",
        "0x10",
        "é",
        "ß",
        "日本",
        "\u{1F600}",
        "\u{301}",
        "\0",
        " ",
        "-",
        "\"",
        "text",
        "english",
        "textScore",
        "hashed",
        "(",
        "[",
        "\\",
    ];
    (0..random.below(4)).map(|_| *random.pick(PARTS)).collect()
}

/// A regular expression, of parts that are dear together.
pub fn pattern(random: &mut Random) -> Bson {
    const PARTS: &[&str] = &[
        "a",
        ".*",
        "(a*)*",
        "(a|aa)+",
        "[a-z]{1,50}",
        "{1000}",
        "(?i)",
        "^",
        "$",
        "\\b",
        "\\d+",
        "(",
        ")",
        "[",
        "]",
        "\\",
        "|",
        "(?=a)",
        "(?<n>x)",
        "\\1",
        "\\p{L}",
        "é",
        "x{0,1000000}",
        "(((((a?)?)?)?)?)",
        "[^\\x00-\\x7f]",
    ];
    let pattern: String = (0..=random.below(6)).map(|_| *random.pick(PARTS)).collect();
    let options = *random.pick(&["", "i", "m", "s", "x", "imsx", "u", "q"]);
    let text = |text: String| bson::raw::CString::try_from(text);
    match (text(pattern), text(options.to_owned())) {
        (Ok(pattern), Ok(options)) => Bson::RegularExpression(Regex { pattern, options }),
        _ => Bson::Null,
    }
}
