//! `$jsonSchema`: MongoDB's subset of JSON Schema draft 4.

/// A parsed schema.
#[derive(Clone, Debug)]
pub(crate) struct Schema {}
