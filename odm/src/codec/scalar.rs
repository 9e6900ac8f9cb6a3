//! Values that are no documents and no arrays, encoded without a document around them: what most operands are.

use std::fmt;

use bson::oid::ObjectId;
use bson::{DateTime, RawBson};
use serde::Serialize;
use serde::ser::{Error, Impossible, SerializeStruct, Serializer};

/// The value as `bson`'s serializer stores it; `None` for what is to be asked of that itself: other values, and those
/// that do not fit.
pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Option<RawBson> {
    value.serialize(Scalar { in_date: false }).ok()
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Scalar {
    /// In what `bson` serializes a date as.
    in_date: bool,
}

/// Another value, or one that does not fit.
#[derive(Debug)]
struct Other;

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a scalar")
    }
}

impl std::error::Error for Other {}

impl Error for Other {
    fn custom<T: fmt::Display>(_: T) -> Other {
        Other
    }
}

type Scalars = Result<RawBson, Other>;

impl Serializer for Scalar {
    type Ok = RawBson;
    type Error = Other;
    type SerializeSeq = Impossible<RawBson, Other>;
    type SerializeTuple = Impossible<RawBson, Other>;
    type SerializeTupleStruct = Impossible<RawBson, Other>;
    type SerializeTupleVariant = Impossible<RawBson, Other>;
    type SerializeMap = Impossible<RawBson, Other>;
    type SerializeStruct = Wrapped;
    type SerializeStructVariant = Impossible<RawBson, Other>;

    fn serialize_bool(self, value: bool) -> Scalars {
        Ok(RawBson::Boolean(value))
    }

    fn serialize_i8(self, value: i8) -> Scalars {
        Ok(RawBson::Int32(value.into()))
    }

    fn serialize_i16(self, value: i16) -> Scalars {
        Ok(RawBson::Int32(value.into()))
    }

    fn serialize_i32(self, value: i32) -> Scalars {
        Ok(RawBson::Int32(value))
    }

    fn serialize_i64(self, value: i64) -> Scalars {
        Ok(RawBson::Int64(value))
    }

    fn serialize_u8(self, value: u8) -> Scalars {
        Ok(RawBson::Int32(value.into()))
    }

    fn serialize_u16(self, value: u16) -> Scalars {
        Ok(RawBson::Int32(value.into()))
    }

    fn serialize_u32(self, value: u32) -> Scalars {
        Ok(RawBson::Int64(value.into()))
    }

    fn serialize_u64(self, value: u64) -> Scalars {
        i64::try_from(value).map(RawBson::Int64).map_err(|_| Other)
    }

    fn serialize_f32(self, value: f32) -> Scalars {
        Ok(RawBson::Double(value.into()))
    }

    fn serialize_f64(self, value: f64) -> Scalars {
        Ok(RawBson::Double(value))
    }

    fn serialize_char(self, value: char) -> Scalars {
        Ok(RawBson::String(value.into()))
    }

    fn serialize_str(self, value: &str) -> Scalars {
        Ok(RawBson::String(value.to_owned()))
    }

    fn serialize_bytes(self, _: &[u8]) -> Scalars {
        Err(Other)
    }

