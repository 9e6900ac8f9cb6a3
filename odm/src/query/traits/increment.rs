//! Numbers that can be added to.

use serde::Serialize;

use crate::model::{Newtype, Numeric};

/// A number together with the type of what can be added to it: signed where the number itself is not, so that
/// `b.available.inc(-1)` works for a `u32`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number",
    label = "arithmetic needs a number",
    note = "integers, floats, `bson::Decimal128` and newtypes of them are numbers"
)]
pub trait Increment: Numeric {
    /// The type of what is added. Stored as the number itself is.
    type Step: Serialize;

    /// The step as a value of the number's type, if it is one: for numbers with their own serde codec.
    #[doc(hidden)]
    fn from_step(step: &Self::Step) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = step;
        None
    }
}

macro_rules! steps {
    ($($number:ty: $step:ty;)*) => {$(
        impl Increment for $number {
            type Step = $step;

            fn from_step(step: &$step) -> Option<$number> {
                <$number>::try_from(*step).ok()
            }
        }
    )*};
}

// Small integers are stored as int32, u32 and wider ones as int64.
steps! {
    i8: i32;
    i16: i32;
    i32: i32;
    i64: i64;
    isize: i64;
    u8: i32;
    u16: i32;
    u32: i64;
    u64: i64;
    usize: i64;
    f64: f64;
    bson::Decimal128: bson::Decimal128;
}

impl Increment for f32 {
    type Step = f32;

    fn from_step(step: &f32) -> Option<f32> {
        Some(*step)
    }
}

impl Increment for bson::Bson {
    type Step = bson::Bson;

    fn from_step(step: &bson::Bson) -> Option<bson::Bson> {
        Some(step.clone())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Newtype<Inner: Increment>> Increment for T {
    type Step = <T::Inner as Increment>::Step;
}

impl<T: Increment> Increment for Option<T> {
    type Step = T::Step;

    fn from_step(step: &T::Step) -> Option<Option<T>> {
        T::from_step(step).map(Some)
    }
}
