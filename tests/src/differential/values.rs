//! Random documents over a few field names, so that they meet: some fields hold anything, some mostly one type.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp, doc};

use crate::random::Random;

/// Fields that hold anything.
pub(super) const FIELDS: &[&str] = &["a", "b", "c"];
/// Fields of the documents inside.
pub(super) const INNER: &[&str] = &["x", "y"];
/// Fields that mostly hold numbers, texts, arrays, dates, documents and truths.
const TYPED: &[&str] = &["n", "s", "l", "d", "o", "f"];
/// What texts are made of.
pub(super) const WORDS: &[&str] = &["cat", "cats", "dog", "running", "run", "The", "a-b", "Äpfel"];

/// A random scalar; small domains, so that values collide.
pub(super) fn scalar(random: &mut Random) -> Bson {
    match random.below(26) {
        0..=6 => number(random),
        7 => Bson::Double(*random.pick(&[f64::NAN, f64::INFINITY, -0.0, 1e300, 2.5])),
        8 => Bson::Int64(*random.pick(&[i64::MAX, i64::MIN, 9_007_199_254_740_993])),
        9 => Bson::Int32(*random.pick(&[i32::MAX, i32::MIN])),
        10..=13 => text(random),
        14..=15 => Bson::Null,
        16 => Bson::Boolean(random.one_in(2)),
        17 => date(random),
        18 => Bson::ObjectId(ObjectId::from_bytes([random.below(2) as u8; 12])),
        19 => Bson::Timestamp(Timestamp {
            time: 1 + random.below(2) as u32,
            increment: 1,
        }),
        20 => binary(random),
        21 => decimal(random.pick::<&str>(&["1", "1.0", "0.1", "2.5", "-1E+3", "NaN", "Infinity"])),
        22 if random.one_in(4) => rare(random),
        _ => random.pick(&[Bson::MinKey, Bson::MaxKey, Bson::Null]).clone(),
    }
}

/// A small number of any of the four types.
pub(super) fn number(random: &mut Random) -> Bson {
    match random.below(10) {
        0..=5 => Bson::Int32(random.below(6) as i32 - 1),
        6 => Bson::Int64(random.below(6) as i64 - 1),
        7 => decimal(random.pick::<&str>(&["1", "2.0", "-0.5", "3"])),
        _ => Bson::Double(random.below(8) as f64 / 2.0 - 1.0),
    }
}

/// A short text.
pub(super) fn text(random: &mut Random) -> Bson {
    let texts = ["", "a", "ab", "abc", "b", "B", "é", "a.b", "Ab", "10", "9", "a b"];
    Bson::String((*random.pick(&texts)).to_owned())
}

/// A few words.
pub(super) fn words(random: &mut Random) -> String {
    let words: Vec<&str> = (0..1 + random.below(4)).map(|_| *random.pick(WORDS)).collect();
    words.join(" ")
}

/// A date, seldom before 1970.
pub(super) fn date(random: &mut Random) -> Bson {
    Bson::DateTime(DateTime::from_millis(match random.below(6) {
        0 => 1_585_440_000_000 + random.below(100) as i64 * 3_600_001,
        1 => -86_400_000,
        _ => random.below(3) as i64 * 1000,
    }))
}

/// Bytes.
pub(super) fn binary(random: &mut Random) -> Bson {
    let subtype = *random.pick(&[
        BinarySubtype::Generic,
        BinarySubtype::Generic,
        BinarySubtype::UserDefined(0x80),
        BinarySubtype::BinaryOld,
    ]);
    Bson::Binary(bson::Binary {
        subtype,
        bytes: vec![7; random.below(3)],
    })
}

/// Types that few documents hold.
fn rare(random: &mut Random) -> Bson {
    match random.below(5) {
        0 => Bson::RegularExpression(regex(random)),
        1 => Bson::JavaScriptCode("1".to_owned()),
        2 => Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope {
            code: "1".to_owned(),
            scope: doc! { "x": 1 },
        }),
        3 => Bson::Symbol("a".to_owned()),
        _ => Bson::Undefined,
    }
}

