//! Documents given as they are.

use bson::{Document, RawDocument, RawDocumentBuf};

use super::shape::{check_depth, check_document};
use crate::error::{Error, ErrorKind, Result};

/// A document that the caller wrote: a raw filter, update or stage.
///
/// Made from [`Document`](bson::Document) (`doc! {}`) and [`RawDocumentBuf`](bson::RawDocumentBuf) (`rawdoc! {}`).
/// What is wrong with it comes out of the call that uses it.
#[derive(Clone, Debug)]
pub struct Raw(Result<RawDocumentBuf>);

impl Raw {
    /// The document.
    ///
    /// # Errors
    /// `InvalidArgument` when it is nested too deep or a name holds a NUL, `Corrupt` when its bytes are no BSON.
    pub fn into_document(self) -> Result<RawDocumentBuf> {
        self.0
    }
}

impl From<RawDocumentBuf> for Raw {
    fn from(document: RawDocumentBuf) -> Raw {
        Raw(check_depth(document.as_bytes()).map(|()| document))
    }
}

impl From<&RawDocument> for Raw {
    fn from(document: &RawDocument) -> Raw {
        Raw(check_depth(document.as_bytes()).map(|()| document.to_owned()))
    }
}

impl From<Document> for Raw {
    fn from(document: Document) -> Raw {
        Raw::from(&document)
    }
}

impl From<&Document> for Raw {
    fn from(document: &Document) -> Raw {
        Raw(check_document(document).and_then(|()| {
            RawDocumentBuf::try_from(document).map_err(|error| {
                Error::new(ErrorKind::InvalidArgument, "a field name holds a nul").with_source(error)
            })
        }))
    }
}
