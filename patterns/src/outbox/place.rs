//! Where the documents of a model have their outboxes.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use odm::Model;
use serde::de::value::Error;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor, value::StrDeserializer,
};
use serde::{Deserialize, forward_to_deserialize_any};

use super::message::Outbox;

/// How deep outboxes are looked for.
const DEPTH: usize = 4;

/// The paths of a model's fields of the type [`Outbox`], also inside of embedded documents. What is flattened into a
/// document, and what reads itself in its own way, is not looked into.
///
/// The types are asked, by letting serde read a document that has one field only: names of types are no sign of them.
pub(crate) fn outboxes_of<M: Model>() -> Arc<[String]> {
    static KNOWN: Mutex<BTreeMap<TypeId, Arc<[String]>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(TypeId::of::<M>()).or_insert_with(find::<M>).clone()
}

fn find<M: Model>() -> Arc<[String]> {
    let outbox = struct_at(&[], |probe| Outbox::deserialize(probe).err());
    let fields = M::DESCRIPTOR.fields.iter().map(|field| field.stored);
    let mut paths: Vec<Vec<&'static str>> = fields
        .filter(|name| !name.is_empty())
        .map(|name| vec![name])
        .collect();
    let mut found = Vec::new();
    while let Some(path) = paths.pop() {
        let Some(one) = struct_at(&path, |probe| M::deserialize(probe).err()) else {
            continue;
        };
        if Some(one) == outbox {
            found.push(path.join("."));
        } else if path.len() < DEPTH {
            let below = one.fields.iter().map(|field| [&path[..], &[field]].concat());
            paths.extend(below);
        }
    }
    found.into()
}

/// The struct that a type has at a path, if it has one.
fn struct_at(path: &[&'static str], read: impl FnOnce(Probe<'_>) -> Option<Error>) -> Option<Struct> {
    let mut found = None;
    read(Probe {
        path,
        found: &mut found,
    });
    found
}

/// A struct as serde knows it.
#[derive(Clone, Copy, PartialEq)]
struct Struct {
    name: &'static str,
    fields: &'static [&'static str],
}

/// Follows a path, and notes the struct at its end. It never gives a value.
struct Probe<'a> {
    path: &'a [&'static str],
    found: &'a mut Option<Struct>,
}

impl<'a> Probe<'a> {
    fn step<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.path.split_first() {
            Some((field, path)) => visitor.visit_map(OneField {
                field: Some(field),
                rest: Some(Probe {
                    path,
                    found: self.found,
                }),
            }),
            None => Err(end()),
        }
    }
}

fn end() -> Error {
    Error::custom("the end of the path")
}

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(end())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.path.is_empty() {
            *self.found = Some(Struct { name, fields });
        }
        self.step(visitor)
    }

    // What has something flattened into it.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.step(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct enum identifier ignored_any
    }
}

/// A document of one field.
struct OneField<'a> {
    field: Option<&'static str>,
    rest: Option<Probe<'a>>,
}

impl<'de> MapAccess<'de> for OneField<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let name = self.field.take();
        let name: Option<StrDeserializer<'_, Error>> = name.map(IntoDeserializer::into_deserializer);
        name.map(|name| seed.deserialize(name)).transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let rest = self.rest.take().ok_or_else(end)?;
        seed.deserialize(rest)
    }
}

#[cfg(test)]
mod tests {
    use odm::Embedded;
    use serde::Serialize;

    use super::*;

    type Alias = Outbox;

    #[derive(Serialize, Deserialize, Embedded)]
    struct Nested {
        name: String,
        events: Option<Outbox>,
        deeper: Option<Deeper>,
    }

    #[derive(Serialize, Deserialize, Embedded)]
    struct Deeper {
        #[serde(rename = "out")]
        inner: Outbox,
    }

    #[derive(Serialize, Deserialize, Model)]
    struct Many {
        #[serde(rename = "_id")]
        id: i32,
        #[serde(rename = "box", default)]
        first: Alias,
        nested: Nested,
        list: Vec<Nested>,
    }

    #[derive(Serialize, Deserialize, Embedded)]
    struct Rest {
        text: String,
    }

    #[derive(Serialize, Deserialize, Model)]
    struct Flattened {
        #[serde(rename = "_id")]
        id: i32,
        outbox: Outbox,
        #[serde(flatten)]
        rest: Rest,
    }

    #[derive(Serialize, Deserialize, Model)]
    struct Without {
        #[serde(rename = "_id")]
        id: i32,
        #[serde(default)]
        words: Vec<String>,
    }

    #[test]
    fn outboxes_are_found_by_their_type() {
        let mut many = outboxes_of::<Many>().to_vec();
        many.sort_unstable();
        assert_eq!(many, ["box", "nested.deeper.out", "nested.events"]);
        assert_eq!(outboxes_of::<Flattened>()[..], ["outbox"]);
        assert!(outboxes_of::<Without>().is_empty());
    }
}
