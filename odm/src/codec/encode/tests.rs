//! What is encoded here is what `bson` encodes.

use std::collections::BTreeMap;
use std::fmt::Debug;

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{
    Binary, Bson, DateTime, Decimal128, Document, RawArrayBuf, RawBson, Timestamp, Uuid, doc, rawdoc,
};
use serde::ser::SerializeSeq as _;

use super::*;

/// Encoded without `bson`, to the same.
#[track_caller]
fn check<T: Serialize>(value: &T) {
    assert_eq!(ours(value), Some(theirs(value).unwrap()));
}

/// Left to `bson`.
#[track_caller]
fn check_left<T: Serialize>(value: &T) {
    assert_eq!(ours(value), None);
}

fn ours<T: Serialize>(value: &T) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    encode(value, &mut bytes).ok().map(|()| bytes)
}

fn theirs<T: Serialize>(value: &T) -> bson::error::Result<Vec<u8>> {
    bson::serialize_to_vec(value)
}

#[derive(Serialize)]
struct One<T> {
    v: T,
}

#[derive(Serialize)]
struct New<T>(T);

#[derive(Serialize)]
struct Nothing;

#[derive(Serialize)]
struct Pair(i32, String);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Choice {
    Plain,
    With(i32),
    Two(i8, Option<String>),
    Fields { a: u32, b: Vec<Choice> },
    Nested(Box<Choice>),
    Empty {},
}

#[derive(Serialize)]
struct Bytes<'a>(#[serde(serialize_with = "as_bytes")] &'a [u8]);

fn as_bytes<S: Serializer>(bytes: &[u8], serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum Tagged {
    Email { address: String, since: DateTime },
    None,
}

#[derive(Serialize)]
struct Flat {
    first: i32,
    #[serde(flatten)]
    tagged: Tagged,
    #[serde(flatten)]
    more: BTreeMap<String, Bson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<i32>,
}

#[test]
fn every_type_of_a_model_is_encoded() {
    check(&One { v: true });
    check(&One {
        v: (-1_i8, -2_i16, i32::MIN, i64::MAX),
    });
    check(&One {
        v: (u8::MAX, u16::MAX, u32::MAX, 1_u64 << 62),
    });
    check(&One {
        v: [0.5_f32, f32::NAN],
    });
    check(&One {
        v: [-0.0_f64, f64::NAN, f64::INFINITY],
    });
    check(&One { v: ('a', 'ß', '\0') });
    check(&One {
        v: ["", "text\0", "Zoë \u{1F600}"],
    });
    check(&One {
        v: "x".repeat(70_000),
    });
    check(&One {
        v: (None::<i32>, Some(1), (), Nothing),
    });
    check(&One { v: New(New(7)) });
    check(&One {
        v: Pair(1, "b".to_owned()),
    });
    check(&One {
        v: Bytes(&[0, 1, 255]),
    });
    check(&One { v: Bytes(&[]) });
    check(&One {
        v: (Bytes(&[7; 200_000]), "x".repeat(70_000), 1),
    });
    check(&One {
        v: (0..1_234).collect::<Vec<i32>>(),
    });
    check(&One {
        v: vec![Vec::<One<i32>>::new(), vec![One { v: 1 }, One { v: 2 }]],
    });
    check(&One {
        v: ObjectId::from_bytes([7; 12]),
    });
    check(&One {
        v: Uuid::from_bytes([8; 16]),
    });
    check(&One {
        v: Some(New("12.340".parse::<Decimal128>().unwrap())),
    });
    for millis in [0, -1, 1_700_000_000_123, i64::MIN, i64::MAX] {
        check(&One {
            v: DateTime::from_millis(millis),
        });
    }
    let choices = [
        Choice::Plain,
        Choice::With(1),
        Choice::Two(1, None),
        Choice::Empty {},
        Choice::Fields {
            a: 1,
            b: vec![
                Choice::Plain,
                Choice::Nested(Box::new(Choice::Two(1, Some("x".to_owned())))),
            ],
        },
    ];
    check(&One { v: choices.to_vec() });
    check(&choices[1]);
    check(&choices[2]);
    check(&choices[4]);
    check(&New(One { v: 1 }));
    check(&Some(One { v: 1 }));
    check(&Flat {
        first: 1,
        tagged: Tagged::Email {
            address: "a@b".to_owned(),
            since: DateTime::MIN,
        },
        more: BTreeMap::from([("who".to_owned(), Bson::ObjectId(ObjectId::from_bytes([4; 12])))]),
        skipped: None,
    });
    check(&Flat {
        first: 1,
        tagged: Tagged::None,
        more: BTreeMap::new(),
        skipped: Some(3),
    });
    check(&BTreeMap::from([(String::new(), 1), ("é".to_owned(), 2)]));
    check(&BTreeMap::from(
        [(New("a"), 1)].map(|(key, value)| (key.0, value)),
    ));
    check(&BTreeMap::from([(Choice::Plain, 1)]));
    check(&BTreeMap::from([(Some("some"), 1)]));
}

#[test]
fn every_type_of_bson_is_encoded_or_left() {
    check(&doc! {});
    check(&doc! { "a": { "b": [{}, [], [[1, "x", Bson::Null]]] }, "d": DateTime::MAX, "o": ObjectId::new() });
    let raw = rawdoc! { "a": [1, { "b": "c" }], "d": {} };
    check(&raw);
    check(&One { v: raw.clone() });
    check(&One {
        v: (raw.clone(), RawArrayBuf::new()),
    });
    check(&One {
        v: [
            RawBson::from(raw),
            RawBson::Int32(1),
            RawBson::DateTime(DateTime::MIN),
        ],
    });
    check(&One {
        v: Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![1, 2],
        },
    });
    check(&One {
        v: Bson::Decimal128("NaN".parse().unwrap()),
    });
    check(&One {
        v: Binary {
            subtype: BinarySubtype::UserDefined(200),
            bytes: vec![1],
        },
    });
    check(&One {
        v: Timestamp {
            time: 1,
            increment: 2,
        },
    });
    check(&doc! { "v": Bson::MaxKey });
    check(&doc! { "v": Bson::MinKey });
    check(&doc! { "v": Bson::Undefined });
    check(&doc! { "v": Bson::Symbol("x".to_owned()) });
    check(&doc! { "v": Bson::JavaScriptCode("x".to_owned()) });
    check(&One {
        v: bson::Regex {
            pattern: bson::raw::cstr!("a").into(),
            options: bson::raw::cstr!("i").into(),
        },
    });
}

