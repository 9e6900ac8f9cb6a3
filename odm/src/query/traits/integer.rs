//! Whole numbers.

use crate::model::{Newtype, Numeric};

/// A type stored as a whole number: what operators on bits need.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an integer",
    label = "bits are those of an integer",
    note = "integers and newtypes of them have bits"
)]
pub trait Integer: Numeric {}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Integer for $type {}
    )*};
}

integers!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize bson::Bson);

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Integer>> Integer for T {}
impl<T: Integer> Integer for Option<T> {}
