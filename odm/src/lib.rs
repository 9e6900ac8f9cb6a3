//! Typed MongoDB data modelling for Rust: derive models, ask for documents with field names that the compiler
//! checks, and run on a bundled embedded engine or on MongoDB by changing one URL.
//!
//! ```
//! use odm::{Db, Id, Model};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize, Model)]
//! struct Book {
//!     #[serde(rename = "_id")]
//!     id: Id<Book>,
//!     #[odm(index)]
//!     title: String,
//!     available: i32,
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> odm::Result<()> {
//! let db = Db::open("memory:").await?; // or "native:./library", or "mongodb://localhost/library"
//! let books = db.collection::<Book>();
//! books.sync_indexes().await?;
//!
//! let id = books.insert(Book { id: Id::new(), title: "Emma".into(), available: 2 }).await?;
//! books.update_one(|b| b.id.eq(id) & b.available.gt(0), |b| b.available.inc(-1)).await?;
//!
//! let found = books.find(|b| b.title.starts_with("E")).sort(|b| b.title.asc()).limit(10).await?;
//! assert_eq!(found[0].available, 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Where to begin
//!
//! | | |
//! |---|---|
//! | declare what is stored | [`derive@Model`], [`derive@Embedded`], [`Id`], [`Field`] |
//! | open a database | [`Db::open`], [`OpenOptions`], [`Durability`] |
//! | read and write | [`Collection`] and its [actions](action), [`Cursor`] |
//! | say which, how and in which order | [`Filter`], [`Update`], [`Sort`] |
//! | places and shapes | [`geo`] |
//! | compute, group, join | [`Pipeline`], [`expr`] |
//! | refer to other documents | [`Ref`], [`derive@Reference`], [`HasMany`], [`Find::load`](action::Find::load) |
//! | keep references consistent | [`DeleteRule`], [`Collection::link`], [`CopyOf`], [`Collection::verify_relations`] |
//! | what becomes of every write | [`Hooks`], [`Timestamp`], [`Violation`], [`Version`], [`Tracked`], [`Derived`] |
//! | several documents at once | [`Db::transaction`], [`Tx`] |
//! | concerns, sessions, snapshots | [`Db::with_write_concern`], [`Db::causal_session`], [`Db::snapshot`] |
//! | be told of changes | [`Collection::watch`], [`ChangeStream`], [`ResumeToken`], [`ChangeLog`] |
//! | whose documents they are | [`Db::for_tenant`], [`Models::tenant_findings`] |
//! | what the database is to look like | [`Collection::sync_indexes`], [`Models`], [`Db::sync_models`], [`CollectionDeclaration`] |
//! | models of a database that is there | [`Db::infer_models`] |
//! | look after a database | [`Db::check`], [`Db::repair`], [`Db::backup`], [`Db::compact`], [`Db::store_statistics`] |
//! | take it elsewhere | [`Db::copy_to`] |
//! | what went wrong | [`Error`], [`ErrorKind`], [`PartialWrite`] |
//! | tests | [`Db::logged`], [`Db::budget`], [`Db::faulty`], [`Db::watch_scans`], [`Find::must_use_index`](action::Find::must_use_index) |
//! | below the typed methods | [`Collection::raw`], [`Db::run_command`], [`backend`] |
//! | trees, queues, search, money, files, history and the like | the crate `odm-patterns` |
//!
//! The guide has a page for each of these, in an order to be read in: `docs/guide/README.md` of the package.
//!
//! # Cargo features
//!
//! | feature | | |
//! |---|---|---|
//! | `native` | default | the embedded engine: `memory:` and `native:` URLs; no C compiler, any executor |
//! | `collation` | default | strings compared by the rules of languages in the embedded engine; no C compiler |
//! | `mongodb` | | MongoDB through its official driver: `mongodb:` and `mongodb+srv:` URLs; needs tokio |
//! | `chrono`, `jiff`, `time` | | fields of their dates and durations, stored as such by [`as_bson`] |
//! | `rust_decimal` | | fields of `Decimal`, stored as decimal128 by [`as_bson`] |
//! | `uuid` | | fields of `Uuid`, stored as binary of subtype 4 by [`as_bson`] |
//! | `tracing` | | a span for each operation, an event for each slow one |

#[doc(hidden)]
pub mod __private;
pub mod action;
pub mod backend;
mod change;
mod change_stream;
#[cfg_attr(not(feature = "native"), allow(dead_code, reason = "backends wait for more"))]
mod clock;
mod codec;
mod collection;
mod cursor;
mod db;
#[cfg(doctest)]
mod doctests;
#[cfg_attr(
    not(any(feature = "native", feature = "mongodb")),
    allow(dead_code, reason = "backends make more kinds of errors")
)]
mod error;
pub mod expr;
pub mod geo;
#[cfg(test)]
mod guide;
mod inference;
mod interchange;
mod lifecycle;
mod model;
#[cfg(feature = "mongodb")]
pub mod mongodb;
#[cfg(feature = "native")]
mod native;
mod query;
mod relation;
mod schema;
mod session;
mod transaction;

