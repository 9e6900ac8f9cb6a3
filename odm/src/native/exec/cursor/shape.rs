//! What a find gives of the documents that it finds.

use std::sync::Arc;

use super::super::super::aggregate::path;
use super::super::super::catalog::Collection;
use super::super::super::document::doc::framed;
use super::super::super::document::owned::fields_of;
use super::super::super::document::size::check_buildable;
use super::super::super::document::{Doc, Owned, Value};
use super::super::super::fault::Result;
use super::super::super::matcher::Places;
use super::super::super::metadata::Kind;
use super::super::super::plan::Plan;
use super::super::super::projection::Projection;
use super::super::place;
use super::super::query::Query;
use super::{Extras, Packed, RECORD_ID};

/// What becomes of the documents found.
pub(in super::super) struct Shape<'a> {
    pub(in super::super) query: &'a Query,
    pub(in super::super) projection: Option<&'a Projection>,
    pub(in super::super) places: Option<&'a Places>,
    pub(in super::super) extras: Extras,
    pub(in super::super) collection: Option<Arc<Collection>>,
}

impl Shape<'_> {
    /// Adds a document to a batch.
    pub(in super::super) fn add(
        &self,
        packed: &mut Packed,
        (record, document): (u64, &[u8]),
        plan: Option<&Plan>,
    ) -> Result<()> {
        if self.extras.return_key {
            let key = self.key(plan, document)?;
            let key = key.unwrap_or_else(|| Doc::empty().to_bytes());
            packed.push(&self.with_sort_keys(key, plan, document)?);
            return Ok(());
        }
        let Some(projection) = self.projection else {
            match (self.extras.record_id, self.query.kept()) {
                (true, _) => packed.push(&with_record(document, self.record(record)?)),
                (false, None) => packed.push(document),
                (false, Some(kept)) => packed.push_with(|bytes| kept.write(document, bytes)),
            }
            return Ok(());
        };
        let doc = Doc::Raw(document);
        let wanted = projection.wanted();
        let mut known = None;
        if !wanted.is_empty() {
            let mut metadata = self.query.known(plan, doc, wanted)?;
            if wanted.has(Kind::RecordId) {
                metadata.record = Some(Owned::Int64(self.record(record)?));
            }
            if wanted.has(Kind::IndexKey) {
                metadata.index_key = self.key(plan, document)?;
            }
            known = Some(metadata);
        }
        let matched = self.places.and_then(|places| places.at(doc));
        let projected = projection.apply_to(doc, matched, known.as_ref())?;
        check_buildable(&projected)?;
        match self.extras.record_id && !projection.drops(RECORD_ID) {
            true => packed.push(&with_record(&projected, self.record(record)?)),
            false => packed.push(&projected),
        }
        Ok(())
    }

    fn key(&self, plan: Option<&Plan>, document: &[u8]) -> Result<Option<Vec<u8>>> {
        match (plan, &self.collection) {
            (Some(plan), Some(collection)) => place::index_key(plan, collection, document),
            _ => Ok(None),
        }
    }

    /// The key of an index with what of the projection is not of the document: the values that the order goes by.
    fn with_sort_keys(&self, key: Vec<u8>, plan: Option<&Plan>, document: &[u8]) -> Result<Vec<u8>> {
        let Some(projection) = self.projection.filter(|own| own.wanted().has(Kind::SortKey)) else {
            return Ok(key);
        };
        let known = self.query.known(plan, Doc::Raw(document), projection.wanted())?;
        let mut fields = fields_of(Doc::Raw(&key));
        for path in projection.sort_keys() {
            path::set(&mut fields, &path, known.sort_key.clone());
        }
        Ok(Doc::Fields(&fields).to_bytes())
    }

    fn record(&self, record: u64) -> Result<i64> {
        match &self.collection {
            Some(collection) => place::record_id(collection, record),
            // Documents that were made to be read are numbered.
            None => Ok(i64::try_from(record).unwrap_or(i64::MAX)),
        }
    }
}

fn with_record(document: &[u8], record: i64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(document.len() + RECORD_ID.len() + 10);
    framed(&mut bytes, |out| {
        for element in Doc::Raw(document).elements() {
            element.value().write_element(element.name(), out);
        }
        Value::Int64(record).write_element(RECORD_ID.as_bytes(), out);
    });
    bytes
}
