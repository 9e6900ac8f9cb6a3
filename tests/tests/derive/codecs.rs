//! Operands and keys are encoded by their field's own codec.

use odm::bson::rawdoc;
use odm::{Embedded, Model};
use serde::{Deserialize, Serialize};

use super::stored;

pub(crate) mod reversed {
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(crate) fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        text.chars().rev().collect::<String>().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Ok(String::deserialize(deserializer)?.chars().rev().collect())
    }
}

fn as_text<S: serde::Serializer>(number: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

fn from_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    String::deserialize(deserializer)?
        .parse()
        .map_err(serde::de::Error::custom)
}

#[derive(Debug, Serialize, Deserialize, Model)]
struct Coded {
    #[serde(rename = "_id", with = "reversed")]
    id: String,
    #[serde(with = "reversed")]
    title: String,
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    number: u128,
    inner: Inner,
    kind: Kind,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
struct Inner {
    #[serde(with = "reversed")]
    title: String,
}

#[derive(Debug, Serialize, Deserialize, Embedded)]
enum Kind {
    Named {
        #[serde(with = "reversed")]
        name: String,
    },
    Numbered(#[serde(serialize_with = "as_text", deserialize_with = "from_text")] u128),
}

#[test]
fn operands_are_encoded_as_the_field_is() {
    let c = Coded::fields();
    let filter = c.title.eq("abc") & c.inner.title.eq("xyz") & c.kind.named.name.eq("no");
    let expected = rawdoc! { "title": "cba", "inner.title": "zyx", "kind.Named.name": "on" };
    assert_eq!(filter.to_document().unwrap(), expected);
    let filter = c.number.eq(u128::MAX) & c.kind.numbered.eq(7_u128);
    let expected = rawdoc! { "number": u128::MAX.to_string(), "kind.Numbered": "7" };
    assert_eq!(filter.to_document().unwrap(), expected);
    let value = Coded {
        id: "one".into(),
        title: "abc".into(),
        number: 1,
        inner: Inner { title: "xyz".into() },
        kind: Kind::Named { name: "no".into() },
    };
    assert_eq!(stored(&value).get_str("title").unwrap(), "cba");
    assert!(matches!(value.kind, Kind::Named { .. }) && !matches!(value.kind, Kind::Numbered(_)));
}

#[test]
fn keys_have_their_codec() {
    let codec = Coded::KEY_CODEC.unwrap();
    assert_eq!(
        codec(&"one".to_owned()).unwrap(),
        odm::bson::RawBson::String("eno".into())
    );
}
