//! Maps whose keys are no text, there and back.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use bson::oid::ObjectId;
use bson::{Timestamp, Uuid, doc, rawdoc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    Small,
    Large,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Sku(String);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Shelf(u16);

/// The key is stored under this name, read again, and is what a path calls it.
#[track_caller]
fn check<K: Ord + Clone + Debug + Serialize + DeserializeOwned>(key: K, name: &str) {
    let map = BTreeMap::from([(key.clone(), vec![1])]);
    let encoded = encode_document(&map).unwrap();
    assert_eq!(decode_untyped(&encoded).unwrap(), doc! { name: [1] });
    assert_eq!(decode_document::<BTreeMap<K, Vec<i32>>>(&encoded).unwrap(), map);
    assert_eq!(encode_name(&key).unwrap(), name);
}

#[test]
fn keys_of_every_type_that_has_a_text() {
    check("en".to_owned(), "en");
    check(-5_i8, "-5");
    check(u16::MAX, "65535");
    check(i32::MIN, "-2147483648");
    check(i64::MIN, "-9223372036854775808");
    check(u64::MAX, "18446744073709551615");
    check(u128::MAX, "340282366920938463463374607431768211455");
    check(true, "true");
    check('é', "é");
    check(Size::Large, "large");
    check(Sku("a-1".to_owned()), "a-1");
    check(Shelf(7), "7");
    check(Some(Shelf(7)), "7");
    check(ObjectId::from_bytes([7; 12]), "070707070707070707070707");
    check(
        crate::Id::<Sku>::from(ObjectId::from_bytes([1; 12])),
        "010101010101010101010101",
    );
    check(Uuid::from_bytes([5; 16]), "05050505-0505-0505-0505-050505050505");
}

#[test]
fn rare_values_lie_beside_them() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Mixed {
        counts: HashMap<i32, Timestamp>,
        inner: BTreeMap<bool, BTreeMap<Shelf, bson::Regex>>,
    }
    let at = Timestamp {
        time: 1,
        increment: 2,
    };
    let regex = bson::Regex {
        pattern: bson::raw::cstr!("a").into(),
        options: bson::raw::cstr!("i").into(),
    };
    let mixed = Mixed {
        counts: HashMap::from([(3, at)]),
        inner: BTreeMap::from([(false, BTreeMap::from([(Shelf(1), regex.clone())]))]),
    };
    let encoded = encode_document(&mixed).unwrap();
    assert_eq!(
        decode_untyped(&encoded).unwrap(),
        doc! { "counts": { "3": at }, "inner": { "false": { "1": regex } } }
    );
    assert_eq!(decode_document::<Mixed>(&encoded).unwrap(), mixed);
}

#[derive(Debug, Serialize, Deserialize)]
struct Outer<K: Ord> {
    counts: BTreeMap<K, i32>,
    last: u64,
}

#[track_caller]
fn refused<K: Ord + Serialize>(key: K, last: u64) -> Error {
    let counts = BTreeMap::from([(key, 1)]);
    let error = encode_document(&Outer { counts, last }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encode);
    error
}

#[test]
fn keys_without_a_text_are_refused() {
    for error in [refused([1], 1), refused((), 1), refused(Some(((), 1)), 1)] {
        assert!(error.message().contains("a map's key is text"), "{error}");
        assert_eq!(error.path(), Some("counts"));
    }
    assert_eq!(encode_name(&1.5).unwrap_err().kind(), ErrorKind::Encode);
    assert_eq!(encode_name("a\0").unwrap_err().kind(), ErrorKind::Encode);
}

#[test]
fn errors_beside_them_are_named() {
    let error = refused(1, u64::MAX);
    assert!(error.message().contains("above 2^63 - 1"), "{error}");
    assert_eq!(error.path(), Some("last"));
    let fails = |document: RawDocumentBuf| {
        let error = decode_document::<Outer<i32>>(&document).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode);
        (
            error.path().unwrap_or_default().to_owned(),
            error.message().to_owned(),
        )
    };
    let (path, message) = fails(rawdoc! { "counts": { "1": 1 }, "last": "x" });
    assert_eq!(path, "last");
    assert!(
        message.contains("invalid type: string \"x\", expected u64"),
        "{message}"
    );
    for wrong in ["x", "01", "+1", "2147483648", "", "1.0"] {
        let (path, message) =
            fails(encode_untyped(&doc! { "counts": { "1": 1, wrong: 2 }, "last": 1 }).unwrap());
        assert_eq!(path, "counts");
        assert!(message.contains("expected i32"), "{message}");
    }
    let (_, message) = fails(rawdoc! { "counts": { "1": 1 } });
    assert!(message.contains("missing field `last`"), "{message}");
}
