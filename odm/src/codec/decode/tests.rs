//! What is decoded here is what `bson` decodes.

use std::any::type_name;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{
    Binary, Bson, DateTime, Decimal128, Document, RawArrayBuf, RawBson, RawDocumentBuf, Timestamp, Uuid, doc,
    rawdoc,
};
use serde::{Deserialize, Serialize};

use super::elements::SHOWN;
use super::*;

/// What is decoded without `bson`.
fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    super::decode(bytes).ok()
}

/// Both decoders, on the same bytes.
fn both<T: DeserializeOwned>(document: &RawDocumentBuf) -> (Option<T>, Option<T>) {
    let bytes = document.as_bytes();
    (decode(bytes), bson::deserialize_from_slice(bytes).ok())
}

/// Decoded without `bson`, to the same.
#[track_caller]
fn check<T: DeserializeOwned + Debug + PartialEq>(document: &RawDocumentBuf) {
    let (ours, theirs) = both::<T>(document);
    assert!(theirs.is_some(), "{document:?}");
    assert_eq!(ours, theirs, "{document:?}");
}

/// Left to `bson`, or decoded to the same.
#[track_caller]
fn check_left<T: DeserializeOwned + Debug + PartialEq>(document: &RawDocumentBuf) {
    let (ours, theirs) = both::<T>(document);
    assert!(ours.is_none() || ours == theirs, "{document:?}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    #[serde(rename = "_id")]
    id: ObjectId,
    number: i32,
    total: i64,
    weight: f64,
    small: f32,
    unsigned: u64,
    name: String,
    letter: char,
    paid: bool,
    placed: DateTime,
    uuid: Uuid,
    price: Decimal128,
    lines: Vec<Line>,
    notes: HashMap<String, Vec<Option<i32>>>,
    pair: (i32, String),
    nothing: Option<String>,
    something: Option<Line>,
    payment: Payment,
    state: State,
    contact: Contact,
    kind: Kind,
    wrapper: Wrapper,
    empty: (),
    #[serde(with = "serde_bytes_as_vec")]
    bytes: Vec<u8>,
    any: Bson,
    fields: Document,
    #[serde(default)]
    absent: u8,
    #[serde(flatten)]
    more: BTreeMap<String, Bson>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Line {
    title: String,
    at: DateTime,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Wrapper(ObjectId);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Open,
    Closed,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Payment {
    Cash,
    Card { number: String, until: DateTime },
    Check(ObjectId),
    Split(i32, Uuid),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type")]
enum Contact {
    Email { address: String, since: DateTime },
    Phone { number: String },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Kind {
    Number(i64),
    Date(DateTime),
    Id(ObjectId),
    Text(String),
    Several(Vec<Kind>),
}

/// As `serde_bytes`: a vector as one value.
mod serde_bytes_as_vec {
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        match bson::Bson::deserialize(deserializer)? {
            bson::Bson::Binary(binary) => Ok(binary.bytes),
            other => Err(serde::de::Error::custom(format!("no bytes: {other}"))),
        }
    }
}

fn order(payment: Payment, kind: Kind) -> Order {
    Order {
        id: ObjectId::from_bytes([1; 12]),
        number: -5,
        total: 1 << 40,
        weight: 1.5,
        small: 0.25,
        unsigned: 7,
        name: "Zoë \u{1F600}\0 end".to_owned(),
        letter: 'ß',
        paid: true,
        placed: DateTime::from_millis(-1),
        uuid: Uuid::from_bytes([9; 16]),
        price: "12.340".parse().unwrap(),
        lines: vec![
            Line {
                title: String::new(),
                at: DateTime::MIN,
            },
            Line {
                title: "x".repeat(300),
                at: DateTime::MAX,
            },
        ],
        notes: HashMap::from([("a".to_owned(), vec![Some(1), None]), (String::new(), vec![])]),
        pair: (1, "two".to_owned()),
        nothing: None,
        something: Some(Line {
            title: "x".to_owned(),
            at: DateTime::from_millis(5),
        }),
        payment,
        state: State::Closed,
        contact: Contact::Email {
            address: "a@b".to_owned(),
            since: DateTime::from_millis(5),
        },
        kind,
        wrapper: Wrapper(ObjectId::from_bytes([2; 12])),
        empty: (),
        bytes: vec![0, 1, 255],
        any: bson::bson!([1, { "a": DateTime::from_millis(1), "b": ObjectId::from_bytes([3; 12]) }, "x", 1.5]),
        fields: doc! { "x": DateTime::from_millis(1), "y": { "z": Bson::Null } },
        absent: 0,
        more: BTreeMap::from([
            ("when".to_owned(), Bson::DateTime(DateTime::from_millis(77))),
            ("who".to_owned(), Bson::ObjectId(ObjectId::from_bytes([4; 12]))),
        ]),
    }
}

#[test]
fn every_type_of_a_model_is_decoded() {
    let payments = [
        Payment::Cash,
        Payment::Card {
            number: "1".to_owned(),
            until: DateTime::from_millis(9),
        },
        Payment::Check(ObjectId::from_bytes([5; 12])),
        Payment::Split(3, Uuid::from_bytes([8; 16])),
    ];
    let kinds = [
        Kind::Number(5),
        Kind::Date(DateTime::from_millis(9)),
        Kind::Id(ObjectId::from_bytes([6; 12])),
        Kind::Several(vec![Kind::Text("x".to_owned()), Kind::Number(1)]),
    ];
    for (payment, kind) in payments.into_iter().zip(kinds) {
        let order = order(payment, kind);
        let document = bson::serialize_to_raw_document_buf(&order).unwrap();
        assert_eq!(decode::<Order>(document.as_bytes()), Some(order));
        check::<Order>(&document);
        // What other visitors see is the extended JSON that `bson` shows them.
        let json: serde_json::Value = bson::deserialize_from_slice(document.as_bytes()).unwrap_or_default();
        let ours = decode::<serde_json::Value>(document.as_bytes());
        assert!(ours.is_none_or(|ours| ours == json));
    }
    check::<serde_json::Value>(
        &rawdoc! { "d": DateTime::from_millis(5), "i": ObjectId::from_bytes([7; 12]), "n": [1] },
    );
}

#[test]
fn every_type_of_bson_is_decoded_or_left() {
    let values = [
        Bson::Double(f64::INFINITY),
        "x".into(),
        bson::bson!({ "a": { "b": [{}, [], [[1]]] } }),
        Bson::Binary(Binary {
            subtype: BinarySubtype::Generic,
            bytes: vec![],
        }),
        Bson::Binary(Binary {
            subtype: BinarySubtype::BinaryOld,
            bytes: vec![1, 2, 3],
        }),
        Bson::Binary(Binary {
            subtype: BinarySubtype::UserDefined(200),
            bytes: vec![1],
        }),
        Bson::Binary(Binary {
            subtype: BinarySubtype::Uuid,
            bytes: vec![1; 16],
        }),
        Bson::Undefined,
        Bson::ObjectId(ObjectId::from_bytes([1; 12])),
        true.into(),
        false.into(),
        Bson::DateTime(DateTime::from_millis(i64::MIN)),
        Bson::Null,
        Bson::RegularExpression(bson::Regex {
            pattern: bson::raw::cstr!("a").into(),
            options: bson::raw::cstr!("i").into(),
        }),
        Bson::JavaScriptCode("x".to_owned()),
        Bson::JavaScriptCodeWithScope(bson::JavaScriptCodeWithScope {
            code: "x".to_owned(),
            scope: doc! { "y": 1 },
        }),
        Bson::Symbol("x".to_owned()),
        i32::MIN.into(),
        Bson::Timestamp(Timestamp {
            time: 1,
            increment: 2,
        }),
        i64::MIN.into(),
        Bson::Decimal128("NaN".parse().unwrap()),
        Bson::MinKey,
        Bson::MaxKey,
    ];
    #[derive(Debug, PartialEq, Deserialize)]
    struct One<T> {
        v: T,
    }
    for value in values {
        let document = RawDocumentBuf::try_from(&doc! { "v": value.clone() }).unwrap();
        check_left::<One<Bson>>(&document);
        check_left::<Document>(&document);
        check_left::<One<RawBson>>(&document);
        check_left::<One<RawDocumentBuf>>(&document);
        check_left::<One<RawArrayBuf>>(&document);
        check_left::<One<serde_json::Value>>(&document);
        check_left::<One<Option<Bson>>>(&document);
        check_left::<One<i8>>(&document);
        check_left::<One<u64>>(&document);
        check_left::<One<f64>>(&document);
        check_left::<One<String>>(&document);
        check_left::<One<Uuid>>(&document);
        check_left::<One<ObjectId>>(&document);
        check_left::<One<DateTime>>(&document);
        check_left::<One<State>>(&document);
        check_left::<One<Kind>>(&document);
        check_left::<One<Option<()>>>(&document);
        check_left::<BTreeMap<String, Bson>>(&document);
    }
}

#[test]
fn the_visitor_of_bson_is_known_by_its_name() {
    struct Asked;

    impl<'de> Deserializer<'de> for Asked {
        type Error = Unfit;

        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            assert!(is_bson::<V>(), "{}", type_name::<V>());
            visitor.visit_unit()
        }

        forward_to_deserialize_any! {
            bool char str bytes byte_buf unit unit_struct string identifier seq tuple tuple_struct struct map
            i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 option newtype_struct enum ignored_any
        }
    }

    assert_eq!(Bson::deserialize(Asked).unwrap(), Bson::Null);
    assert!(Uuid::deserialize(Asked).is_err());
    assert!(!is_bson::<String>());
}

#[test]
fn what_is_another_value_is_refused_and_not_left() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct One<T> {
        v: T,
    }
    fn refused<T: DeserializeOwned>(value: impl Into<Bson>) {
        let document = RawDocumentBuf::try_from(&doc! { "v": value.into() }).unwrap();
        let decoded = super::decode::<One<T>>(document.as_bytes()).map(|_| ());
        assert!(matches!(decoded, Err(Unfit::Refused)), "{document:?}");
    }
    let hex = "64b64b64b64b64b64b64b64b";
    let bytes = |length| Binary {
        subtype: BinarySubtype::Generic,
        bytes: vec![65; length],
    };
    refused::<ObjectId>(hex);
    refused::<Wrapper>(hex);
    refused::<Option<ObjectId>>(bytes(12));
    refused::<Vec<ObjectId>>(vec![hex]);
    refused::<ObjectId>(doc! { "$oid": hex });
    refused::<Line>(vec![Bson::from("x"), DateTime::now().into()]);
    refused::<Contact>(vec!["Phone", "1"]);
    refused::<Payment>(doc! { "Card": ["x"] });
    for shown in SHOWN {
        refused::<Bson>(doc! { "a": 1, shown: hex });
        refused::<Document>(doc! { "a": [{ shown: hex }] });
        refused::<BTreeMap<String, Bson>>(doc! { "a": { shown: hex } });
    }
}

#[test]
fn damaged_bytes_are_left() {
    let order = order(Payment::Cash, Kind::Number(1));
    let good = bson::serialize_to_vec(&order).unwrap();
    assert_eq!(decode(&good), Some(order));
    for end in 0..good.len() {
        assert_eq!(decode::<Order>(&good[..end]), None);
    }
    for at in 0..good.len() {
        for bit in 0..8 {
            let mut bad = good.clone();
            bad[at] ^= 1 << bit;
            // Damage may make other values, and never a panic.
            let _ = decode::<Order>(&bad);
            let _ = decode::<Bson>(&bad);
        }
    }
}

#[test]
fn deep_documents_are_left() {
    let mut document = doc! {};
    for _ in 0..MAX_DEPTH - 2 {
        document = doc! { "a": document };
    }
    let fits = RawDocumentBuf::try_from(&document).unwrap();
    assert_eq!(decode(fits.as_bytes()), Some(document.clone()));
    let deep = RawDocumentBuf::try_from(&doc! { "a": [[document]] }).unwrap();
    assert_eq!(decode::<Document>(deep.as_bytes()), None);
}

#[test]
fn what_stays_raw_is_decoded_without_a_detour() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Raw {
        values: Vec<RawBson>,
        document: RawDocumentBuf,
        array: RawArrayBuf,
        some: Option<RawBson>,
        none: Option<RawBson>,
        #[serde(default)]
        missing: Option<RawBson>,
    }
    let inner = doc! { "a": [1, { "b": "c" }], "d": {} };
    let document = doc! {
        "values": [
            inner.clone(), [], [inner.clone(), 2], ObjectId::new(), DateTime::from_millis(-5), 1, 2_i64, 0.5, "text", true,
            Bson::Null, Decimal128::from_bytes([7; 16]), Binary { subtype: BinarySubtype::Generic, bytes: vec![1, 2] },
        ],
        "document": inner,
        "array": ["x", { "y": 1 }],
        "some": 3,
        "none": null,
    };
    check::<Raw>(&RawDocumentBuf::try_from(&document).unwrap());
}

#[test]
fn fields_in_another_order_or_number_are_decoded_by_their_names() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Generic<T> {
        a: T,
        #[serde(default = "seven")]
        b: Option<i64>,
        c: Inner,
    }
    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        #[serde(alias = "old")]
        x: bool,
        y: f64,
    }
    fn seven() -> Option<i64> {
        Some(7)
    }
    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Strict {
        a: i32,
        #[serde(skip)]
        skipped: i32,
        b: String,
    }
    for document in [
        rawdoc! { "a": "x", "b": 1_i64, "c": { "x": true, "y": 1.5 } },
        rawdoc! { "a": "x", "b": 1_i64, "c": { "old": true, "y": 1.5 } },
        rawdoc! { "a": "x", "b": 1, "c": { "y": 1.5, "x": true } },
        rawdoc! { "a": "x", "c": { "x": true, "y": 2 } },
        rawdoc! { "b": null, "a": "x", "c": { "x": true, "y": 2_i64 } },
        rawdoc! { "a": "x", "b": null, "c": { "x": true, "y": 1.5, "z": 1 }, "d": 1 },
    ] {
        check::<Generic<String>>(&document);
    }
    // By position the second of these would be taken for the third.
    #[derive(Debug, PartialEq, Deserialize)]
    struct Renamed {
        #[serde(alias = "old")]
        x: i32,
        y: i32,
    }
    check::<Renamed>(&rawdoc! { "old": 1, "y": 3 });
    for document in [
        rawdoc! { "x": 1, "old": 2, "y": 3 },
        rawdoc! { "old": 1, "x": 2, "y": 3 },
    ] {
        assert_eq!(both::<Renamed>(&document), (None, None), "{document:?}");
    }
    let strict = |document: &RawDocumentBuf| both::<Strict>(document);
    assert!(matches!(strict(&rawdoc! { "a": 1, "b": "x" }), (Some(a), Some(b)) if a == b));
    for document in [
        rawdoc! { "a": 1, "b": "x", "c": 1 },
        rawdoc! { "a": 1 },
        rawdoc! { "a": 1, "b": "x", "b": "y" },
        rawdoc! { "a": 1, "skipped": 1, "b": "x" },
    ] {
        assert_eq!(strict(&document), (None, None), "{document:?}");
    }
}

#[test]
fn derived_visitors_are_known() {
    /// Says of a struct's visitor whether it is one.
    struct Asked;
    impl<'de> Deserializer<'de> for Asked {
        type Error = Unfit;
        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value> {
            Err(if is_derived::<V>() {
                Unfit::Rare
            } else {
                Unfit::Left
            })
        }
        forward_to_deserialize_any! {
            bool char str bytes byte_buf unit unit_struct string identifier seq tuple tuple_struct struct map option enum
            i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 ignored_any newtype_struct
        }
    }
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "its visitor is asked for")]
    struct Of<T> {
        inner: T,
    }
    let asked = [
        Line::deserialize(Asked).map(drop),
        Of::<Line>::deserialize(Asked).map(drop),
        Of::<Of<i32>>::deserialize(Asked).map(drop),
    ];
    assert!(
        asked.iter().all(|asked| matches!(asked, Err(Unfit::Rare))),
        "{asked:?}"
    );
    let traced = serde_path_to_error::deserialize::<_, Of<Line>>(Asked).unwrap_err();
    assert!(matches!(traced.into_inner(), Unfit::Left));
    assert!(matches!(Bson::deserialize(Asked), Err(Unfit::Left)));
}
