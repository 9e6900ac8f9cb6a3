//! Filters on the bits of integers.

use bson::raw::{CStr, cstr};
use bson::{RawArrayBuf, RawBson};

use super::encode::Tested;
use super::filter::Filter;
use super::traits::Integer;
use crate::model::{Field, Numeric};

/// Which bits: a mask (`0b101`) or the positions of bits (`[0, 2]`), the lowest being 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Bits(RawBson);

impl From<i64> for Bits {
    fn from(mask: i64) -> Bits {
        Bits(RawBson::Int64(mask))
    }
}

impl<const N: usize> From<[u32; N]> for Bits {
    fn from(positions: [u32; N]) -> Bits {
        Bits::from(positions.as_slice())
    }
}

impl From<&[u32]> for Bits {
    fn from(positions: &[u32]) -> Bits {
        let positions: RawArrayBuf = positions
            .iter()
            .map(|&position| RawBson::Int64(position.into()))
            .collect();
        Bits(RawBson::Array(positions))
    }
}

impl<R, T> Field<R, T> {
    /// All of these bits are 1.
    pub fn bits_all_set(&self, bits: impl Into<Bits>) -> Filter<R>
    where
        T: Integer,
    {
        self.bits(cstr!("$bitsAllSet"), bits)
    }

    /// One of these bits is 1.
    pub fn bits_any_set(&self, bits: impl Into<Bits>) -> Filter<R>
    where
        T: Integer,
    {
        self.bits(cstr!("$bitsAnySet"), bits)
    }

    /// All of these bits are 0.
    pub fn bits_all_clear(&self, bits: impl Into<Bits>) -> Filter<R>
    where
        T: Integer,
    {
        self.bits(cstr!("$bitsAllClear"), bits)
    }

    /// One of these bits is 0.
    pub fn bits_any_clear(&self, bits: impl Into<Bits>) -> Filter<R>
    where
        T: Integer,
    {
        self.bits(cstr!("$bitsAnyClear"), bits)
    }

    fn bits(&self, operator: &'static CStr, bits: impl Into<Bits>) -> Filter<R>
    where
        T: Integer,
    {
        Filter::from_result(self.operator(Tested::Value, operator, Ok(bits.into().0)))
    }
}

impl<R, T> Field<R, T> {
    /// Divided by `divisor` leaves this remainder. Fractions are cut off first.
    pub fn modulo(&self, divisor: i64, remainder: i64) -> Filter<R>
    where
        T: Numeric,
    {
        let operand: RawArrayBuf = [divisor, remainder].into_iter().collect();
        Filter::from_result(self.operator(Tested::Value, cstr!("$mod"), Ok(RawBson::Array(operand))))
    }
}
