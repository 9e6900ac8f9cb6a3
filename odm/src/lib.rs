//! Typed MongoDB data modelling for Rust.

mod action;
pub mod backend;
mod codec;
mod collection;
mod cursor;
mod db;
mod error;
mod model;
#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "native")]
mod native;
mod query;
mod schema;
mod transaction;

pub use self::error::{Error, ErrorKind, PartialWrite, Result, WriteError};
pub use bson;
