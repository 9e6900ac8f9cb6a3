//! What stages read beside their input: the other collections of the database, as finds and pipelines over them.

use std::sync::Arc;

use super::super::super::aggregate::pipeline::{
    self as aggregate, Asked, Memory, NOT_OPTIMIZED, Pipeline, Rows, Source,
};
use super::super::super::aggregate::stage::misplaced_geo_near;
use super::super::super::aggregate::{GeoNear, Row};
use super::super::super::catalog::IndexEntry;
use super::super::super::document::{Doc, Owned};
use super::super::super::fault::Result;
use super::super::super::matcher::{Matcher, Scoring};
use super::super::super::metadata::{Kind, Wanted};
use super::super::super::sort::SortSpec;
use super::super::super::storage::Read;
use super::super::cursor::{Extras, FindCursor, FindRequest, IndexKeys, Packed};
use super::super::query::Query;
use super::super::{Namespace, view};
use super::head::Head;
use super::near::{no_collection, settle_near};
use super::{AggregateRequest, Setting, rows};

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
        wanted: Wanted,
    ) -> Result<Vec<Row>> {
        self.by_distance(collection, stage, variables, wanted)
            .map_err(|fault| fault.while_running(aggregate::IN_RUN))
    }

    fn is_scanned(&self, collection: &str, path: &str) -> bool {
        let catalog = self.read.catalog();
        let found = catalog.collection(&self.setting.database, collection);
        found.is_some_and(|found| {
            let is_plain = found.rules.view.is_none() && found.rules.series.is_none();
            let leads = |entry: &IndexEntry| {
                let definition = &entry.definition;
                let first = definition.keys.first();
                definition.wildcard.is_some() || first.is_some_and(|key| key.path == path)
            };
            is_plain && !found.indexes.iter().any(leads)
        })
    }

    fn find<'a>(&'a self, collection: &str, asked: Asked<'_>) -> Result<(Rows<'a>, usize)> {
        let Asked {
            filter,
            behind,
            variables,
            wanted,
        } = asked;
        let namespace = Namespace {
            database: self.setting.database.clone(),
            collection: collection.to_owned(),
        };
        if view::view_of(self.read.catalog(), &namespace).is_some() {
            // Only what is read can be searched.
            let search = behind.and_then(Pipeline::text_filter);
            let filters = [Some(filter.to_bytes()), search.map(<[u8]>::to_vec)];
            let filters = filters.into_iter().flatten().map(Owned::RawDocument).collect();
            let all = Owned::Document(vec![("$and".to_owned(), Owned::Array(filters))]);
            let leading = match search {
                Some(_) => None,
                None => behind.and_then(|pipeline| pipeline.leading_filter(variables)),
            };
            let first = usize::from(search.is_some() || leading.is_some());
            let matching = vec![("$match".to_owned(), all)];
            let request = AggregateRequest {
                namespace,
                stages: vec![Doc::Fields(&matching).to_bytes()],
                above: leading.map(|leading| Box::new(Arc::new(leading).into())),
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
            let rows = rows(self.read, &request)?;
            let rows = rows.into_iter().map(|row| Ok(Row::from(row)));
            return Ok((Box::new(rows), first));
        }
        let collation = &self.setting.collation;
        let head = match behind {
            None => Head {
                query: Query::parse(filter, None, None)?.collated(Some(collation.clone())),
                skip: 0,
                limit: 0,
                sort: None,
                first: 0,
            },
            Some(pipeline) => {
                let own = Matcher::parse_query(filter, Vec::new())?;
                let leading = pipeline.leading_filter(variables);
                let first = usize::from(leading.is_some());
                let both = match leading {
                    Some(leading) => own.and(&leading).sorted(),
                    None => own,
                };
                let both = both.collated(collation).at(self.setting.now).settled();
                let both = both.map_err(|fault| fault.prefixed(NOT_OPTIMIZED))?;
                let query = Query::of(both, None, None, collation.clone());
                let found = self
                    .read
                    .catalog()
                    .collection(&namespace.database, &namespace.collection);
                Head::of(query, self.read, found, (pipeline, first), self.setting.deadline)?
            }
        };
        let first = head.first;
        let request = FindRequest {
            namespace,
            query: head.query,
            projection: None,
            skip: head.skip,
            limit: head.limit,
            batch_size: None,
            tail: None,
            extras: Extras::default(),
            deadline: self.setting.deadline,
        };
        let cursor = FindCursor::open(self.read, request)?;
        let known = Known {
            wanted,
            text: cursor.text(),
            keys: cursor.index_keys().filter(|_| wanted.has(Kind::IndexKey)),
            sort: head.sort,
        };
        Ok((known.of(Box::new(Input::new(self.read, cursor))), first))
    }
}

impl Collections<'_> {
    /// Documents by distance, from the collection under the name: nothing comes before the stage.
    fn by_distance(
        &self,
        collection: &str,
        stage: &GeoNear,
        variables: &[(String, Option<Owned>)],
        wanted: Wanted,
    ) -> Result<Vec<Row>> {
        let named = Namespace {
            database: self.setting.database.clone(),
            collection: collection.to_owned(),
        };
        let resolved = view::resolve(self.read.catalog(), &named)?;
        if !resolved.stages.is_empty() {
            return Err(misplaced_geo_near());
        }
        let base = resolved.base;
        let Some(found) = self.read.catalog().collection(&base.database, &base.collection) else {
            return Err(no_collection(&base));
        };
        let mut stage = stage.clone();
        settle_near(&mut stage, found, &base, None)?;
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
        stage.measured(Box::new(rows), variables, self.setting.now, wanted)
    }
}

/// Where the metadata of documents that are read are found.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) wanted: Wanted,
    /// The text search that finds them.
    pub(super) text: Option<Arc<Scoring>>,
    /// The index that leads to them.
    pub(super) keys: Option<IndexKeys>,
    /// The order in which they are read.
    pub(super) sort: Option<SortSpec>,
}

impl Known {
    /// The documents with what is asked for.
    pub(super) fn of<'a>(&self, rows: Rows<'a>) -> Rows<'a> {
        let text = self.text.clone().filter(|_| self.wanted.has(Kind::TextScore));
        let shows_order = self.wanted.has(Kind::SortKey);
        let keys = self.keys.clone();
        if text.is_none() && keys.is_none() && !shows_order {
            return rows;
        }
        let sort = self.sort.clone();
        Box::new(rows.map(move |row| {
            let mut row = row?;
            let score = match &text {
                Some(text) => text.score(Doc::Raw(&row))?,
                None => None,
            };
            let index_key = match &keys {
                Some(keys) => keys.of(&row)?,
                None => None,
            };
            let sort_key = match &sort {
                Some(sort) => sort.parts(Doc::Raw(&row), None)?,
                None => Owned::Array(Vec::new()),
            };
            row.know(|metadata| {
                metadata.score = score;
                metadata.index_key = index_key;
                metadata.sort_key = shows_order.then_some(sort_key);
            });
            Ok(row)
        }))
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
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        loop {
            if let Some(row) = self.batch.get(self.at) {
                self.at += 1;
                return Some(Ok(Row::from(row.to_vec())));
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
