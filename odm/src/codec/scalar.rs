//! Values that are no documents and no arrays, encoded without a document around them: what most operands are.

use bson::oid::ObjectId;
use bson::{DateTime, Decimal128, RawBson};
use serde::Serialize;
use serde::ser::{Impossible, SerializeStruct, Serializer};

use super::unfit::Unfit;

/// The value as `bson`'s serializer stores it; `None` for what is to be asked of that itself: other values, and those
/// that do not fit.
pub(super) fn encode<T: Serialize + ?Sized>(value: &T) -> Option<RawBson> {
    value.serialize(Scalar(Part::Value)).ok()
}

/// What takes a value.
#[derive(Clone, Copy)]
struct Scalar(Part);

/// Of what it is a part: `bson` serializes some of its types as structs of one field.
#[derive(Clone, Copy)]
enum Part {
    Value,
    ObjectId,
    Date,
    Millis,
    Decimal,
}

type Scalars = Result<RawBson, Unfit>;

impl Serializer for Scalar {
    type Ok = RawBson;
    type Error = Unfit;
    type SerializeSeq = Impossible<RawBson, Unfit>;
    type SerializeTuple = Impossible<RawBson, Unfit>;
    type SerializeTupleStruct = Impossible<RawBson, Unfit>;
    type SerializeTupleVariant = Impossible<RawBson, Unfit>;
    type SerializeMap = Impossible<RawBson, Unfit>;
    type SerializeStruct = Wrapped;
    type SerializeStructVariant = Impossible<RawBson, Unfit>;

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
        i64::try_from(value).map(RawBson::Int64).map_err(|_| Unfit::Left)
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
        match self.0 {
            Part::Value => Ok(RawBson::String(value.to_owned())),
            Part::ObjectId => ObjectId::parse_str(value)
                .map(RawBson::ObjectId)
                .map_err(|_| Unfit::Left),
            Part::Millis => {
                let millis = value.parse().map_err(|_| Unfit::Left)?;
                Ok(RawBson::DateTime(DateTime::from_millis(millis)))
            }
            Part::Date | Part::Decimal => Err(Unfit::Left),
        }
    }

    fn serialize_bytes(self, value: &[u8]) -> Scalars {
        match (self.0, value.try_into()) {
            (Part::Decimal, Ok(bytes)) => Ok(RawBson::Decimal128(Decimal128::from_bytes(bytes))),
            _ => Err(Unfit::Left),
        }
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
            true => Err(Unfit::Left),
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
        Err(Unfit::Left)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Unfit> {
        Err(Unfit::Left)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unfit> {
        Err(Unfit::Left)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Unfit> {
        Err(Unfit::Left)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unfit> {
        Err(Unfit::Left)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Unfit> {
        Err(Unfit::Left)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Wrapped, Unfit> {
        match self.0 {
            Part::Value => Wrapped::of(name).ok_or(Unfit::Left),
            Part::Date => Ok(Wrapped::new(Part::Millis)),
            Part::ObjectId | Part::Millis | Part::Decimal => Err(Unfit::Left),
        }
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unfit> {
        Err(Unfit::Left)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What `bson` serializes as a struct of one field.
pub(super) struct Wrapped {
    part: Part,
    value: Option<RawBson>,
}

impl Wrapped {
    /// The value that `bson` means by a struct of this name, if it is one of those that are known here.
    pub(super) fn of(name: &str) -> Option<Wrapped> {
        let part = match name {
            "$oid" => Part::ObjectId,
            "$date" => Part::Date,
            "$numberDecimal" => Part::Decimal,
            _ => return None,
        };
        Some(Wrapped::new(part))
    }

    fn new(part: Part) -> Wrapped {
        Wrapped { part, value: None }
    }
}

impl SerializeStruct for Wrapped {
    type Ok = RawBson;
    type Error = Unfit;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Unfit> {
        let value = value.serialize(Scalar(self.part))?;
        let fits = matches!(
            (self.part, key, &value),
            (Part::ObjectId, "$oid", RawBson::ObjectId(_))
                | (Part::Date, "$date", RawBson::DateTime(_))
                | (Part::Millis, "$numberLong", RawBson::DateTime(_))
                | (Part::Decimal, "$numberDecimalBytes", RawBson::Decimal128(_))
        );
        match fits && self.value.replace(value).is_none() {
            true => Ok(()),
            false => Err(Unfit::Left),
        }
    }

    fn end(self) -> Scalars {
        self.value.ok_or(Unfit::Left)
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, Timestamp, Uuid, doc};

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
        check(true, &Decimal128::from_bytes([7; 16]));
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
        check(false, &Bson::MaxKey);
        check(false, &Bson::Undefined);
        check(true, &Bson::Null);
        check(false, &1_u128);
        check(false, &doc! { "$oid": "x" });
    }
}
