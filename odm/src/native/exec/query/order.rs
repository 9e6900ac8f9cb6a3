//! What is left to do to bring documents in order.

use super::super::super::document::Doc;
use super::super::super::fault::Result;
use super::super::super::matcher::ast::NearField;
use super::super::super::metadata::{Metadata, Wanted};
use super::super::super::sort::SortSpec;

/// An order of documents: by fields, then by distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Order<'a> {
    pub(super) sort: Option<&'a SortSpec>,
    pub(super) near: Option<&'a NearField>,
}

impl Order<'_> {
    /// Appends a document's place: documents come in the order of these bytes.
    pub(crate) fn write_key(
        &self,
        doc: Doc<'_>,
        metadata: Option<&Metadata>,
        key: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(sort) = self.sort {
            sort.write_key(doc, metadata, key)?;
        }
        if let Some(hit) = self.near.and_then(|near| near.hit(doc)) {
            // Distances are not negative, so that their bits have their order.
            key.extend_from_slice(&hit.distance.to_bits().to_be_bytes());
        }
        Ok(())
    }

    /// The metadata that the order goes by.
    pub(crate) fn wanted(&self) -> Wanted {
        self.sort.map(SortSpec::wanted).unwrap_or_default()
    }

    /// Whether distance alone counts.
    pub(crate) fn is_by_distance(&self) -> bool {
        self.sort.is_none() && self.near.is_some()
    }
}
