//! Operations that write documents.

use bson::{RawBson, RawDocument, RawDocumentBuf, rawdoc};

use super::{Namespace, ReadOptions};

/// Inserts documents; each has its `_id` already, as its first field.
#[derive(Clone, Debug)]
pub struct Insert {
    /// Where.
    pub namespace: Namespace,
    /// What.
    pub documents: Vec<RawDocumentBuf>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// Whether documents are stored that the collection's validator refuses.
    pub bypass_validation: bool,
    /// A text for the server's log and profiler.
    pub comment: Option<String>,
}

/// How a document changes.
#[derive(Clone, Debug)]
pub enum Modification {
    /// Update operators: `{$set: ..}`.
    Operators(RawDocumentBuf),
    /// The new document; `_id` may be absent.
    Replacement(RawDocumentBuf),
    /// An aggregation pipeline of `$set`, `$unset`, `$replaceWith`, ...
    Pipeline(Vec<RawDocumentBuf>),
}

impl Modification {
    /// The same where it replaces by a document with a field whose name begins with `$`: servers refuse that of
    /// replacements, and take it of a pipeline.
    pub(crate) fn with_any_names(self) -> Modification {
        match self {
            Modification::Replacement(document) if has_dollar(&document) => {
                Modification::Pipeline(vec![rawdoc! { "$replaceWith": { "$literal": document } }])
            }
            other => other,
        }
    }
}

fn has_dollar(document: &RawDocument) -> bool {
    let mut fields = document.iter().flatten();
    fields.any(|(name, _)| name.as_str().starts_with('$'))
}

/// One update of a batch.
#[derive(Clone, Debug)]
pub struct UpdateStatement {
    /// Which documents.
    pub filter: RawDocumentBuf,
    /// How they change.
    pub modification: Modification,
    /// Whether all that match, or one. Never with a replacement.
    pub multi: bool,
    /// Whether to insert when none matches.
    pub upsert: bool,
    /// Filters for `$[name]`.
    pub array_filters: Vec<RawDocumentBuf>,
    /// An index by name or by key pattern.
    pub hint: Option<RawBson>,
    /// A collation document.
    pub collation: Option<RawDocumentBuf>,
}

/// Updates documents.
#[derive(Clone, Debug)]
pub struct Update {
    /// Where.
    pub namespace: Namespace,
    /// What.
    pub statements: Vec<UpdateStatement>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// Comment, time limit, variables; hint and collation are each statement's own.
    pub options: ReadOptions,
}

/// One deletion of a batch.
#[derive(Clone, Debug)]
pub struct DeleteStatement {
    /// Which documents.
    pub filter: RawDocumentBuf,
    /// Whether all that match, or one.
    pub multi: bool,
    /// An index by name or by key pattern.
    pub hint: Option<RawBson>,
    /// A collation document.
    pub collation: Option<RawDocumentBuf>,
}

/// Deletes documents.
#[derive(Clone, Debug)]
pub struct Delete {
    /// Where.
    pub namespace: Namespace,
    /// What.
    pub statements: Vec<DeleteStatement>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// Comment, time limit, variables; hint and collation are each statement's own.
    pub options: ReadOptions,
}

/// One write of a mixed batch.
#[derive(Clone, Debug)]
pub enum WriteStatement {
    /// Inserts a document.
    Insert(RawDocumentBuf),
    /// Updates documents.
    Update(UpdateStatement),
    /// Deletes documents.
    Delete(DeleteStatement),
}

/// Writes of several kinds.
#[derive(Clone, Debug)]
pub struct BulkWrite {
    /// Where.
    pub namespace: Namespace,
    /// What, in this order.
    pub statements: Vec<WriteStatement>,
    /// Whether to stop at the first error.
    pub ordered: bool,
    /// Comment, time limit, variables.
    pub options: ReadOptions,
}

/// Changes or removes one document and gives it back.
#[derive(Clone, Debug)]
pub struct FindAndModify {
    /// Where.
    pub namespace: Namespace,
    /// Which.
    pub filter: RawDocumentBuf,
    /// Which first.
    pub sort: Option<RawDocumentBuf>,
    /// Which fields come back.
    pub projection: Option<RawDocumentBuf>,
    /// How it changes; `None` removes it.
    pub modification: Option<Modification>,
    /// Whether the document comes back as it is after the change.
    pub return_new: bool,
    /// Whether to insert when none matches.
    pub upsert: bool,
    /// Filters for `$[name]`.
    pub array_filters: Vec<RawDocumentBuf>,
    /// Hint, comment, time limit, collation, variables.
    pub options: ReadOptions,
}