#[test]
fn what_cannot_be_encoded_is_left() {
    #[track_caller]
    fn check_wrong<T: Serialize>(value: &T) {
        check_left(value);
        assert!(theirs(value).is_err());
    }

    struct Fails;

    impl Serialize for Fails {
        fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            let mut items = serializer.serialize_seq(None)?;
            items.serialize_element(&1)?;
            Err(serde::ser::Error::custom("no"))
        }
    }

    check_wrong(&1);
    check_wrong(&"text");
    check_wrong(&[One { v: 1 }]);
    check_wrong(&None::<Document>);
    check_wrong(&Choice::Plain);
    check_wrong(&ObjectId::new());
    check_wrong(&One { v: u64::MAX });
    check_wrong(&One { v: 1_u128 });
    check_wrong(&One { v: Fails });
    check_wrong(&BTreeMap::from([("a\0b", 1)]));
    check_wrong(&BTreeMap::from([((), 1)]));
    check_wrong(&BTreeMap::from([(Choice::With(1), 1)]));
    check_wrong(&BTreeMap::from([([1], 1)]));
    check_wrong(&One {
        v: BTreeMap::from([("ok", BTreeMap::from([("a\0", 1)]))]),
    });
}

/// Whatever a document is made of.
#[test]
fn random_documents_are_the_same() {
    let mut seed = 11_u64;
    let mut below = |limit: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % limit
    };
    fn value(below: &mut impl FnMut(u64) -> u64, depth: u64) -> Bson {
        match below(if depth < 5 { 12 } else { 9 }) {
            0 => Bson::Double(below(1_000) as f64 / 8.0),
            1 => Bson::String("é".repeat(below(40) as usize)),
            2 => Bson::Boolean(below(2) == 0),
            3 => Bson::Null,
            4 => Bson::Int32(below(u64::MAX) as i32),
            5 => Bson::Int64(below(u64::MAX) as i64),
            6 => Bson::ObjectId(ObjectId::from_bytes([below(256) as u8; 12])),
            7 => Bson::DateTime(DateTime::from_millis(below(1 << 45) as i64 - (1 << 40))),
            8 => Bson::Decimal128(Decimal128::from_bytes([below(256) as u8; 16])),
            9 => Bson::Array((0..below(14)).map(|_| value(below, depth + 1)).collect()),
            _ => Bson::Document(
                (0..below(6))
                    .map(|n| (format!("f{n}"), value(below, depth + 1)))
                    .collect(),
            ),
        }
    }
    for _ in 0..2_000 {
        check(&One {
            v: value(&mut below, 0),
        });
    }
}