pub use self::change::{
    Change, ChangeEvent, ChangeKind, ChangeTransaction, ResumeToken, TruncatedArray, UpdateDescription,
};
pub use self::change_stream::ChangeStream;
pub use self::clock::{Sleep, sleep_until};
pub use self::codec::Raw;
pub use self::collection::{Collection, IndexChange, IndexDrift, IndexInfo, RawUpdate, Record};
pub use self::cursor::Cursor;
pub use self::db::{
    ChangeLog, CollectionInfo, Db, Durability, ModelDrift, OpenOptions, SyncedModel, SyncedModels,
};
pub use self::error::{Error, ErrorKind, PartialWrite, Result, WriteError};
pub use self::inference::{FoundReference, InferredCollection, InferredField, InferredModels};
pub use self::interchange::{AsBson, as_bson};
pub use self::lifecycle::{
    DERIVED_PENDING, DeleteWrite, Deletion, Derivation, Derived, DerivedField, HookContext, Hooks, Kind,
    KindOf, Measured, Timestamp, Tracked, UpdateWrite, Version, Violation,
};
pub use self::model::{
    ArrayCondition, ArrayType, Codec, Date, Embedded, Field, FieldType, Handle, Id, IdType, Lazy, MapKey,
    MapType, Model, Newtype, Numeric, Ordered, Path, Segment, Stored, TenantType, Text, Variant,
};
pub use self::query::{
    Bits, BsonType, BuiltUpdate, Filter, Increment, Integer, Nullable, Operand, Pipeline, PushOptions, Sort,
    TextSearch, Update,
};
pub use self::relation::{
    Alone, ById, CopiedValue, CopyDeclaration, CopyOf, CountOf, DbRef, DeclaredCopy, DeleteRule, Every,
    Extra, HasMany, HasOne, Joinable, Link, LinkedReference, LinksTo, Loads, NamedLink, Nested,
    NullableReference, Ref, Reference, ReferenceEnum, ReferenceKey, ReferenceList, ReferredBy, Referring,
    RelatedCondition, RelatedFilter, Relation, RelationProblem, RelationProblemKind, RuledLink,
    RuledReference, Searchable, SourceReference, SourceVersion, StaleCopy, To, TwoWayReference, Values, With,
};
pub use self::schema::{
    CollectionDeclaration, DeclaredRelation, FieldDescriptor, Granularity, IndexDeclaration, IndexOrder,
    InverseDescriptor, KindDescriptor, ModelDescriptor, Models, RelationDescriptor, RelationKind,
    TenantFinding, TenantFindingKind, model_graph,
};
pub use self::session::{CausalSession, CausalToken};
pub use self::transaction::{Backoff, Tx};
pub use bson;
pub use odm_derive::{Embedded, Model, Reference};
