//! How deep a value of any type is nested, before a serializer that does not ask takes it.

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use super::shape::{MAX_DEPTH, too_deep};
use super::unfit::Unfit;
use crate::error::Result;

/// Checks that a value is nested at most [`MAX_DEPTH`] deep.
///
/// # Errors
/// `InvalidArgument` for too deep nesting. What else is wrong with the value its serializer says.
pub(super) fn check<T: Serialize + ?Sized>(value: &T) -> Result<()> {
    check_inside(0, value)
}

/// Checks it of a value that is in so many documents and arrays.
///
/// # Errors
/// As of [`check`].
pub(super) fn check_inside<T: Serialize + ?Sized>(depth: usize, value: &T) -> Result<()> {
    let mut is_too_deep = false;
    let _ = value.serialize(Nesting {
        depth,
        is_too_deep: &mut is_too_deep,
    });
    match is_too_deep {
        true => Err(too_deep()),
        false => Ok(()),
    }
}

/// Goes through a value and writes nothing.
struct Nesting<'n> {
    /// How many documents and arrays are open.
    depth: usize,
    is_too_deep: &'n mut bool,
}

type Done<T> = std::result::Result<T, Unfit>;

impl<'n> Nesting<'n> {
    fn open(self) -> Done<Nesting<'n>> {
        if self.depth >= MAX_DEPTH {
            *self.is_too_deep = true;
            return Err(Unfit::Left);
        }
        Ok(Nesting {
            depth: self.depth + 1,
            is_too_deep: self.is_too_deep,
        })
    }

    fn inner<T: Serialize + ?Sized>(&mut self, value: &T) -> Done<()> {
        value.serialize(Nesting {
            depth: self.depth,
            is_too_deep: self.is_too_deep,
        })
    }
}

macro_rules! plain {
    ($($method:ident($($value:ty)?);)*) => {$(
        fn $method(self $(, _: $value)?) -> Done<()> {
            Ok(())
        }
    )*};
}

impl<'n> Serializer for Nesting<'n> {
    type Ok = ();
    type Error = Unfit;
    type SerializeSeq = Nesting<'n>;
    type SerializeTuple = Nesting<'n>;
    type SerializeTupleStruct = Nesting<'n>;
    type SerializeTupleVariant = Nesting<'n>;
    type SerializeMap = Nesting<'n>;
    type SerializeStruct = Nesting<'n>;
    type SerializeStructVariant = Nesting<'n>;

    plain! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_f32(f32);
        serialize_f64(f64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done<()> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Done<()> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Done<()> {
        value.serialize(self.open()?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Done<Self> {
        self.open()
    }

    fn serialize_tuple(self, _: usize) -> Done<Self> {
        self.open()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Done<Self> {
        self.open()
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Done<Self> {
        self.open()?.open()
    }

    fn serialize_map(self, _: Option<usize>) -> Done<Self> {
        self.open()
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Done<Self> {
        match name.starts_with('$') {
            // By which `bson` means one value.
            true => Ok(self),
            false => self.open(),
        }
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Done<Self> {
        self.open()?.open()
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

macro_rules! parts {
    ($($of:ident :: $part:ident($($name:ty)?);)*) => {$(
        impl $of for Nesting<'_> {
            type Ok = ();
            type Error = Unfit;

            fn $part<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Done<()> {
                self.inner(value)
            }

            fn end(self) -> Done<()> {
                Ok(())
            }
        }
    )*};
}

parts! {
    SerializeSeq::serialize_element();
    SerializeTuple::serialize_element();
    SerializeTupleStruct::serialize_field();
    SerializeTupleVariant::serialize_field();
    SerializeStruct::serialize_field(&'static str);
    SerializeStructVariant::serialize_field(&'static str);
}

impl SerializeMap for Nesting<'_> {
    type Ok = ();
    type Error = Unfit;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Done<()> {
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done<()> {
        self.inner(value)
    }

    fn end(self) -> Done<()> {
        Ok(())
    }
}
