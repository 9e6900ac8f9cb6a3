//! What is too large to be sent.

use bson::RawDocumentBuf;

use super::super::error;
use crate::backend::{DeleteStatement, Modification, UpdateStatement};
use crate::error::Error;

/// How large a document can be.
pub(super) const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

/// How large one can be that the server reads at all.
const MAX_SENT_BYTES: usize = MAX_DOCUMENT_BYTES + 16 * 1024;

// The server's codes for what is larger than either.
const BAD_VALUE: i32 = 2;
pub(super) const BSON_TOO_LARGE: i32 = 10334;

/// Why the server would not read a command of so many bytes. Of much more than it reads, it closes the connection.
pub(super) fn refused(bytes: usize) -> Option<Error> {
    (bytes > MAX_SENT_BYTES).then(|| {
        let text = format!(
            "BSONObj size: {bytes} (0x{bytes:X}) is invalid. Size must be between 0 and {MAX_SENT_BYTES}(16MB)"
        );
        error::from_code(BSON_TOO_LARGE, text, None)
    })
}

/// Why the server would not store a document.
pub(super) fn too_large(document: &RawDocumentBuf) -> Option<Error> {
    let bytes = document.as_bytes().len();
    if bytes <= MAX_DOCUMENT_BYTES {
        return None;
    }
    refused(bytes).or_else(|| {
        let text =
            format!("object to insert too large. size in bytes: {bytes}, max size: {MAX_DOCUMENT_BYTES}");
        Some(error::from_code(BAD_VALUE, text, None))
    })
}

/// About how large a statement is: not less than what it is made of.
pub(super) fn of_update(statement: &UpdateStatement) -> usize {
    let filters = statement.array_filters.iter();
    statement.filter.as_bytes().len()
        + of_modification(&statement.modification)
        + filters.map(|filter| filter.as_bytes().len()).sum::<usize>()
}

pub(super) fn of_modification(modification: &Modification) -> usize {
    match modification {
        Modification::Operators(document) | Modification::Replacement(document) => document.as_bytes().len(),
        Modification::Pipeline(stages) => stages.iter().map(|stage| stage.as_bytes().len()).sum(),
    }
}

pub(super) fn of_delete(statement: &DeleteStatement) -> usize {
    statement.filter.as_bytes().len()
}
