//! Reading.

use std::collections::BTreeMap;
use std::ops::Range;

use odm::bson::{DateTime, Document, doc};
use odm::{Error, ErrorKind, Result};

use super::counters::Counters;
use super::key::Key;
use super::layout::Layout;
use super::report::{Cell, Report};
use crate::computed::Amount;
use crate::period::Unit;

/// How many documents are asked for at once.
const BATCH: usize = 500;

/// The most figures of one report.
const MOST_CELLS: usize = 200_000;

/// Which figures of a layout a report is made of.
struct Source<'a> {
    index: usize,
    layout: &'a Layout,
    /// The level, or the document's total.
    depth: Option<usize>,
    unit: Unit,
}

impl<T: Amount> Counters<T> {
    /// The figures of a key for each period of a range, with zeros where nothing was counted. The range is widened to whole
    /// periods.
    ///
    /// Cost: a query by `_id` for each 500 documents, of which only what is needed is sent: a year by days of documents
    /// of months is one query for 12 documents, times the shards. Every document is read as it was at one
    /// point of time; for one point of all, read in a transaction (`counters.on(&tx)`).
    ///
    /// # Errors
    /// `InvalidArgument` where no layout tells these periods apart, and for more than 200,000 figures; `Decode` for stored
    /// figures that are no numbers.
    pub async fn report(&self, key: &Key, range: Range<DateTime>, unit: Unit) -> Result<Report<T>> {
        let source = self.source(unit)?;
        let zone = &self.shape.zone;
        let mut report = Report {
            unit,
            cells: Vec::new(),
        };
        // By collection and document: which of its paths goes into which cell.
        let mut wanted: BTreeMap<(String, String), Vec<(String, usize)>> = BTreeMap::new();
        let mut figures = 0;
        let mut start = match range.is_empty() {
            true => range.end,
            false => zone.start(unit, range.start)?,
        };
        while start < range.end {
            let end = zone.next(unit, start)?;
            let mut at = start;
            while at < end {
                let path = match source.depth {
                    None => source.layout.total.clone(),
                    Some(depth) => self.path(source.layout, depth, at)?,
                };
                let place = self.place(source.index, key, at, 0)?;
                let paths = wanted.entry((place.collection, place.id)).or_default();
                paths.push((path, report.cells.len()));
                figures += 1;
                if figures > MOST_CELLS {
                    let text = "the report would have too many figures";
                    return Err(Error::new(ErrorKind::InvalidArgument, text));
                }
                at = zone.next(source.unit, at)?;
            }
            report.cells.push((start, Cell::zero(&self.shape)));
            start = end;
        }
        let projection = self.projection(&source);
        let mut wanted = wanted.into_iter().collect::<Vec<_>>();
        wanted.sort_by(|a, b| a.0.cmp(&b.0));
        for documents in wanted.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
            let collection = self.db.raw_collection(&documents[0].0.0);
            for batch in documents.chunks((BATCH / usize::from(self.shape.shards)).max(1)) {
                let by_id: BTreeMap<&str, _> = batch
                    .iter()
                    .map(|((_, id), paths)| (id.as_str(), paths))
                    .collect();
                let ids: Vec<String> = by_id.keys().flat_map(|id| self.shards_of(id)).collect();
                let filter = doc! { "_id": { "$in": ids } };
                let mut found = collection.find(filter).project_raw(projection.clone()).stream();
                while let Some(document) = found.try_next().await? {
                    let id = document.get_str("_id").unwrap_or_default();
                    let Some(paths) = by_id.get(without_shard(id)) else {
                        continue;
                    };
                    for (path, cell) in *paths {
                        let stored = Cell::read(&self.shape, &document, path)?;
                        report.cells[*cell].1.add(&stored)?;
                    }
                }
            }
        }
        Ok(report)
    }

    /// The figures of a key of all of a range, which is widened to whole periods; as [`report`](Counters::report).
    ///
    /// # Errors
    /// As [`report`](Counters::report).
    pub async fn total(&self, key: &Key, range: Range<DateTime>, unit: Unit) -> Result<Cell<T>> {
        let mut total = Cell::zero(&self.shape);
        total.add(&self.report(key, range, unit).await?.total()?)?;
        Ok(total)
    }

    /// The figures of all keys of a range, by the totals of the first layout's documents: which pages were seen most. The
    /// range is widened to whole periods of documents.
    ///
    /// Cost: a range of `_id` in each collection; every document of these periods is read, without its levels.
    ///
    /// # Errors
    /// As [`report`](Counters::report).
    pub async fn by_key(&self, range: Range<DateTime>) -> Result<Vec<(Key, Cell<T>)>> {
        let layout = &self.shape.layouts[0];
        let source = Source {
            index: 0,
            layout,
            depth: None,
            unit: layout.span.unwrap_or(Unit::Year),
        };
        let mut by_key: BTreeMap<String, (Key, Cell<T>)> = BTreeMap::new();
        let last = DateTime::from_millis(range.end.timestamp_millis().saturating_sub(1));
        let ids = match layout.span {
            None => doc! { "$gte": "all:", "$lt": "all;" },
            Some(span) => {
                let label = |time| self.shape.zone.label(span, time);
                let (from, to) = (label(range.start)?, label(last)?);
                let name = layout.name();
                doc! { "$gte": format!("{name}:{from}:"), "$lt": format!("{name}:{to};") }
            }
        };
        let mut collections = Vec::new();
        let mut at = range.start;
        while at < range.end {
            collections.push(self.collection_at(at)?);
            match self.scope() {
                None => break,
                Some(scope) => at = self.shape.zone.next(scope, at)?,
            }
        }
        let mut projection = self.projection(&source);
        projection.insert("by", 1);
        for collection in collections {
            let collection = self.db.raw_collection(&collection);
            let mut found = collection
                .find(doc! { "_id": ids.clone() })
                .project_raw(projection.clone())
                .stream();
            while let Some(document) = found.try_next().await? {
                let key = Key::read(document.get_document("by").unwrap_or(&Document::new()));
                let cell = Cell::read(&self.shape, &document, &layout.total)?;
                let own = by_key
                    .entry(key.text()?)
                    .or_insert_with(|| (key, Cell::zero(&self.shape)));
                own.1.add(&cell)?;
            }
        }
        Ok(by_key.into_values().collect())
    }

    /// The layout whose figures make up those of such periods, with the fewest of them.
    fn source(&self, unit: Unit) -> Result<Source<'_>> {
        let mut best: Option<Source<'_>> = None;
        for (index, layout) in self.shape.layouts.iter().enumerate() {
            let total = layout.span.map(|span| (None, span));
            let levels = layout.levels.iter().enumerate();
            let levels = levels.map(|(depth, level)| (Some(depth), level.unit));
            for (depth, own) in total.into_iter().chain(levels) {
                let fits = own == unit || unit.holds(own);
                if fits && best.as_ref().is_none_or(|best| best.unit < own) {
                    best = Some(Source {
                        index,
                        layout,
                        depth,
                        unit: own,
                    });
                }
            }
        }
        best.ok_or_else(|| {
            let text = "no layout of the counters tells these periods apart";
            Error::new(ErrorKind::InvalidArgument, text).with_path(unit.name())
        })
    }

    fn projection(&self, source: &Source<'_>) -> Document {
        let field = match source.depth {
            None => &source.layout.total,
            Some(depth) => &source.layout.levels[depth].name,
        };
        let mut projection = Document::new();
        projection.insert(field.as_str(), 1);
        for measure in &self.shape.measures {
            projection.insert(format!("{}.{field}", measure.name), 1);
        }
        projection
    }

    /// The ids of all shards of a document.
    pub(super) fn shards_of(&self, id: &str) -> Vec<String> {
        let others = (1..self.shape.shards).map(|shard| format!("{id}:{shard:03}"));
        std::iter::once(id.to_owned()).chain(others).collect()
    }
}

/// An id as that of the first shard.
fn without_shard(id: &str) -> &str {
    // The label of a minute holds one more separator.
    let fixed = if id.starts_with("minute:") { 3 } else { 2 };
    match id.match_indices(':').nth(fixed) {
        Some((at, _)) => &id[..at],
        None => id,
    }
}
