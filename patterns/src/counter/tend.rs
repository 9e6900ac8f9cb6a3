//! Making old figures coarser, and letting them go.

use odm::bson::{DateTime, Document, doc};
use odm::{Error, ErrorKind, Result};

use super::change::Change;
use super::counters::Counters;
use super::key::Key;
use super::layout::Layout;
use super::report::Cell;
use crate::computed::Amount;

/// How many documents are asked for at once.
const BATCH: u64 = 100;

/// What [`Counters::roll_up`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RolledUp {
    /// How many documents were added to coarser ones, and deleted.
    pub documents: u64,
}

/// What [`Counters::retire`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retired {
    /// How many documents were deleted.
    pub documents: u64,
    /// Which collections were dropped.
    pub collections: Vec<String>,
}

impl<T: Amount> Counters<T> {
    /// Moves the figures of documents whose period was over by a time into coarser counters: each document is added to
    /// those, and deleted, in one transaction. So every event is in one of the two at any time, and a report of both
    /// ([`Report::add`](super::Report::add)) is as exact as before. What comes late makes a new document, for the next run.
    ///
    /// The ids of events go with the document: one that is sent again afterwards would be counted again. Counters that
    /// [close](super::Shape::closed_after) do not take it then, and keep documents here until they are closed.
    ///
    /// It can be stopped and run again at any point, and by several programs. Cost: a query for each 100 documents, and a
    /// transaction for each.
    ///
    /// # Errors
    /// `InvalidArgument` for counters of several layouts, for a target of another connection or engine, or one that tells
    /// shorter periods apart, lacks a measure, or goes by another zone; `Unsupported` where there are no transactions.
    pub async fn roll_up(&self, into: &Counters<T>, before: DateTime) -> Result<RolledUp> {
        let layout = self.check_target(into)?;
        let before = match self.closed_before() {
            // What still takes events remembers theirs.
            Some(closed) => before.min(closed),
            None => before,
        };
        let end = match layout.span {
            Some(span) => self.shape.zone.label(span, before)?,
            None => return Err(refused("counters of all time are never over")),
        };
        let name = layout.name();
        let mut done = RolledUp::default();
        for collection in self.collections().await? {
            let documents = self.db.raw_collection(&collection);
            let mut behind = format!("{name}:");
            loop {
                let ids = doc! { "_id": { "$gt": &behind, "$lt": format!("{name}:{end}:") } };
                let found = documents.find(ids).project_raw(doc! { "_id": 1 });
                let found = found.sort_raw(doc! { "_id": 1 }).limit(BATCH).await?;
                let Some(last) = found.last().and_then(|document| document.get_str("_id").ok()) else {
                    break;
                };
                behind = last.to_owned();
                for document in &found {
                    let id = document.get_str("_id").unwrap_or_default();
                    done.documents += u64::from(self.move_one(into, layout, &collection, id).await?);
                }
            }
        }
        Ok(done)
    }

    async fn move_one(
        &self,
        into: &Counters<T>,
        layout: &Layout,
        collection: &str,
        id: &str,
    ) -> Result<bool> {
        self.db
            .transaction(async |tx| {
                let documents = tx.raw_collection(collection);
                let Some(document) = documents.find_one_and_delete(doc! { "_id": id }).await? else {
                    return Ok(false);
                };
                let into = into.on(&tx);
                for change in self.coarser(&into, layout, &document)? {
                    into.apply(&change).await?;
                }
                Ok(true)
            })
            .await
    }

