//! What typed operators are written as.

mod filter;
mod operand;
mod sort;
mod update;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Embedded, Id, Model};

#[derive(Serialize, Deserialize, Model)]
#[odm(crate = crate)]
pub(super) struct Book {
    #[serde(rename = "_id")]
    id: Id<Book>,
    title: String,
    subtitle: Option<String>,
    year: i32,
    pages: Option<i64>,
    price: f64,
    available: u32,
    flags: i64,
    big: u64,
    kind: Kind,
    isbn: Isbn,
    authors: Vec<String>,
    ratings: Vec<i32>,
    grid: Vec<Vec<i32>>,
    checkouts: Vec<Checkout>,
    publisher: Publisher,
    printer: Option<Publisher>,
    titles: BTreeMap<String, String>,
    added: bson::DateTime,
    stamp: bson::Timestamp,
    patterns: Vec<bson::Regex>,
    pattern: bson::Regex,
    extra: bson::Bson,
    #[serde(with = "hex")]
    code: u32,
    #[serde(with = "hex_option")]
    old_code: Option<u32>,
    #[serde(with = "hex_list")]
    codes: Vec<u32>,
}

#[derive(Serialize, Deserialize, Clone, Copy, Embedded)]
#[odm(crate = crate)]
pub(super) enum Kind {
    Novel,
    #[serde(rename = "verse")]
    Poetry,
}

#[derive(Serialize, Deserialize, Clone, Embedded)]
#[odm(crate = crate)]
pub(super) struct Isbn(String);

#[derive(Serialize, Deserialize, Clone, Embedded)]
#[odm(crate = crate)]
pub(super) struct Checkout {
    by: String,
    days: i32,
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize, Clone, Embedded)]
#[odm(crate = crate)]
pub(super) struct Publisher {
    name: String,
    founded: i32,
}

/// Numbers stored as text.
pub(super) mod hex {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{value:x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}

pub(super) mod hex_option {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &Option<u32>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::hex::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| u32::from_str_radix(&text, 16).map_err(serde::de::Error::custom))
            .transpose()
    }
}

pub(super) mod hex_list {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[u32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(|value| format!("{value:x}")))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts
            .iter()
            .map(|text| u32::from_str_radix(text, 16).map_err(serde::de::Error::custom))
            .collect()
    }
}

pub(super) fn checkout(by: &str, days: i32) -> Checkout {
    Checkout {
        by: by.to_owned(),
        days,
        notes: Vec::new(),
    }
}

pub(super) fn regex(pattern: &str) -> bson::Regex {
    bson::Regex {
        pattern: pattern.to_owned().try_into().unwrap(),
        options: bson::raw::cstr!("").into(),
    }
}