/// A regular expression with options.
pub(super) fn regex(random: &mut Random) -> Regex {
    let pattern = *random.pick(&["^a", "b$", "a.b", "^$", "^ab", "A", "^a|b", "[ab]+", "\\.", "é"]);
    let options = *random.pick(&["", "", "i", "m", "s", "x", "im"]);
    Regex {
        pattern: pattern.try_into().expect("a pattern without NUL"),
        options: options.try_into().expect("options without NUL"),
    }
}

/// A decimal of this text.
pub(super) fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse::<Decimal128>().expect("a decimal"))
}

/// A random value, nested at most `depth` levels.
pub(super) fn value(random: &mut Random, depth: usize) -> Bson {
    if depth == 0 {
        return scalar(random);
    }
    match random.below(10) {
        0..=5 => scalar(random),
        6..=7 => array(random, depth),
        _ => Bson::Document(object(random, depth)),
    }
}

/// An array of values.
pub(super) fn array(random: &mut Random, depth: usize) -> Bson {
    Bson::Array((0..random.below(4)).map(|_| value(random, depth - 1)).collect())
}

/// A small document.
pub(super) fn object(random: &mut Random, depth: usize) -> Document {
    let mut document = Document::new();
    for _ in 0..random.below(3) {
        document.insert(*random.pick(INNER), value(random, depth - 1));
    }
    document
}

/// A random document with this `_id`.
pub(super) fn document(random: &mut Random, id: i32) -> Document {
    let mut document = doc! { "_id": id };
    for _ in 0..random.below(4) {
        document.insert(*random.pick(FIELDS), value(random, 2));
    }
    for name in TYPED {
        if random.one_in(2) {
            document.insert(*name, typed(random, name));
        }
    }
    if random.one_in(4) {
        document.insert("t", words(random));
    }
    if random.one_in(4) {
        document.insert("g", point(random));
    }
    document
}

/// What a typed field holds: seldom something else.
fn typed(random: &mut Random, name: &str) -> Bson {
    if random.one_in(16) {
        return value(random, 1);
    }
    match name {
        "n" => number(random),
        "s" => text(random),
        "l" => Bson::Array(match random.below(3) {
            0 => (0..random.below(4))
                .map(|_| Bson::Document(object(random, 1)))
                .collect(),
            1 => (0..random.below(4)).map(|_| text(random)).collect(),
            _ => (0..random.below(5)).map(|_| number(random)).collect(),
        }),
        "d" => date(random),
        "o" => Bson::Document(doc! { "x": number(random), "y": value(random, 1) }),
        _ => Bson::Boolean(random.one_in(2)),
    }
}

/// A place, as a pair or as GeoJSON.
pub(super) fn point(random: &mut Random) -> Bson {
    let at = vec![random.below(5) as f64 * 2.0, random.below(5) as f64 * 2.0];
    match random.below(2) {
        0 => Bson::Array(at.into_iter().map(Bson::Double).collect()),
        _ => Bson::Document(doc! { "type": "Point", "coordinates": at }),
    }
}

/// A random path.
pub(super) fn path(random: &mut Random) -> String {
    let field = *random.pick(FIELDS);
    match random.below(12) {
        0..=4 => field.to_owned(),
        5 => format!("{field}.{}", random.pick(INNER)),
        6 => format!("{field}.{}", random.below(3)),
        7 => format!(
            "{field}.{}.{}",
            random.pick(&["0", "x", "y", "1"]),
            random.pick(INNER)
        ),
        8 => format!("{}.{}", random.pick(&["o", "l"]), random.pick(&["x", "y", "0"])),
        _ => (*random.pick(TYPED)).to_owned(),
    }
}

/// A collation whose rules have not changed since those of the server.
pub(super) fn collation(random: &mut Random) -> Document {
    match random.below(8) {
        0 => doc! { "locale": "simple" },
        1 => doc! { "locale": "en", "strength": 1 },
        2 => doc! { "locale": "en", "strength": 1, "caseLevel": true },
        3 => doc! { "locale": "en", "numericOrdering": true },
        4 => doc! { "locale": "en", "caseFirst": *random.pick(&["upper", "lower", "off"]) },
        5 => {
            doc! { "locale": "en", "alternate": "shifted", "maxVariable": *random.pick(&["punct", "space"]) }
        }
        6 => doc! { "locale": "fr", "strength": 2, "backwards": true, "normalization": false },
        _ => doc! { "locale": "en", "strength": 2 },
    }
}