    /// What a document adds to coarser ones.
    fn coarser(&self, into: &Counters<T>, layout: &Layout, document: &Document) -> Result<Vec<Change<T>>> {
        let id = document.get_str("_id").unwrap_or_default();
        let from = document.get_datetime("from").map_err(|_| {
            Error::new(ErrorKind::Decode, "the document of the counters is malformed").with_id(id)
        })?;
        let key = Key::read(document.get_document("by").unwrap_or(&Document::new()));
        let mut figures = Vec::new();
        if layout.levels.is_empty() {
            figures.push((*from, Cell::read(&self.shape, document, &layout.total)?));
        }
        for slot in self.slots(layout, *from)? {
            let path = self.path(layout, layout.levels.len() - 1, slot)?;
            figures.push((slot, Cell::read(&self.shape, document, &path)?));
        }
        let mut changes: Vec<Change<T>> = Vec::new();
        for (at, cell) in figures.iter().filter(|(_, cell)| !cell.is_zero()) {
            for target in 0..into.shape.layouts.len() {
                let place = into.place(target, &key, *at, 0)?;
                let at_hand = changes.iter().position(|change| change.place == place);
                let index = at_hand.unwrap_or_else(|| {
                    changes.push(Change::of(place));
                    changes.len() - 1
                });
                into.add(&mut changes[index], *at, cell)?;
            }
        }
        Ok(changes)
    }

    fn check_target(&self, into: &Counters<T>) -> Result<&Layout> {
        let [layout] = self.shape.layouts.as_slice() else {
            return Err(refused("counters of several layouts are not rolled up"));
        };
        let finest = layout.finest();
        for target in &into.shape.layouts {
            let units = target
                .span
                .into_iter()
                .chain(target.levels.iter().map(|level| level.unit));
            let is_coarser = finest
                .is_some_and(|finest| units.into_iter().all(|unit| unit == finest || unit.holds(finest)));
            let is_same = into.name == self.name && target.span == layout.span;
            if !is_coarser || is_same {
                return Err(refused("counters are rolled up into coarser ones"));
            }
        }
        if into.shape.zone != self.shape.zone {
            return Err(refused("the counters go by different zones"));
        }
        let lacks = |name: &str| into.shape.measures.iter().all(|measure| measure.name != name);
        if self.shape.measures.iter().any(|measure| lacks(&measure.name)) {
            return Err(refused("the coarser counters lack a measure"));
        }
        Ok(layout)
    }

    /// Deletes the documents whose period was over by a time, and drops the collections whose period was. It can be stopped
    /// and run again at any point. Cost: the list of collections, and one deletion for each layout and collection.
    ///
    /// # Errors
    /// As any operation.
    pub async fn retire(&self, before: DateTime) -> Result<Retired> {
        let mut retired = Retired::default();
        let oldest_kept = match self.scope() {
            None => None,
            Some(_) => Some(self.collection_at(before)?),
        };
        for collection in self.collections().await? {
            let documents = self.db.raw_collection(&collection);
            // Names of one length, so that they sort by time.
            if oldest_kept.as_ref().is_some_and(|kept| collection < *kept) {
                retired.documents += documents.estimated_count().await?;
                documents.drop().await?;
                retired.collections.push(collection);
                continue;
            }
            for layout in &self.shape.layouts {
                let Some(span) = layout.span else { continue };
                let (name, end) = (layout.name(), self.shape.zone.label(span, before)?);
                let ids = doc! { "$gte": format!("{name}:"), "$lt": format!("{name}:{end}:") };
                retired.documents += documents.delete_many(doc! { "_id": ids }).await?.deleted;
            }
        }
        Ok(retired)
    }

    /// The names of the collections that there are.
    pub(super) async fn collections(&self) -> Result<Vec<String>> {
        let Some(scope) = self.scope() else {
            return Ok(vec![self.name.to_string()]);
        };
        let form = self
            .shape
            .zone
            .label(scope, DateTime::from_millis(0))?
            .replace('-', "_");
        let is_label = |label: &str| {
            let is_alike =
                |(own, form): (u8, u8)| own == form || (own.is_ascii_digit() && form.is_ascii_digit());
            label.len() == form.len() && label.bytes().zip(form.bytes()).all(is_alike)
        };
        let prefix = format!("{}_", self.name);
        let listed = self
            .db
            .list_collections()
            .await?
            .into_iter()
            .map(|listed| listed.name);
        let mut names: Vec<String> = listed
            .filter(|name| name.strip_prefix(&prefix).is_some_and(is_label))
            .collect();
        names.sort();
        Ok(names)
    }
}

fn refused(text: &'static str) -> Error {
    Error::new(ErrorKind::InvalidArgument, text)
}
