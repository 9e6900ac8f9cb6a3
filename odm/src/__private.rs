//! What the derives' code names. Not part of the public API.

pub use crate::error::Result;
pub use crate::model::*;
pub use crate::schema::{FieldDescriptor, IndexDeclaration, ModelDescriptor};
pub use bson::RawBson;
pub use serde::{Serialize, Serializer};
pub use std::convert::From;
pub use std::ops::Deref;
pub use std::option::Option;
pub use std::vec::Vec;
