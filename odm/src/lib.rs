//! Typed MongoDB data modelling for Rust.

#[doc(hidden)]
pub mod __private;
pub mod action;
pub mod backend;
mod change;
mod change_stream;
mod clock;
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

pub use self::change::{
    Change, ChangeEvent, ChangeKind, ChangeTransaction, ResumeToken, TruncatedArray, UpdateDescription,
};
pub use self::change_stream::ChangeStream;
pub use self::codec::Raw;
pub use self::collection::{Collection, IndexChange, IndexDrift, IndexInfo, RawUpdate, Record};
pub use self::cursor::Cursor;
pub use self::db::{ChangeLog, CollectionInfo, Db, Durability, OpenOptions};
pub use self::error::{Error, ErrorKind, PartialWrite, Result, WriteError};
pub use self::model::{
    ArrayType, Codec, Date, Embedded, Field, FieldType, Handle, Id, IdType, Lazy, MapType, Model, Newtype,
    Numeric, Ordered, Path, Segment, Stored, Text, Variant,
};
pub use self::query::{
    Bits, BsonType, BuiltUpdate, Filter, Increment, Integer, Nullable, Operand, PushOptions, Sort, Update,
};
pub use self::schema::{FieldDescriptor, IndexDeclaration, IndexOrder, ModelDescriptor};
pub use self::transaction::Tx;
pub use bson;
pub use odm_derive::{Embedded, Model};