    fn serialize_none(self) -> Scalars {
        Ok(RawBson::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Scalars {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Scalars {
        Ok(RawBson::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Scalars {
        Ok(RawBson::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Scalars {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Scalars {
        match name.starts_with('$') {
            // `bson`'s own, which mean something.
            true => Err(Other),
            false => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Scalars {
        Err(Other)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Other> {
        Err(Other)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Other> {
        Err(Other)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Other> {
        Err(Other)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Other> {
        Err(Other)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Other> {
        Err(Other)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Wrapped, Other> {
        let kind = match (self.in_date, name) {
            (true, _) => Kind::Millis,
            (false, "$oid") => Kind::ObjectId,
            (false, "$date") => Kind::Date,
            _ => return Err(Other),
        };
        Ok(Wrapped { kind, value: None })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Other> {
        Err(Other)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What `bson` serializes as a struct of one field.
struct Wrapped {
    kind: Kind,
    value: Option<RawBson>,
}

#[derive(Clone, Copy)]
enum Kind {
    ObjectId,
    Date,
    Millis,
}

impl SerializeStruct for Wrapped {
    type Ok = RawBson;
    type Error = Other;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Other> {
        let in_date = matches!(self.kind, Kind::Date);
        let value = value.serialize(Scalar { in_date })?;
        let value = match (self.kind, key, value) {
            (Kind::ObjectId, "$oid", RawBson::String(digits)) => {
                RawBson::ObjectId(ObjectId::parse_str(digits).map_err(|_| Other)?)
            }
            (Kind::Date, "$date", value @ RawBson::DateTime(_)) => value,
            (Kind::Millis, "$numberLong", RawBson::String(digits)) => {
                RawBson::DateTime(DateTime::from_millis(digits.parse().map_err(|_| Other)?))
            }
            _ => return Err(Other),
        };
        match self.value.replace(value) {
            None => Ok(()),
            Some(_) => Err(Other),
        }
    }

    fn end(self) -> Scalars {
        self.value.ok_or(Other)
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, Decimal128, Timestamp, Uuid, doc};

    use super::super::encode_by_document;
    use super::*;

    #[derive(Serialize)]
    enum Choice {
        Plain,
        With(i32),
        Fields { a: i32 },
    }

    #[derive(Serialize)]
    struct New<T>(T);

    #[derive(Serialize)]
    struct Nothing;

    #[derive(Serialize)]
    #[serde(rename = "Int64")]
    struct Long {
        #[serde(rename = "$numberLong")]
        value: String,
    }

    /// What is encoded here is what `bson` makes of it; the rest is left to it.
    fn check(scalar: bool, value: &(impl Serialize + ?Sized)) {
        let encoded = encode(value);
        assert_eq!(encoded.is_some(), scalar);
        if let Some(encoded) = encoded {
            assert_eq!(encoded, encode_by_document(value).unwrap());
        }
    }

    #[test]
    fn scalars_are_encoded_as_in_documents() {
        check(true, &true);
        check(true, &-1_i8);
        check(true, &-2_i16);
        check(true, &-3_i32);
        check(true, &1_u8);
        check(true, &2_u16);
        check(true, &3_u32);
        check(true, &i64::MIN);
        check(true, &5_u64);
        check(false, &u64::MAX);
        check(true, &0.1_f32);
        check(true, &f64::INFINITY);
        check(true, &-0.0_f64);
        check(true, "text\0");
        check(true, &'é');
        check(true, &String::new());
        check(true, &None::<i32>);
        check(true, &Some("x"));
        check(true, &());
        check(true, &Choice::Plain);
        check(true, &Nothing);
        check(true, &New(7));
        check(true, &ObjectId::from_bytes([7; 12]));
        for millis in [0, -1, i64::MIN, i64::MAX] {
            check(true, &DateTime::from_millis(millis));
            check(true, &Some(New(DateTime::from_millis(millis))));
        }
    }

    #[test]
    fn other_values_are_left_to_the_document() {
        check(false, &Choice::With(1));
        check(false, &Choice::Fields { a: 1 });
        check(false, &[1, 2][..]);
        check(false, &(1, 2));
        check(false, &doc! { "a": 1 });
        check(
            false,
            &Long {
                value: "5".to_owned(),
            },
        );
        check(false, &Uuid::from_bytes([1; 16]));
        check(
            false,
            &Timestamp {
                time: 1,
                increment: 2,
            },
        );
        check(false, &Decimal128::from_bytes([0; 16]));
        check(false, &Bson::MaxKey);
        check(false, &Bson::Undefined);
        check(true, &Bson::Null);
        check(false, &1_u128);
        check(false, &doc! { "$oid": "x" });
    }
}
