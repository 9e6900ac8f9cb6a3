//! Index definitions, the keys a document has in an index, and index maintenance.

use super::document::Doc;
use super::document::Value;
use super::fault::{Fault, Result, code};

/// An index as created.
#[derive(Clone, Debug)]
pub(crate) struct IndexDefinition {
    pub(crate) name: String,
    spec: Vec<u8>,
}

impl IndexDefinition {
    /// Parses a specification as `createIndexes` and `listIndexes` have it.
    pub(crate) fn parse(spec: Doc<'_>) -> Result<IndexDefinition> {
        let Some(Value::String(name)) = spec.get("name") else {
            return Err(Fault::new(code::FAILED_TO_PARSE, "an index needs a name"));
        };
        Ok(IndexDefinition {
            name: name.to_owned(),
            spec: spec.to_bytes(),
        })
    }

    /// The specification's BSON bytes.
    pub(crate) fn spec(&self) -> Vec<u8> {
        self.spec.clone()
    }
}
