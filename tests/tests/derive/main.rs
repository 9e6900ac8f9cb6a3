//! What the derives make of types: names, handles, indexes; and that they work wherever a type can stand.

#![deny(missing_docs, missing_debug_implementations, unreachable_pub, unused)]

mod codecs;
mod enums;
pub mod forbidden;
mod generics;
mod hygiene;
mod indexes;
mod names;
mod placement;
mod recursion;
mod renamed;
mod values;

use odm::Model;
use odm::bson::RawDocumentBuf;
use serde::Serialize;

/// The index specifications that a model declares.
fn specs<M: Model>() -> Vec<RawDocumentBuf> {
    let indexes = (M::DESCRIPTOR.indexes)();
    indexes.iter().map(|index| index.to_spec().unwrap()).collect()
}

fn stored(value: &impl Serialize) -> RawDocumentBuf {
    odm::bson::serialize_to_raw_document_buf(value).unwrap()
}
