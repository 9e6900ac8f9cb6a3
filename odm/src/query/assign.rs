//! Updates that put, remove and move values.

use serde::Serialize;

use super::operand::Operand;
use super::update::{Action, Update};
use crate::error::{Error, ErrorKind};
use crate::model::{Field, Ordered, Segment};

impl<R, T> Field<R, T> {
    /// Becomes this value. Documents on the way that are missing are made.
    pub fn set(&self, value: impl Operand<T>) -> Update<R>
    where
        T: Serialize,
    {
        Update::change(self, self.operand(value).map(Action::Set))
    }

    /// Becomes this value in a document that the update inserts; otherwise nothing happens.
    pub fn set_on_insert(&self, value: impl Operand<T>) -> Update<R>
    where
        T: Serialize,
    {
        Update::change(self, self.operand(value).map(Action::SetOnInsert))
    }
}

impl<R, T> Field<R, T> {
    /// Becomes this value if it is less than the stored one, or there is none. Values of different types compare by
    /// MongoDB's order of types: null before numbers before texts.
    pub fn min(&self, value: impl Operand<T>) -> Update<R>
    where
        T: Ordered + Serialize,
    {
        Update::change(self, self.operand(value).map(Action::Minimum))
    }

    /// Becomes this value if it is greater than the stored one, or there is none.
    pub fn max(&self, value: impl Operand<T>) -> Update<R>
    where
        T: Ordered + Serialize,
    {
        Update::change(self, self.operand(value).map(Action::Maximum))
    }
}

impl<R, T> Field<R, T> {
    /// Goes away. An element of an array becomes null instead.
    ///
    /// A document without a field that its type needs can no longer be read: unset fields of type `Option` or with
    /// `#[serde(default)]`.
    pub fn unset(&self) -> Update<R> {
        Update::change(self, Ok(Action::Unset))
    }

    /// Moves the value to another field of the same type, over what is there. Nothing happens when it is missing.
    /// Neither path may lead through an array.
    pub fn rename(&self, to: &Field<R, T>) -> Update<R> {
        let through_array = |field: &Field<R, T>| {
            let mut segments = field.path().segments().into_iter();
            segments.any(|segment| !matches!(segment, Segment::Name(_) | Segment::Key(_)))
        };
        let action = match through_array(self) || through_array(to) {
            false => Ok(Action::Rename(to.path().clone())),
            true => Err(Error::new(
                ErrorKind::InvalidArgument,
                "a field inside an array cannot be renamed",
            )
            .with_path(format!("{}, {}", self.path(), to.path()))),
        };
        Update::change(self, action)
    }
}
