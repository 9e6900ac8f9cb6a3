//! What stages read beside their input: the other collections of the database, as finds and pipelines over them.

use super::super::super::aggregate::GeoNear;
use super::super::super::aggregate::pipeline::{self as aggregate, Memory, Rows, Source};
use super::super::super::document::{Doc, Owned};
use super::super::super::fault::{Fault, Result};
use super::super::super::storage::Read;
use super::super::cursor::{Extras, FindCursor, FindRequest, Packed};
use super::super::query::Query;
use super::super::{Namespace, view};
use super::{AggregateRequest, Setting, geo_field, no_collection, rows};

/// The other collections of the database, for the stages that read them.
pub(super) struct Collections<'a> {
    pub(super) read: &'a dyn Read,
    pub(super) setting: &'a Setting,
}

impl Source for Collections<'_> {
    fn near(
        &self,
        collection: &str,
        stage: &GeoNear,
        variables: &[(String, Option<Owned>)],
    ) -> Result<Vec<Vec<u8>>> {
        self.by_distance(collection, stage, variables)
            .map_err(|fault| fault.prefixed(aggregate::IN_RUN))
    }

    fn find<'a>(&'a self, collection: &str, filter: Doc<'_>) -> Result<Rows<'a>> {
        let namespace = Namespace {
            database: self.setting.database.clone(),
            collection: collection.to_owned(),
        };
        if view::view_of(self.read.catalog(), &namespace).is_some() {
            let matching = vec![("$match".to_owned(), Owned::RawDocument(filter.to_bytes()))];
            let request = AggregateRequest {
                namespace,
                stages: vec![Doc::Fields(&matching).to_bytes()],
                variables: Vec::new(),
                constants: Doc::empty().to_bytes(),
                collation: Some(self.setting.collation.clone()),
                hint: None,
                batch_size: None,
                allow_disk_use: self.setting.memory == Memory::WithDisk,
                unvalidated: false,
                now: self.setting.now,
                deadline: self.setting.deadline,
            };
            return Ok(Box::new(rows(self.read, &request)?.into_iter().map(Ok)));
        }
        let request = FindRequest {
            namespace,
            query: Query::parse(filter, None, None)?.collated(Some(self.setting.collation.clone())),
            projection: None,
            skip: 0,
            limit: 0,
            batch_size: None,
            tail: None,
            extras: Extras::default(),
            deadline: self.setting.deadline,
        };
        Ok(Box::new(Input::new(
            self.read,
            FindCursor::open(self.read, request)?,
        )))
    }
}

impl Collections<'_> {
    /// Documents by distance, from the collection under the name: nothing comes before the stage.
    fn by_distance(
        &self,
        collection: &str,
        stage: &GeoNear,
        variables: &[(String, Option<Owned>)],
    ) -> Result<Vec<Vec<u8>>> {
        let named = Namespace {
            database: self.setting.database.clone(),
            collection: collection.to_owned(),
        };
        let resolved = view::resolve(self.read.catalog(), &named)?;
        if !resolved.stages.is_empty() {
            return Err(Fault::new(
                40603,
                "$geoNear is only valid as the first stage in an optimized pipeline",
            ));
        }
        let base = resolved.base;
        let Some(found) = self.read.catalog().collection(&base.database, &base.collection) else {
            return Err(no_collection(&base));
        };
        let mut stage = stage.clone();
        if stage.key().is_none() {
            stage.set_key(geo_field(found, &base)?);
        }
        let matcher = stage
            .matcher(variables, self.setting.now)?
            .collated(&self.setting.collation);
        let request = FindRequest {
            namespace: base,
            query: Query::of(matcher, None, None, self.setting.collation.clone()),
            projection: None,
            skip: 0,
            limit: 0,
            batch_size: None,
            tail: None,
            extras: Extras::default(),
            deadline: self.setting.deadline,
        };
        let rows = Input::new(self.read, FindCursor::on_collection(self.read, request)?);
        stage.measured(Box::new(rows), variables, self.setting.now)
    }
}

/// The documents of a find, one after another.
pub(super) struct Input<'a> {
    read: &'a dyn Read,
    cursor: FindCursor,
    batch: Packed,
    at: usize,
    ended: bool,
}

impl<'a> Input<'a> {
    pub(super) fn new(read: &'a dyn Read, cursor: FindCursor) -> Input<'a> {
        Input {
            read,
            cursor,
            batch: Packed::default(),
            at: 0,
            ended: false,
        }
    }
}

impl Iterator for Input<'_> {
    type Item = Result<Vec<u8>>;

    fn next(&mut self) -> Option<Result<Vec<u8>>> {
        loop {
            if let Some(row) = self.batch.get(self.at) {
                self.at += 1;
                return Some(Ok(row.to_vec()));
            }
            if self.ended {
                return None;
            }
            match self.cursor.next_batch(self.read) {
                Ok(Some(batch)) => {
                    self.batch = batch;
                    self.at = 0;
                }
                Ok(None) => self.ended = true,
                Err(fault) => {
                    self.ended = true;
                    self.batch = Packed::default();
                    return Some(Err(fault));
                }
            }
        }
    }
}
