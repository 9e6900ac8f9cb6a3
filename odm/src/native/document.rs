//! Documents as the engine sees them: borrowed values over validated bytes or over an owned tree.
//!
//! Everything here is pure: no I/O, no locks, no async. Bytes enter through [`validate`] once; after
//! that every reader may rely on their shape.

pub(crate) mod compare;
pub(crate) mod decimal;
pub(crate) mod display;
pub(crate) mod doc;
pub(crate) mod items;
pub(crate) mod number;
pub(crate) mod once;
pub(crate) mod owned;
pub(crate) mod places;
pub(crate) mod raw;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod size;
pub(crate) mod splice;
pub(crate) mod validate;
pub(crate) mod value;

pub(crate) use self::compare::{compare, equal, type_rank};
pub(crate) use self::doc::{Doc, Elements};
pub(crate) use self::items::Items;
pub(crate) use self::once::Once;
pub(crate) use self::owned::{Fields, Owned};
pub(crate) use self::validate::{
    BUILDABLE_BYTES, MAX_DEPTH, MAX_DOCUMENT_BYTES, MAX_SENT_DEPTH, Malformed, validate, validate_within,
};
pub(crate) use self::value::{Kind, Value};
