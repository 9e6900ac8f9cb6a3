//! Index definitions, the keys a document has in an index, and index maintenance.

use super::document::Doc;
use super::document::Value;
use super::fault::{Fault, Result, code};

/// An index as created.
#[derive(Clone, Debug)]
pub(crate) struct IndexDefinition {
    pub(crate) name: String,
    pub(crate) unique: bool,
    spec: Vec<u8>,
}

/// The keys of one document.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexKeys {
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) multikey: Vec<bool>,
}

impl IndexDefinition {
    /// Parses a specification as `createIndexes` and `listIndexes` have it.
    pub(crate) fn parse(spec: Doc<'_>) -> Result<IndexDefinition> {
        let Some(Value::String(name)) = spec.get("name") else {
            return Err(Fault::new(code::FAILED_TO_PARSE, "an index needs a name"));
        };
        Ok(IndexDefinition {
            name: name.to_owned(),
            unique: name == "_id_",
            spec: spec.to_bytes(),
        })
    }

    /// The specification's BSON bytes.
    pub(crate) fn spec(&self) -> Vec<u8> {
        self.spec.clone()
    }

    /// The keys of a document.
    pub(crate) fn keys(&self, doc: Doc<'_>) -> Result<IndexKeys> {
        let mut keys = IndexKeys::default();
        if let Some(Value::Document(pattern)) = Doc::Raw(&self.spec).get("key")
            && let Some(field) = pattern.elements().next()
            && let Some(value) = doc.get(field.name_str())
        {
            let mut key = Vec::new();
            value.write_payload(&mut key);
            keys.keys.push(key);
        }
        Ok(keys)
    }
}
