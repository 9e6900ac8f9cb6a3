//! Updates that compute.

use serde::Serialize;

use super::operand::Operand;
use super::traits::{Increment, Integer};
use super::update::{Action, BitOperation, Update};
use crate::codec::encode_value;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Field;

impl<R, T> Field<R, T> {
    /// Adds this, atomically; negative to subtract. A missing field becomes the amount itself.
    ///
    /// A sum above the range of a 32-bit field is stored with 64 bits, one above that is an error.
    pub fn inc(&self, amount: impl Operand<T::Step>) -> Update<R>
    where
        T: Increment,
    {
        let amount = amount.with_operand(|step| match self.codec() {
            None => self.located(encode_value(step)),
            Some(codec) => self.located(match T::from_step(step) {
                Some(amount) => codec(&amount),
                None => Err(Error::new(
                    ErrorKind::Encode,
                    "the amount is no value of the field's type, which its own serde codec needs",
                )),
            }),
        });
        Update::change(self, amount.map(Action::Increment))
    }

    /// Multiplies by this, atomically. A missing field becomes 0.
    pub fn mul(&self, factor: impl Operand<T::Step>) -> Update<R>
    where
        T: Increment,
    {
        let factor = factor.with_operand(|factor| self.located(encode_value(factor)));
        Update::change(self, factor.map(Action::Multiply))
    }
}

impl<R, T> Field<R, T> {
    /// Keeps the bits that are 1 in the mask.
    pub fn bit_and(&self, mask: impl Operand<T>) -> Update<R>
    where
        T: Integer + Serialize,
    {
        self.bit(BitOperation::And, self.operand(mask))
    }

    /// Sets the bits that are 1 in the mask. A missing field becomes the mask.
    pub fn bit_or(&self, mask: impl Operand<T>) -> Update<R>
    where
        T: Integer + Serialize,
    {
        self.bit(BitOperation::Or, self.operand(mask))
    }

    /// Flips the bits that are 1 in the mask. A missing field becomes the mask.
    pub fn bit_xor(&self, mask: impl Operand<T>) -> Update<R>
    where
        T: Integer + Serialize,
    {
        self.bit(BitOperation::Xor, self.operand(mask))
    }

    fn bit(&self, operation: BitOperation, mask: Result<bson::RawBson>) -> Update<R>
    where
        T: Integer + Serialize,
    {
        Update::change(self, mask.map(|mask| Action::Bits(operation, mask)))
    }
}
