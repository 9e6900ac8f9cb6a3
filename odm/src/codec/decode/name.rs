//! The names of fields.

use std::str::FromStr;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Error as _, Expected, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::{PRIVATE, Result, Unfit, unfit, visitors};

/// The name of a field, which may be a map's key: of any type that is written as text.
pub(super) struct Name<'de>(pub(super) &'de [u8]);

impl<'de> Name<'de> {
    fn text(&self) -> Result<BorrowedStrDeserializer<'de, Unfit>> {
        let text = str::from_utf8(self.0).map_err(|_| Unfit::Left)?;
        Ok(BorrowedStrDeserializer::new(text))
    }

    /// What is written just like this.
    fn parsed<T: FromStr + ToString>(&self, expected: &dyn Expected) -> Result<T> {
        unfit::other_name();
        let text = str::from_utf8(self.0).map_err(|_| Unfit::Left)?;
        let parsed = text.parse().ok().filter(|parsed: &T| parsed.to_string() == text);
        parsed.ok_or_else(|| Unfit::invalid_value(Unexpected::Str(text), expected))
    }
}

macro_rules! parsed {
    ($($method:ident($type:ty) $visit:ident;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
            let value: $type = self.parsed(&visitor)?;
            visitor.$visit(value)
        }
    )*};
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.text()?.deserialize_any(visitor)
    }

    /// It is compared with the names of a type: whether it is text shows there.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        // What follows the path keeps no bytes.
        match visitors::is_tracing::<V>() {
            true => self.deserialize_any(visitor),
            false => visitor.visit_borrowed_bytes(self.0),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        self.text()?.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match name.starts_with(PRIVATE) {
            true => self.deserialize_any(visitor),
            false => visitor.visit_newtype_struct(self),
        }
    }

    parsed! {
        deserialize_bool(bool) visit_bool;
        deserialize_i8(i8) visit_i8;
        deserialize_i16(i16) visit_i16;
        deserialize_i32(i32) visit_i32;
        deserialize_i64(i64) visit_i64;
        deserialize_i128(i128) visit_i128;
        deserialize_u8(u8) visit_u8;
        deserialize_u16(u16) visit_u16;
        deserialize_u32(u32) visit_u32;
        deserialize_u64(u64) visit_u64;
        deserialize_u128(u128) visit_u128;
    }

    fn is_human_readable(&self) -> bool {
        true
    }

    forward_to_deserialize_any! {
        char str bytes byte_buf unit unit_struct string seq tuple tuple_struct struct map f32 f64 ignored_any
    }
}
