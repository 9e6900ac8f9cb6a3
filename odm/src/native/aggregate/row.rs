//! A document on its way through the stages.

use std::ops::Deref;
use std::rc::Rc;

use super::super::metadata::Metadata;

/// A document, and what is known of how the one was found of which it was made.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    document: Vec<u8>,
    metadata: Option<Rc<Metadata>>,
}

impl Row {
    /// What is known of how it was found; `None` where no stage asks for that.
    pub(crate) fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_deref()
    }

    /// Another document that a stage makes of this one.
    pub(crate) fn made(&self, document: Vec<u8>) -> Row {
        Row {
            document,
            metadata: self.metadata.clone(),
        }
    }

    /// Adds to what is known.
    pub(crate) fn know(&mut self, add: impl FnOnce(&mut Metadata)) {
        let known = self.metadata.get_or_insert_default();
        add(Rc::make_mut(known));
    }

    /// The document alone.
    pub(crate) fn into_document(self) -> Vec<u8> {
        self.document
    }
}

impl From<Vec<u8>> for Row {
    fn from(document: Vec<u8>) -> Row {
        Row {
            document,
            metadata: None,
        }
    }
}

impl Deref for Row {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.document
    }
}
