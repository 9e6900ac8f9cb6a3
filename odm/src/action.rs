//! Actions: what [`Collection`](crate::Collection)'s methods build, to be refined and run by `.await`.
//!
//! An action does nothing until it is awaited, and can be built in one place and awaited in another: it owns
//! what it needs. Operands that cannot be encoded, and a wrong declaration of the model, come out as the error
//! of `.await`.
//!
//! Cost: an action is one round trip unless its page says otherwise. Cancel safety: when the future of a read
//! is dropped, nothing happened; when that of a write is dropped, the write may or may not have happened, but
//! never a part of one document.

mod aggregate;
mod backup;
mod bulk_write;
mod copy_database;
mod copy_fan_out;
mod count;
mod create_collection;
mod create_indexes;
mod delete;
mod distinct;
mod draft;
mod exists;
mod explain;
mod find;
mod find_one;
mod find_one_and;
mod index_use;
mod infer_models;
mod insert_many;
mod insert_one;
mod join;
mod link_documents;
mod list_indexes;
mod load;
mod load_one;
mod load_page;
mod load_stored;
mod load_stream;
mod migrate;
mod modify_collection;
mod numbered_page;
mod page;
mod page_projection;
mod page_token;
mod prepared_writes;
mod propagate_copies;
mod raw_documents;
mod rebuild_indexes;
mod rederive;
mod rename_collection;
mod repair;
mod run_pipeline;
mod setters;
mod stale_copies;
mod sync_indexes;
mod update;
mod upserted_array;
mod upserted_id;
mod verify_relations;
mod watch;
mod whose;
mod write_back;
mod write_results;

pub use self::aggregate::Aggregate;
pub use self::backup::Backup;
pub use self::bulk_write::{BulkResult, BulkWrite};
pub use self::copy_database::{CopiedCollection, CopyDatabase, CopyReport};
pub use self::copy_fan_out::{CopyFanOut, FanOut};
pub use self::count::Count;
pub use self::create_collection::CreateCollection;
pub use self::create_indexes::CreateIndexes;
pub use self::delete::{Delete, DeleteResult};
pub use self::distinct::Distinct;
pub(crate) use self::draft::Draft;
pub use self::exists::Exists;
pub use self::explain::Explain;
pub use self::find::Find;
pub(crate) use self::find::projection;
pub use self::find_one::{FindOne, Required};
pub use self::find_one_and::{FindOneAnd, FindOneAndRequired};
pub use self::index_use::{IndexUse, IndexUseCheck};
pub use self::infer_models::InferModels;
pub use self::insert_many::{InsertMany, InsertManyResult};
pub use self::insert_one::{Insert, InsertOne, InsertOneResult};
pub use self::join::Join;
pub use self::link_documents::LinkDocuments;
pub use self::list_indexes::ListIndexes;
pub use self::load::Load;
pub use self::load_one::{LoadOne, LoadRequired};
pub use self::load_page::{LoadNumberedPage, LoadPage};
pub use self::load_stored::LoadStored;
pub use self::load_stream::LoadStream;
pub(crate) use self::migrate::migrate_one;
pub use self::migrate::{Migrate, Migrated};
pub use self::modify_collection::ModifyCollection;
pub use self::numbered_page::{FindNumberedPage, NumberedPage};
pub use self::page::{FindPage, Page};
pub use self::page_token::PageToken;
pub use self::prepared_writes::PreparedWrites;
pub use self::propagate_copies::{PropagateCopies, PropagationReport};
pub use self::rederive::{Rederive, Rederived};
pub use self::rename_collection::RenameCollection;
pub use self::repair::Repair;
pub use self::run_pipeline::PipelineSource;
pub use self::setters::Hint;
pub use self::stale_copies::StaleCopies;
pub use self::sync_indexes::{IndexDriftCheck, SyncIndexes, SyncedIndexes};
pub use self::update::{Update, UpdateResult};
pub use self::verify_relations::{RelationProblems, RepairReport, VerifyRelations};
pub use self::watch::Watch;
pub use self::whose::Whose;
pub use self::write_back::WriteBack;
pub use self::write_results::Out;

#[cfg(test)]
pub(crate) mod tests;
