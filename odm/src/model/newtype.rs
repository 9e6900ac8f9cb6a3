//! Reaching into newtypes.

use std::sync::Arc;

use bson::RawDocumentBuf;

use super::field::Field;
use super::field_type::FieldType;
use super::kind::Newtype;
use super::path::{ArrayCondition, Segment};
use crate::error::{Error, ErrorKind, Result};

impl<R, T: Newtype<Inner: FieldType>> Field<R, T> {
    /// What the newtype holds, by its own type: `b.isbn.inner().eq("9780141439518")`, `b.home.inner().city`.
    ///
    /// Where the field has its own codec, the inner value is not stored, and using the handle is an error.
    pub fn inner(&self) -> <T::Inner as FieldType>::Handle<R> {
        let path = match self.codec() {
            None => self.path().clone(),
            Some(_) => self.path().then(Segment::Where(Arc::new(OwnCodec))),
        };
        <T::Inner as FieldType>::handle(path)
    }
}

/// Stands in the path of what is not stored.
#[derive(Debug)]
struct OwnCodec;

impl ArrayCondition for OwnCodec {
    fn document(&self, _name: &str) -> Result<RawDocumentBuf> {
        let message = "a field with its own codec does not store its newtype's inner value";
        Err(Error::new(ErrorKind::InvalidArgument, message))
    }
}
